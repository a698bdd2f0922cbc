// Assembler: the last stage before the consumer. Fills in what a sampled batch does not carry
// through windows: what follows from its blocks, its labels, and its features, widened to f32.
#pragma once

#include "core/threads.h"
#include "pipeline/data/graph_data_state.h"
#include "pipeline/stage/widened_rows.h"
#include "pipeline/stream/window.h"

#include <sluice/deferred_features.h>
#include <sluice/loader.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

class Assembler {
 public:
  Assembler(GraphData::State& data, const LoaderOptions& options, MemoryLedger& ledger);

  /// Fills in `batch`, the window's `index`-th: what follows from its blocks, labels, features.
  /// Throws Error.
  void assemble(Batch& batch, const Window& window, std::size_t index);

  /// The same, but for features, which are all zero.
  void assemble_blank(Batch& batch);

  /// What follows from blocks, where it was asked for: transposes (LoaderOptions::transpose) and
  /// labels of edges (GraphDataOptions::edge_labels).
  void add_derived(Batch& batch);
  void add_labels(Batch& batch);
  /// Features come from the caches, where the window's rows are, or straight from a store in
  /// memory; they go where the batch's arrays of features already are, or into new ones. Of nodes
  /// they are left to be asked for where the options say so.
  void add_features(Batch& batch, const Window& window, std::size_t index);

  /// What add_features() fills in; feature_lists() of the data's tables.
  std::vector<FeatureList> lists_of(Batch& batch) const {
    return feature_lists(batch, data_.tables);
  }
  /// f32 [n, dim] of a list's rows.
  Array::Shape shape_of(const FeatureList& list) const;

  /// Whether a GPU may gather and widen the rows itself: they are pinned, and go to it as stored.
  bool gpu_may_gather() const;
  const FeatureStore& store_of(const FeatureList& list) const {
    return *data_.tables[list.table].store;
  }
  /// Where each row of a list is, for that. @param addresses [n]
  void add_addresses(const FeatureList& list,
                     const Window& window,
                     std::size_t index,
                     std::span<std::uint64_t> addresses);

  /// Bytes of the features that `assemble` adds to a batch, deferred ones as it keeps them.
  std::uint64_t assembled_bytes(const Batch& batch) const;
  /// Bytes of all features of a batch as f32, whenever they are gathered.
  std::uint64_t feature_bytes(const Batch& batch) const;

 private:
  bool deferred(const FeatureTable& table) const {
    return options_.deferred_features && table.of == FeatureTable::Of::kNodes;
  }
  RowScale scale_of(const FeatureTable& table) const;
  std::shared_ptr<const DeferredFeatures> defer(const std::vector<FeatureList>& lists,
                                                const Batch& batch,
                                                const Window* window,
                                                std::size_t index);
  // Calls see(i, where the list's i-th and next rows are), on several threads.
  template <class See>
  void for_rows(const FeatureList& list, const Window& window, std::size_t index, const See& see);

  GraphData::State& data_;
  LoaderOptions options_;
  MemoryLedger& ledger_;
  std::shared_ptr<ThreadArena> arena_;  // shared with features that are asked for later
};

}  // namespace sluice
