#include "bench/embedding/cases.h"

#include <sluice/random.h>
#include <sluice/registry.h>

#include <algorithm>
#include <numeric>

namespace sluice::bench {

EmbeddingTableOptions table_options(const EmbeddingSizes& sizes,
                                    const std::filesystem::path& folder,
                                    ThreadArena& threads) {
  EmbeddingTableOptions options;
  options.folder = folder;
  options.rows = sizes.rows;
  options.dim = static_cast<std::uint32_t>(sizes.dim);
  options.initial.kind = InitialRows::Kind::kUniform;
  options.initial.scale = 0.01;
  options.optimizer = builtin_sparse_optimizers().make(sizes.optimizer, "");
  options.executor.threads = &threads;
  return options;
}

std::vector<float> gradients_of(std::uint64_t rows, std::uint64_t dim) {
  std::vector<float> gradients(rows * dim);
  const RandomKey key = RandomKey(13).with("gradients");
  for (std::uint64_t i = 0; i < gradients.size(); ++i)
    gradients[i] = static_cast<float>(2 * key.uniform(i) - 1);
  return gradients;
}

void touch_all(EmbeddingTable& table, std::uint64_t window) {
  const std::vector<float> gradients = gradients_of(window, table.dim());
  std::vector<std::uint64_t> ids;
  for (std::uint64_t first = 0; first < table.rows(); first += window) {
    ids.resize(std::min(window, table.rows() - first));
    std::iota(ids.begin(), ids.end(), first);
    table.expect(ids);
    table.update(ids, std::span(gradients).first(ids.size() * table.dim()), 0.1);
  }
}

}  // namespace sluice::bench
