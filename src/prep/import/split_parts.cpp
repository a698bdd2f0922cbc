#include "prep/import/split_parts.h"

#include "core/interrupt.h"
#include "prep/import/mask_cells.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {

std::vector<std::uint64_t> read_mask(ImportContext& context,
                                     const SplitPart& part,
                                     Charge& charge) {
  MaskCells cells(context, part, BlankLine::kRefuse);
  std::vector<std::uint64_t> nodes;
  for (std::uint64_t first = 0; cells.next(); first += cells.rows()) {
    charge.resize(charge.bytes() + cells.rows() * sizeof(std::uint64_t)).or_throw();
    for (std::size_t row = 0; row < cells.rows(); ++row)
      if (cells.bit(row).value_or(false)) nodes.push_back(first + row);
  }
  return nodes;
}

std::vector<std::uint64_t> read_mask_by_id(ImportContext& context,
                                           const SplitPart& part,
                                           const std::string& id_column,
                                           const SplitRows& rows,
                                           std::uint64_t& skipped,
                                           Charge& charge) {
  const ColumnType type = rows.ids.column_type();
  MaskCells cells(context,
                  part,
                  BlankLine::kPass,
                  {{id_column, type, EmptyCell::kRefuse, ColumnUse::kIds, BlankLine::kPass}});
  NodeBits there(context.prep.ledger, "rows of a mask");
  std::vector<std::uint64_t> nodes, found;
  while (cells.next()) {
    const std::uint64_t first = cells.chunk().first_row;
    const IdValues ids = id_values(cells.chunk(), 1);
    rows.ids.find(ids, {cells.table(), first, id_column}, found, context.prep.arena);
    charge.resize(charge.bytes() + cells.rows() * sizeof(std::uint64_t)).or_throw();
    for (std::size_t row = 0; row < cells.rows(); ++row) {
      const bool in = cells.bit(row).value_or(false);
      if (found[row] == kNoNode) {
        skipped += in ? 1u : 0u;
        continue;
      }
      if (there.get(found[row]))
        throw cells.table().value_error(first + row,
                                        id_column,
                                        fmt::format("the id {} stands here again", ids.shown(row)),
                                        "a mask has one row for each node");
      there.set(found[row]);
      if (in) nodes.push_back(found[row]);
    }
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

std::vector<std::uint64_t> read_ids(ImportContext& context,
                                    const SplitPart& part,
                                    const SplitRows& rows,
                                    std::uint64_t& skipped,
                                    Charge& charge) {
  const auto table = context.open(part.file, part.format);
  const std::string column = find_id_column(*table, part.column).name;
  // A list of ids is the same in any order.
  table->select(
      {{column, rows.ids.column_type(), EmptyCell::kRefuse, ColumnUse::kIds, BlankLine::kPass}});
  std::vector<std::uint64_t> nodes, found;
  for (TableChunk chunk; table->next(chunk);) {
    throw_if_interrupted();
    rows.ids.find(
        id_values(chunk, 0), {*table, chunk.first_row, column}, found, context.prep.arena);
    skipped += std::erase(found, kNoNode);
    charge.resize(charge.bytes() + found.size() * sizeof(std::uint64_t)).or_throw();
    nodes.insert(nodes.end(), found.begin(), found.end());
  }
  return nodes;
}

}  // namespace sluice
