// WrittenRows: the "optimiser" of rows of state: a row becomes what it is given. Nothing is kept
// beside it. Immutable; for the CPU.
#pragma once

#include <sluice/sparse_optimizer.h>

#include <algorithm>
#include <cstddef>

namespace sluice {

class WrittenRows final : public SparseOptimizer {
 public:
  std::string_view name() const override { return "written"; }
  std::uint32_t state_width(std::uint32_t) const override { return 0; }
  double learning_rate() const override { return 1; }
  void update(const kernels::Executor&, const RowGradients& rows, double) const override {
    for (std::int64_t i = 0; i < rows.count; ++i)
      std::copy_n(rows.gradients + static_cast<std::size_t>(i) * rows.dim, rows.dim, rows.rows[i]);
  }
};

}  // namespace sluice
