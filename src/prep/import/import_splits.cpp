// Splits of nodes and of graphs: lists of ids, masks, or drawn by ratio.
#include "prep/import/import_context.h"
#include "prep/import/split_parts.h"
#include "prep/splits.h"

#include <fmt/format.h>

#include <numeric>
#include <string_view>
#include <utility>

namespace sluice {
namespace {

/// Reads one part, of ids or a mask of those; an empty one is an error. Ids that are not there and
/// may be left out are counted in `skipped`.
std::vector<std::uint64_t> read_part(ImportContext& context,
                                     const SplitRows& rows,
                                     const SplitSpec& split,
                                     const SplitPart& part,
                                     std::uint64_t& skipped,
                                     Charge& charge) {
  const PartForm form = form_of_part(context, part, rows);
  std::vector<std::uint64_t> nodes =
      !form.mask ? read_ids(context, part, rows, skipped, charge)
      : form.id_column.empty()
          ? read_mask(context, part, charge)
          : read_mask_by_id(context, part, form.id_column, rows, skipped, charge);
  if (nodes.empty()) {
    throw Error(ErrorCode::kData,
                fmt::format("split '{}': the {} part has no ids", split.name, part.name),
                fmt::format("list at least one, or leave {} out", part.name),
                Place{(context.root / part.file).string(), -1, -1, -1});
  }
  return nodes;
}

SplitIds read_parts(ImportContext& context,
                    const SplitRows& rows,
                    const SplitSpec& split,
                    std::uint64_t& skipped,
                    Charge& charge) {
  SplitIds ids;
  for (const SplitPart& part : split.parts()) {
    const std::string_view name = part.name;
    (name == "train"   ? ids.train
     : name == "valid" ? ids.valid
                       : ids.test) = read_part(context, rows, split, part, skipped, charge);
  }
  return ids;
}

/// @param labelled those to draw from; null: all
SplitIds draw_from(const ImportContext& context,
                   const SplitSpec& split,
                   std::uint64_t count,
                   const NodeBits* labelled,
                   const std::string& of,
                   Charge& charge) {
  charge.resize(2 * count * sizeof(std::uint64_t)).or_throw();
  std::vector<std::uint64_t> candidates(count);
  std::iota(candidates.begin(), candidates.end(), 0);
  if (labelled != nullptr)
    std::erase_if(candidates, [&](std::uint64_t id) { return !labelled->get(id); });
  context.prep.log.info("split '{}': drawn from {} {}", split.name, candidates.size(), of);
  return draw_split(
      std::move(candidates),
      {split.ratio[0], split.ratio[1], split.ratio[2]},
      RandomKey(static_cast<std::uint64_t>(split.seed)).with("split").with(split.name));
}

// Training graphs make their nodes training rows.
void note_training(ImportContext& context,
                   const SplitSpec& split,
                   std::span<const std::uint64_t> graphs) {
  NodeState& node = context.node(context.spec.graphs.node_type);
  if (node.training_split != &split) return;
  const auto offsets = context.graphs->values();
  for (const std::uint64_t graph : graphs)
    for (std::uint64_t id = offsets[graph]; id < offsets[graph + 1]; ++id) node.training->set(id);
}

}  // namespace

void import_split(ImportContext& context, const SplitSpec& split) {
  NodeState& node = context.node(split.node_type);
  const std::uint64_t count = *node.ids.count();
  Charge charge = context.prep.ledger.charge("splits", 0).or_throw();
  SplitIds ids =
      split.by_ratio()
          ? draw_from(context,
                      split,
                      count,
                      node.labelled.get(),
                      fmt::format("nodes of type '{}'", split.node_type),
                      charge)
          : read_parts(context, {node.ids, "nodes", &node.spec}, split, node.skipped, charge);
  if (node.training_split == &split)
    for (const std::uint64_t id : ids.train) node.training->set(id);
  SplitSchema schema = write_split(context.writer, split.name, "node", count, std::move(ids));
  schema.node_type = split.node_type;
  context.writer.schema().splits.push_back(std::move(schema));
}

void import_graph_split(ImportContext& context, const SplitSpec& split, const NodeBits* labelled) {
  GraphCollectionSchema& graphs = *context.writer.schema().graphs;
  Charge charge = context.prep.ledger.charge("splits", 0).or_throw();
  NodeIds ids("graphs", {IdKind::kDense, context.spec.graphs.first_id}, context.prep.ledger);
  ids.set_count(graphs.count, "[graphs]", {});
  std::uint64_t skipped = 0;
  SplitIds parts = split.by_ratio()
                       ? draw_from(context, split, graphs.count, labelled, "graphs", charge)
                       : read_parts(context, {ids, "graphs"}, split, skipped, charge);
  note_training(context, split, parts.train);
  graphs.splits.push_back(
      write_split(context.writer, split.name, "graph", graphs.count, std::move(parts)));
}

}  // namespace sluice
