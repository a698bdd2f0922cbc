// reorder: an existing dataset under another node order. External ids stay what they were: of dense
// ids the old ones are kept as integers.
#pragma once

#include "prep/order/node_order.h"
#include "prep/order/page_touches.h"
#include "storage/format/staging.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

struct ReorderOptions {
  std::filesystem::path dataset;
  std::filesystem::path out;  ///< the same path: it is replaced, as one step
  Overwrite overwrite = Overwrite::kRefuse;
  std::string node_type;  ///< empty: every type
  std::string created_by;
};

struct ReorderReport {
  struct Type {
    std::string name;
    PageTouches touches;
  };
  std::vector<Type> types;
  GraphSchema schema;
  std::uint64_t bytes = 0;
};

/// Throws Error; a failure leaves what was there.
ReorderReport reorder_dataset(const ReorderOptions& options,
                              NodeOrder& order,
                              PrepContext& context);

}  // namespace sluice
