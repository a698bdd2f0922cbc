// One product of an operator with a panel: Y = D_t A D_s X, list by list, a row at a time.
#pragma once

#include "prep/prep_context.h"
#include "prep/propagate/edge_sweep.h"
#include "storage/io/aligned_buffer.h"

#include <sluice/dtype.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

namespace sluice {

/// What the edges of an operator count.
enum class Weighting {
  kMean,               ///< 1 / in-degree of the target; a row without edges is 0
  kSymmetric,          ///< 1 / sqrt(in-degree of the target * in-degree of the source)
  kSymmetricWithLoops  ///< the same of A + I, each degree one more
};

/// Columns of a table in memory, row-major.
struct PanelView {
  std::span<const std::byte> values;
  DType dtype = DType::kF32;  ///< kF32, kF16 or kBF16
  std::uint64_t rows = 0;
  std::uint32_t width = 0;
};

struct ProductWeights {
  Weighting weighting = Weighting::kMean;
  /// By node, 1 / sqrt(degree), or 0 for a node without edges; empty for kMean.
  std::span<const float> inverse_roots{};
};

/// f32 [nodes of `op`'s type `to`]: 1 / sqrt(degree) as `weighting` counts it; charged as
/// "degrees". @pre weighting is not kMean
AlignedBuffer inverse_roots(const std::filesystem::path& dataset,
                            const Manifest& manifest,
                            const EdgeOperator& op,
                            Weighting weighting,
                            MemoryLedger& ledger);

class PanelProduct {
 public:
  using Sink = std::function<void(std::uint64_t first_row, std::span<const std::byte> rows)>;

  /// @param dtype of the results: kF32, kF16 or kBF16
  /// @param batch_bytes of results at a time (a row at least); charged as "propagated rows"
  /// @param width of the widest panel
  PanelProduct(DType dtype, std::uint64_t batch_bytes, std::uint32_t width, PrepContext& context);

  /// Results a batch may have.
  std::size_t max_rows() const { return max_rows_; }

  /// Multiplies, and hands the rows to `sink` in order. Sums are made in f64, in the order of the
  /// lists, by one thread a row, and rounded once: the bits depend on neither threads nor panels.
  /// Throws Error: kData for a neighbour that is no row of `x`, and where a sum of finite rows is
  /// beyond `dtype`. @param what is made, for errors @pre x.width is at most the widest
  void multiply(const PanelView& x,
                const ProductWeights& weights,
                EdgeSweep& edges,
                const std::string& what,
                const Sink& sink);

 private:
  struct Call;
  void sum_row(const Call& call, std::size_t at);

  DType dtype_;
  std::size_t max_rows_;
  ThreadArena& arena_;
  AlignedBuffer results_;
  // f64 [width]: sums of a list that goes on, from the batch before and for the next.
  AlignedBuffer carry_, next_carry_;
};

}  // namespace sluice
