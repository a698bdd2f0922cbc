// LayerPass: a model's rows of all nodes, one layer after the other, by their full neighbourhoods,
// within what the ledger has left (docs/embed.md, decision 056). Between layers rows are on disk,
// f32, in files without a name.
//
// A layer goes over targets in mini-batches of `chunk` nodes that follow each other: products are
// of so many rows whatever the budget, and all else goes row by row, so that neither the budget nor
// the number of threads changes a bit. Layers that want of neighbours a mean or a maximum read each
// row once, a panel of columns at a time (list_rows.h); those that look at edges gather the rows of
// as many mini-batches as there is room for at once (gathered_rows.h), or have them all in memory.
//
// Used by one thread. Throws Error: kInterrupted; kResource where the disk or the budget is too
// small.
#pragma once

#include "core/progress.h"
#include "storage/feature/panel_table.h"
#include "train/layer_figures.h"
#include "train/parts.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace sluice {

/// By node type: f32, in one panel; null where a type was not asked for.
using NodeTables = std::vector<std::unique_ptr<PanelTable>>;

struct LayerPassOptions {
  std::filesystem::path scratch;  ///< a folder
  std::uint64_t chunk = 1024;     ///< targets of a mini-batch: results depend on it in last digits
  ProgressStyle progress = ProgressStyle::kSilent;
  std::uint64_t room =
      0;  ///< bytes of rows of neighbours; 0: three quarters of what the ledger has left
  std::uint64_t output_bytes = 0;  ///< of a file in `scratch` that the rows are written to
  std::int64_t layers = -1;        ///< so many; 0: the inputs; -1: all, what Model::encode() gives
};

/// Layers that such a pass has: 0 of a model that looks at the nodes' own rows alone. Throws kUsage
/// for a run whose rows are of times, or whose model cannot be taken layer by layer.
std::int64_t layers_to_pass(const Parts& parts);

/// The rows of all nodes of the types that are wanted. @param wanted by node type
/// Throws kUsage besides where a layer writes no rows of such a type.
NodeTables pass_layers(Parts& parts,
                       const std::vector<bool>& wanted,
                       const LayerPassOptions& options,
                       std::vector<LayerFigures>& figures);

/// Throws kResource where pass_layers() of these would find too little disk: nothing is read.
void require_pass_space(Parts& parts,
                        const std::vector<bool>& wanted,
                        const LayerPassOptions& options);

}  // namespace sluice
