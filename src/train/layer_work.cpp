#include "train/layer_work.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace sluice {
namespace {

std::span<std::byte> bytes_of_rows(const torch::Tensor& rows) {
  return {static_cast<std::byte*>(rows.data_ptr()), static_cast<std::size_t>(rows.nbytes())};
}

}  // namespace

void RowWriter::write(std::uint64_t first, const torch::Tensor& rows) {
  const PanelShape& shape = table_.shape();
  const torch::Tensor whole = rows.to(torch::kFloat32).contiguous();
  if (whole.dim() != 2 || whole.size(1) != static_cast<std::int64_t>(shape.columns))
    throw Error(ErrorCode::kInternal,
                fmt::format("a layer gave rows that are not of {} columns", shape.columns));
  if (shape.panels() <= 1) return table_.write_rows(0, first, bytes_of_rows(whole));
  const torch::Tensor room = torch::empty({whole.size(0), static_cast<std::int64_t>(shape.panel)});
  table_.write_whole_rows(first, bytes_of_rows(whole), bytes_of_rows(room));
}

torch::Tensor read_rows(const PanelTable& table, std::uint64_t first, std::uint64_t count) {
  const PanelShape& shape = table.shape();
  const auto rows = static_cast<std::int64_t>(count);
  torch::Tensor out = torch::empty({rows, static_cast<std::int64_t>(shape.columns)});
  if (shape.panels() <= 1) {
    table.read_panel_rows(0, first, bytes_of_rows(out));
  } else {
    const torch::Tensor room = torch::empty({rows, static_cast<std::int64_t>(shape.panel)});
    table.read_rows(first, count, bytes_of_rows(room), bytes_of_rows(out));
  }
  return out;
}

std::uint32_t panel_columns(const PanelShape& shape, std::uint64_t room, const std::string& type) {
  const std::uint64_t column_bytes = std::max<std::uint64_t>(1, shape.rows) * sizeof(float);
  const std::uint64_t fit = room / column_bytes;
  if (fit == 0)
    throw Error(ErrorCode::kResource,
                fmt::format("one column of all {} nodes of '{}' takes {}, and there is room for {}",
                            shape.rows,
                            type,
                            format_bytes(column_bytes),
                            format_bytes(room)),
                fmt::format("give {}MiB more: --set memory.host=...",
                            2 * (column_bytes - room) / kMiB + 1));
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(fit, std::max<std::uint32_t>(1, shape.columns)));
}

Batch empty_batch(std::int64_t depth, std::size_t types) {
  Batch batch;
  batch.nodes.resize(types);
  batch.seeds.resize(types);
  batch.layers.resize(static_cast<std::size_t>(depth));
  for (BatchNodes& nodes : batch.nodes)
    nodes.size_at.assign(static_cast<std::size_t>(depth) + 1, 0);
  return batch;
}

void set_sizes(
    Batch& batch, std::int64_t layer, std::size_t type, std::int64_t rows, std::int64_t targets) {
  std::vector<std::int64_t>& sizes = batch.nodes.at(type).size_at;
  for (std::size_t at = 0; at < sizes.size(); ++at)
    sizes[at] = at <= static_cast<std::size_t>(layer) ? rows : targets;
}

}  // namespace sluice
