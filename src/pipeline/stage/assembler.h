// Assembler: the last stage before the consumer. Fills in what a sampled batch does not carry
// through windows: its blocks' transposes, its labels, and its features, widened to f32.
#pragma once

#include "core/threads.h"
#include "pipeline/data/graph_data_state.h"
#include "pipeline/stream/window.h"

#include <sluice/loader.h>

namespace sluice {

class Assembler {
 public:
  Assembler(GraphData::State& data, const LoaderOptions& options, MemoryLedger& ledger);

  /// Fills in `batch`, the window's `index`-th: transposes where they were asked for, labels,
  /// features. Throws Error.
  void assemble(Batch& batch, const Window& window, std::size_t index);

  /// Transposes and labels, and features that are all zero.
  void assemble_blank(Batch& batch);

  /// Where they were asked for (LoaderOptions::transpose).
  void add_transposes(Batch& batch);
  void add_labels(Batch& batch);
  /// Features come from the caches, where the window's rows are, or straight from a store in
  /// memory; they go where BatchNodes::features already is, or into new arrays.
  void add_features(Batch& batch, const Window& window, std::size_t index);

  /// f32 [n, dim] of the batch's nodes of that type; empty for a type without features.
  Array::Shape feature_shape(const Batch& batch, std::size_t type) const;

  /// Whether a GPU may gather and widen the rows itself: they are pinned, and go to it as stored.
  bool gpu_may_gather() const;
  DType stored_dtype(std::size_t type) const { return data_.features[type]->schema().dtype; }
  std::size_t row_bytes(std::size_t type) const { return data_.features[type]->row_bytes(); }
  /// Where each row of the batch is, for that. @param addresses [n]
  void add_addresses(const Batch& batch,
                     std::size_t type,
                     const Window& window,
                     std::size_t index,
                     std::span<std::uint64_t> addresses);

  /// Bytes of the features and labels that `assemble` adds to a batch.
  std::uint64_t assembled_bytes(const Batch& batch) const;

 private:
  // Calls see(i, where the rows of the batch's i-th and next nodes are), on several threads.
  template <class See>
  void for_rows(const Batch& batch,
                std::size_t type,
                const Window& window,
                std::size_t index,
                const See& see);

  GraphData::State& data_;
  LoaderOptions options_;
  MemoryLedger& ledger_;
  ThreadArena arena_;
};

}  // namespace sluice
