// DeferredRows: the DeferredFeatures of a mini-batch that a Loader delivers on the host.
//
// Rows of tables in memory stay where they are until somebody asks; those of tables on disk are
// copied as stored, since their slots are wanted for the next windows. Made by the assembler.
#pragma once

#include "pipeline/stage/widened_rows.h"

#include <sluice/array.h>
#include <sluice/deferred_features.h>
#include <sluice/feature_store.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

class DeferredRows final : public DeferredFeatures {
 public:
  /// Where the rows of one group of a node type come from.
  struct Source {
    std::size_t type = 0, group = 0;
    const FeatureStore* store = nullptr;  ///< outlives this
    Array ids;     ///< u64 [n], of a store in memory; without a shape for others
    Array stored;  ///< u8 [n, row_bytes], of one on disk. Neither: all rows are zeros
  };

  /// @param arena whose threads gather
  DeferredRows(std::vector<Source> sources, RowScale scale, std::shared_ptr<ThreadArena> arena)
      : sources_(std::move(sources)), scale_(scale), arena_(std::move(arena)) {}

  std::int64_t columns(std::size_t type, std::size_t group) const override;
  void gather(std::size_t type,
              std::size_t group,
              std::int64_t first,
              std::span<float> out) const override;

 private:
  const Source* find(std::size_t type, std::size_t group) const;

  std::vector<Source> sources_;
  RowScale scale_;
  std::shared_ptr<ThreadArena> arena_;
};

}  // namespace sluice
