// What the tests of embedding tables share: a table that is a vector of rows, and options.
#pragma once

#include "io_support.h"  // IWYU pragma: export
#include "storage/embedding/row_layout.h"
#include "storage/embedding/sparse_optimizers.h"  // IWYU pragma: export
#include "storage/embedding/table.h"              // IWYU pragma: export
#include "storage/embedding/window_cache.h"
#include "support/temp_dir.h"  // IWYU pragma: export

#include <sluice/dataset.h>
#include <sluice/embedding_table.h>
#include <sluice/registry.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sluice::test {

inline EmbeddingTableOptions table_options(const std::filesystem::path& folder,
                                           std::uint64_t rows,
                                           std::uint32_t dim,
                                           const std::string& optimizer = "adagrad") {
  EmbeddingTableOptions options;
  options.folder = folder;
  options.rows = rows;
  options.dim = dim;
  options.initial.kind = InitialRows::Kind::kUniform;
  options.initial.scale = 0.5;
  options.initial.seed = 3;
  options.optimizer = builtin_sparse_optimizers().make(optimizer, "");
  return options;
}

inline RowLayout layout_of(const EmbeddingTableOptions& options) {
  return RowLayout::make(options.rows, options.dim, options.optimizer->state_width(options.dim));
}

/// A cache of so many rows.
inline void keep_on_disk(EmbeddingTableOptions& options, std::uint64_t cache_rows) {
  options.placement = Placement::kDisk;
  options.cache_bytes = WindowCache::bytes_of(cache_rows, layout_of(options));
}

/// The table by brute force: every row a vector, and nothing else.
class TwinTable {
 public:
  explicit TwinTable(const EmbeddingTableOptions& options)
      : dim_(options.dim),
        floats_(layout_of(options).row_floats()),
        initial_(options.initial),
        optimizer_(options.optimizer) {
    grow(options.rows);
  }

  void grow(std::uint64_t rows) {
    for (std::uint64_t row = rows_.size(); row < rows; ++row) {
      rows_.emplace_back(floats_, 0.0f);
      initial_.fill(row, 1, dim_, rows_.back().data(), floats_);
    }
  }

  void update(const std::vector<std::uint64_t>& ids,
              const std::vector<float>& gradients,
              double rate) {
    std::map<std::uint64_t, std::vector<float>> sums;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      auto& sum = sums.try_emplace(ids[i], dim_, 0.0f).first->second;
      for (std::size_t c = 0; c < dim_; ++c) sum[c] += gradients[i * dim_ + c];
    }
    for (const auto& [id, sum] : sums) {
      float* row = rows_[id].data();
      optimizer_->update({}, {&row, sum.data(), 1, dim_}, rate);
    }
  }

  std::vector<float> values(const std::vector<std::uint64_t>& ids) const {
    std::vector<float> all;
    for (const std::uint64_t id : ids)
      all.insert(all.end(), rows_[id].begin(), rows_[id].begin() + dim_);
    return all;
  }

  std::uint64_t rows() const { return rows_.size(); }
  const std::vector<float>& row(std::uint64_t id) const { return rows_[id]; }

 private:
  std::uint32_t dim_;
  std::uint32_t floats_;
  InitialValues initial_;
  std::shared_ptr<const SparseOptimizer> optimizer_;
  std::vector<std::vector<float>> rows_;
};

inline std::vector<std::uint64_t> random_ids(RandomKey key,
                                             std::size_t count,
                                             std::uint64_t below) {
  std::vector<std::uint64_t> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(key.below(below, i));
  return ids;
}

inline std::vector<float> random_gradients(RandomKey key, std::size_t count) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(2 * key.uniform(i) - 1));
  return values;
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(std::as_bytes(a), std::as_bytes(b));
}

/// The whole of a table, values and state, through one partition: which row differs, or -1.
inline std::int64_t first_difference(EmbeddingTableOptions options,
                                     const TwinTable& twin,
                                     std::uint64_t generation = 0) {
  options.partitions = options.partition_slots = 1;
  options.rows = twin.rows();
  const auto table = open_embedding_table(options, generation);
  table->load(0);
  const PartitionRows all = table->partition(0);
  if (all.count != twin.rows()) return static_cast<std::int64_t>(twin.rows());
  for (std::uint64_t row = 0; row < twin.rows(); ++row)
    if (!same_bits(all.data.subspan(row * all.stride, all.stride), twin.row(row)))
      return static_cast<std::int64_t>(row);
  return -1;
}

}  // namespace sluice::test
