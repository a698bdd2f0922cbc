// Times as files say them: whole numbers, or numbers in another unit. Private to src/prep/import.
#pragma once

#include "prep/import/node_ids.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// `values` times `scale`, rounded to the nearest whole number; what is not finite or beyond 63
/// bits is a kData error.
void scaled_times(std::span<const double> values,
                  double scale,
                  const IdPlace& place,
                  std::vector<std::int64_t>& times);

}  // namespace sluice
