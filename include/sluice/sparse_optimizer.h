// SparseOptimizer: how a row of an embedding table takes a step from its gradient. Its state lies
// in the row, beside the values: what was never touched has none, and a row and its state come and
// go together. Torch-free.
//
// All state begins as zeros. Immutable, so that it may be shared.
#pragma once

#include <sluice/catalog.h>
#include <sluice/executor.h>

#include <cstdint>
#include <string_view>

namespace sluice {

/// Distinct rows and the gradients of their values.
struct RowGradients {
  float* const* rows = nullptr;      ///< [count]: where each begins: dim values, then its state
  const float* gradients = nullptr;  ///< [count, dim]
  std::int64_t count = 0;
  std::uint32_t dim = 0;
};

class SparseOptimizer {
 public:
  virtual ~SparseOptimizer() = default;

  /// As the catalog names it.
  virtual std::string_view name() const = 0;
  /// Floats of state beside `dim` values.
  virtual std::uint32_t state_width(std::uint32_t dim) const = 0;
  virtual double learning_rate() const = 0;
  /// One step of each row, at `rate` instead of learning_rate(): schedules are the caller's.
  virtual void update(const kernels::Executor& executor,
                      const RowGradients& rows,
                      double rate) const = 0;
};

using SparseOptimizerCatalog = Catalog<SparseOptimizer>;

}  // namespace sluice
