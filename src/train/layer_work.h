// What both ways of a layer's pass share: what a layer is told, and how rows are written.
#pragma once

#include "core/progress.h"
#include "storage/feature/panel_table.h"
#include "train/parts.h"

#include <sluice/models/layerwise.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

/// A layer, and what it may take. Borrowed.
struct LayerWork {
  Parts& parts;
  const Layerwise& layerwise;
  std::int64_t layer = 0;
  std::uint64_t chunk = 1024;  ///< targets of a mini-batch
  std::uint64_t room = 0;      ///< bytes of rows of neighbours
  std::filesystem::path scratch;
  ProgressStyle progress = ProgressStyle::kSilent;

  std::uint64_t count(std::size_t type) const {
    return parts.dataset.schema().nodes.at(type).count;
  }
};

/// Writes rows f32 [n, columns] to a table, whatever its panels.
class RowWriter {
 public:
  explicit RowWriter(PanelTable& table) : table_(table) {}
  void write(std::uint64_t first, const torch::Tensor& rows);

 private:
  PanelTable& table_;
};

/// Rows of a table as a tensor, f32 [count, columns].
torch::Tensor read_rows(const PanelTable& table, std::uint64_t first, std::uint64_t count);

/// Columns of a panel of so many rows of f32 that fits in `room` bytes. Throws kResource where not
/// one does. @param type its name
std::uint32_t panel_columns(const PanelShape& shape, std::uint64_t room, const std::string& type);

/// A batch for a call of one layer: `nodes` and `layers` are there, of the layer's sizes, without
/// rows or blocks. @param types of the dataset
Batch empty_batch(std::int64_t depth, std::size_t types);
/// Says that a type has so many rows, of which the first are targets. @param layer of the call
void set_sizes(
    Batch& batch, std::int64_t layer, std::size_t type, std::int64_t rows, std::int64_t targets);

}  // namespace sluice
