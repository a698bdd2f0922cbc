// That a request for rows stays within the table and within its own memory.
#pragma once

#include <sluice/feature_store.h>

#include <cstddef>

namespace sluice {

/// Errors: kUsage, naming the row or the sizes.
Result<void> check_gather(const FeatureSchema& table,
                          std::size_t row_bytes,
                          const GatherRequest& request);

}  // namespace sluice
