// float_rows: rows of a feature table as f32, dense or sparse as its schema says.
#pragma once

#include "kernels/table.h"

#include <sluice/graph_schema.h>

#include <cstddef>

namespace sluice::kernels {

/// The executor's widen_rows, or its spread_rows. @param rows [out.count]: where each row begins
/// @pre out.width is table.dim; can_widen(table.dtype)
inline void float_rows(const Executor& executor,
                       const FeatureSchema& table,
                       const std::byte* const* rows,
                       Rows<float> out) {
  const KernelTable& kernels = on(executor);
  if (table.sparse()) {
    kernels.spread_rows(executor, table.dtype, table.entries, rows, out);
  } else {
    kernels.widen_rows(executor, table.dtype, rows, out);
  }
}

}  // namespace sluice::kernels
