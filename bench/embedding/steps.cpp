#include "bench/embedding/cases.h"
#include "bench/support/program.h"
#include "bench/support/seconds.h"

#include <sluice/random.h>
#include <sluice/registry.h>

namespace sluice::bench {
namespace {

// Seconds of steps of random rows: through a table, which finds rows and sums up repeated ones.
double table_seconds(EmbeddingTable& table,
                     const std::vector<std::vector<std::uint64_t>>& batches,
                     std::span<const float> gradients) {
  const auto begin = std::chrono::steady_clock::now();
  for (const auto& batch : batches) table.update(batch, gradients, 0.1);
  return seconds_since(begin);
}

// The optimizer's kernel alone, over the rows of the first windows as they lie.
double kernel_seconds(const SparseOptimizer& optimizer,
                      const EmbeddingSizes& sizes,
                      ThreadArena& threads,
                      std::span<const float> gradients) {
  const auto dim = static_cast<std::uint32_t>(sizes.dim);
  const std::size_t stride = dim + optimizer.state_width(dim);
  std::vector<float> data(sizes.window * stride);
  std::vector<float*> rows(sizes.window);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = data.data() + i * stride;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t w = 0; w < sizes.windows; ++w)
    optimizer.update({.threads = &threads},
                     {rows.data(), gradients.data(), static_cast<std::int64_t>(rows.size()), dim},
                     0.1);
  return seconds_since(begin);
}

}  // namespace

void steps_case(const EmbeddingSizes& sizes) {
  ThreadArena threads(static_cast<int>(sizes.threads));
  const std::vector<float> gradients = gradients_of(sizes.window, sizes.dim);
  const RandomKey key = RandomKey(31);
  std::vector<std::vector<std::uint64_t>> batches(sizes.windows);
  for (std::uint64_t w = 0; w < sizes.windows; ++w) {
    for (std::uint64_t i = 0; i < sizes.window; ++i)
      batches[w].push_back(key.with(w).below(sizes.rows, i));
  }
  const SparseOptimizerCatalog optimizers = builtin_sparse_optimizers();
  for (const auto& entry : optimizers.list()) {
    EmbeddingSizes chosen = sizes;
    chosen.optimizer = entry.name;
    const auto table = create_embedding_table(table_options(chosen, {}, threads));
    touch_all(*table, sizes.rows);
    const auto optimizer = optimizers.make(entry.name, "");
    std::vector<double> seconds, kernel;
    for (std::uint64_t round = 0; round <= sizes.rounds; ++round) {
      const double of_table = table_seconds(*table, batches, gradients);
      const double of_kernel = kernel_seconds(*optimizer, sizes, threads, gradients);
      if (round == 0) continue;  // warms up
      seconds.push_back(of_table);
      kernel.push_back(of_kernel);
    }
    const auto rows = static_cast<double>(sizes.window * sizes.windows);
    Line line{.name = "steps", .work = rows, .unit = "rows", .seconds = median(seconds)};
    line.more["mode"] = entry.name;
    line.more["kernel_rate"] = rows / median(kernel);
    line.more["dim"] = sizes.dim;
    line.more["threads"] = threads.threads();
    print(line);
  }
}

}  // namespace sluice::bench
