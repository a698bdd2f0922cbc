// Assembler: the last stage before the consumer. Fills a sampled batch's features (widened to f32)
// and labels.
#pragma once

#include "core/threads.h"
#include "pipeline/graph_data_state.h"
#include "pipeline/window.h"

#include <sluice/loader.h>

namespace sluice {

class Assembler {
 public:
  Assembler(GraphData::State& data, const LoaderOptions& options, MemoryLedger& ledger);

  /// Fills in `batch`, the window's `index`-th. Features come from the caches, where the window's
  /// rows are, or straight from a store in memory. Throws Error.
  void assemble(Batch& batch, const Window& window, std::size_t index);

  /// Bytes of the features and labels that `assemble` adds to a batch.
  std::uint64_t assembled_bytes(const Batch& batch) const;

 private:
  Array gather_features(std::size_t type,
                        const Array& ids,
                        const WindowRows* rows,
                        std::size_t index);
  Array gather_labels(const Array& seeds) const;

  GraphData::State& data_;
  LoaderOptions options_;
  MemoryLedger& ledger_;
  ThreadArena arena_;
};

}  // namespace sluice
