// Lists of ids: a type's own, and those of splits.
#include "core/interrupt.h"
#include "prep/import/import_context.h"
#include "prep/splits.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

namespace sluice {
namespace {

/// Reads one part's file of ids; an empty one is an error.
std::vector<std::uint64_t> read_part(ImportContext& context,
                                     const SplitSpec& split,
                                     const std::string& part,
                                     const std::string& file,
                                     Charge& charge) {
  if (file.empty()) return {};
  const NodeIds& ids = context.node(split.node_type).ids;
  const auto table = context.open(file, split.format);
  const std::string column = find_id_column(*table, split.column).name;
  table->select({{column, ids.column_type()}});
  std::vector<std::uint64_t> nodes, found;
  for (TableChunk chunk; table->next(chunk);) {
    throw_if_interrupted();
    ids.find(id_values(chunk, 0), {*table, chunk.first_row, column}, found, context.prep.arena);
    charge.resize(charge.bytes() + found.size() * sizeof(std::uint64_t)).or_throw();
    nodes.insert(nodes.end(), found.begin(), found.end());
  }
  if (nodes.empty()) {
    throw Error(ErrorCode::kData,
                fmt::format("split '{}': the {} part has no ids", split.name, part),
                fmt::format("list at least one, or leave {} out", part),
                Place{table->path().string(), -1, -1, -1});
  }
  return nodes;
}

SplitIds draw_from_labelled(const ImportContext& context,
                            const SplitSpec& split,
                            const NodeState& node,
                            Charge& charge) {
  const std::uint64_t count = *node.ids.count();
  charge.resize(2 * count * sizeof(std::uint64_t)).or_throw();
  std::vector<std::uint64_t> candidates(count);
  std::iota(candidates.begin(), candidates.end(), 0);
  if (node.labelled)
    std::erase_if(candidates, [&](std::uint64_t id) { return !node.labelled->get(id); });
  context.prep.log.info("split '{}': drawn from {} nodes of type '{}'",
                        split.name,
                        candidates.size(),
                        split.node_type);
  const auto seed = static_cast<std::uint64_t>(split.seed);
  return draw_split(std::move(candidates),
                    {split.ratio[0], split.ratio[1], split.ratio[2]},
                    RandomKey(seed).with("split").with(split.name));
}

}  // namespace

const ColumnInfo& find_id_column(const TableReader& table, const std::string& name) {
  const ColumnInfo& column = table.column(name, 0);
  if (column.width == 1) return column;
  throw Error(ErrorCode::kData,
              fmt::format("ids need one number a row, this has {}", column.width),
              "save an array of one dimension",
              Place{table.path().string(), -1, -1, -1});
}

void import_id_list(ImportContext& context, NodeState& node) {
  const IdFileSpec& spec = node.spec.id_list;
  const auto table = context.open(spec.file, spec.format);
  const std::string column = find_id_column(*table, spec.column).name;
  table->select({{column, node.ids.column_type()}});
  Progress progress(context.prep.progress, spec.file, table->num_rows().value_or(0), "ids");
  for (TableChunk chunk; table->next(chunk);) {
    throw_if_interrupted();
    node.ids.list(id_values(chunk, 0), {*table, chunk.first_row, column});
    progress.add(chunk.rows);
  }
  node.ids.close(spec.file);
}

void import_split(ImportContext& context, const SplitSpec& split) {
  const NodeState& node = context.node(split.node_type);
  Charge charge = context.prep.ledger.charge("splits", 0).or_throw();
  SplitIds ids;
  if (split.by_ratio()) {
    ids = draw_from_labelled(context, split, node, charge);
  } else {
    ids.train = read_part(context, split, "train", split.train, charge);
    ids.valid = read_part(context, split, "valid", split.valid, charge);
    ids.test = read_part(context, split, "test", split.test, charge);
  }
  write_split(context.writer, split.name, split.node_type, *node.ids.count(), std::move(ids));
}

}  // namespace sluice
