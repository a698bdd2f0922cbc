// Many small graphs in one: which nodes are whose, and what is said of each graph.
#include "prep/import/import_context.h"

#include <sluice/units.h>

#include <fmt/format.h>

namespace sluice {
namespace {

void check_total(const GraphOffsets& graphs, const NodeState& node) {
  if (graphs.total() == *node.ids.count()) return;
  throw Error(ErrorCode::kData,
              fmt::format("the graphs have {} nodes, type '{}' has {}",
                          format_count(graphs.total()),
                          node.spec.type,
                          format_count(*node.ids.count())),
              "every node is in exactly one graph",
              graphs.place());
}

}  // namespace

void load_graphs(ImportContext& context) {
  const GraphsSpec& spec = context.spec.graphs;
  if (!spec.any()) return;
  const auto open = [&](const ColumnSpec& column) {
    return context.open(column.file, column.format);
  };
  MemoryLedger& ledger = context.prep.ledger;
  context.graphs = std::make_unique<GraphOffsets>(
      spec.sizes.file.empty() ? GraphOffsets::from_membership(spec, open, ledger)
                              : GraphOffsets::from_sizes(spec.sizes, "nodes", open, ledger));
  NodeIds& ids = context.node(spec.node_type).ids;
  if (ids.count() || ids.kind() != IdKind::kDense || ids.unknown() == UnknownIds::kCreate) return;
  ids.set_count(context.graphs->total(), "[graphs]", context.graphs->place());
}

std::unique_ptr<NodeBits> import_graphs(ImportContext& context) {
  const GraphsSpec& spec = context.spec.graphs;
  const GraphOffsets& offsets = *context.graphs;
  check_total(offsets, context.node(spec.node_type));
  GraphCollectionSchema graphs;
  graphs.node_type = spec.node_type;
  graphs.count = offsets.graphs();
  context.writer.write("graphs/offsets.bin", offsets.values());
  std::unique_ptr<NodeBits> labelled;
  if (!spec.labels.file.empty()) {
    labelled = std::make_unique<NodeBits>(context.prep.ledger);
    RowTarget target;
    target.path = "graphs/labels.bin";
    target.owner = "graphs";
    target.check_rows = [&](std::uint64_t rows, const Place& place) {
      if (rows == graphs.count) return;
      throw Error(
          ErrorCode::kData,
          fmt::format("{} rows for {} graphs", format_count(rows), format_count(graphs.count)),
          "every graph needs exactly one row",
          place);
    };
    graphs.labels = import_label_table(context, spec.labels, target, labelled.get());
  }
  context.writer.schema().graphs = std::move(graphs);
  return labelled;
}

}  // namespace sluice
