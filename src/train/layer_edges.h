// A layer that looks at edges: mini-batches of targets with their whole neighbourhoods, whose rows
// are in memory, all of them or those of the mini-batches of a window, each read once a window.
#pragma once

#include "train/carry_file.h"
#include "train/layer_pass.h"
#include "train/layer_work.h"

#include <cstddef>
#include <map>
#include <memory>
#include <utility>

namespace sluice {

/// What the layer before left, by node type and first target.
struct CarriedRows {
  std::unique_ptr<CarryFile> file;  ///< null: nothing
  std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> entries;
};

/// @param rows that the layer reads, by node type @param made gets what it writes; null of a type
/// that is not wanted @param carried becomes what this layer leaves. Throws Error: kResource where
/// one mini-batch does not fit.
void pass_by_edges(const LayerWork& work,
                   const NodeTables& rows,
                   NodeTables& made,
                   CarriedRows& carried,
                   LayerFigures& figure);

}  // namespace sluice
