// MemoryRows: a RowTable in memory, charged to the ledger as "learned rows" and "row optimizer".
#pragma once

#include <sluice/memory.h>
#include <sluice/random.h>
#include <sluice/row_table.h>
#include <sluice/threads.h>

#include <cstdint>

namespace sluice::nn {

enum class RowOptimizer {
  kAdagrad,     ///< each element by the sum of its squared gradients
  kAdagradRow,  ///< each row by the sum of their means: one number a row
  kAdam,        ///< means decay as often as a row is met
  kSgd
};

struct RowTableOptions {
  std::uint64_t rows = 0;
  std::int64_t dim = 0;
  RowOptimizer optimizer = RowOptimizer::kAdagrad;
  double lr = 0.1;
  double init = 0.1;  ///< rows start uniform in (-init, init)
  RandomKey key{1};   ///< folded with a row's number
};

class MemoryRows final : public RowTable {
 public:
  /// Throws kResource. @param threads null: the calling thread; results do not depend on them
  MemoryRows(const RowTableOptions& options, MemoryLedger* ledger, ThreadArena* threads);

  std::uint64_t rows() const override { return options_.rows; }
  std::int64_t dim() const override { return options_.dim; }
  Result<void> gather(std::span<const std::uint64_t> ids, std::span<float> out) override;
  Result<void> gather_range(std::uint64_t first, std::span<float> out) override;
  Result<void> update(std::span<const std::uint64_t> ids,
                      std::span<const float> gradients) override;
  Result<void> update_range(std::uint64_t first, std::span<const float> gradients) override;
  std::span<float> resident() override { return values_.as<float>(); }
  std::vector<std::pair<std::string, Array>> kept() override;

 private:
  template <class RowAt>
  void update_rows(std::size_t count, std::span<const float> gradients, const RowAt& row_at);
  void step(std::uint64_t row, const float* gradient);
  template <class Work>
  void for_rows(std::size_t count, const Work& work) const;

  RowTableOptions options_;
  ThreadArena* threads_;
  Array values_;  // f32 [rows, dim]
  Array state_;   // f32 [rows, what the optimiser keeps]
  Array steps_;   // i64 [1]: updates so far
};

}  // namespace sluice::nn
