// Many small graphs in one: which nodes are whose, and what is said of each graph.
#include "core/interrupt.h"
#include "prep/import/import_context.h"

#include <sluice/units.h>

#include <fmt/format.h>

namespace sluice {
namespace {

/// Reads a column of whole numbers.
template <class Take>
std::string read_integers(ImportContext& context, const ColumnSpec& spec, Take take) {
  const auto table = context.open(spec.file, spec.format);
  const std::string column = find_id_column(*table, spec.column).name;
  table->select({{column, ColumnType::kInteger}});
  for (TableChunk chunk; table->next(chunk);) {
    throw_if_interrupted();
    for (std::size_t row = 0; row < chunk.rows; ++row) {
      const auto fail = [&](const std::string& reason, const std::string& hint) {
        throw table->value_error(chunk.first_row + row, column, reason, hint);
      };
      take(chunk.columns[0].integers[row], fail);
    }
  }
  return table->path().string();
}

/// Where each graph's nodes begin, and where the last one's end.
class Offsets {
 public:
  explicit Offsets(MemoryLedger& ledger) : ends_(ledger, "graphs") { ends_.push_back(0); }

  void from_membership(ImportContext& context) {
    const GraphsSpec& spec = context.spec.graphs;
    std::uint64_t nodes = 0;
    file_ = read_integers(context, spec.membership, [&](std::int64_t value, const auto& fail) {
      const std::int64_t graph = value - spec.first_id;
      const auto last = static_cast<std::int64_t>(ends_.size()) - 1;  // the one that is open
      if (graph < 0)
        fail(fmt::format("the graph {} is below the first, {}", value, spec.first_id),
             "set first_id of [graphs]");
      if (graph + 1 < last)
        fail(fmt::format("the graph {} follows {}", value, last - 1 + spec.first_id),
             "nodes of a graph stand together, graphs in ascending order: sort the rows");
      if (graph - last > kMostGap)
        fail(fmt::format("the graph {} follows {}", value, last - 1 + spec.first_id),
             "graphs are numbered one after the other");
      for (std::int64_t i = last; i <= graph; ++i) ends_.push_back(nodes);
      ends_.data()[ends_.size() - 1] = ++nodes;
    });
  }

  void from_sizes(ImportContext& context) {
    const GraphsSpec& spec = context.spec.graphs;
    file_ = read_integers(context, spec.sizes, [&](std::int64_t size, const auto& fail) {
      const std::uint64_t before = ends_.values().back();
      if (size < 0 || before + static_cast<std::uint64_t>(size) > kMostNodes)
        fail(fmt::format("{} is no number of nodes", size), "one number >= 0 a graph");
      ends_.push_back(before + static_cast<std::uint64_t>(size));
    });
  }

  void check(const NodeState& node) const {
    const std::uint64_t nodes = ends_.values().back();
    if (nodes == *node.ids.count()) return;
    throw Error(ErrorCode::kData,
                fmt::format("the graphs have {} nodes, type '{}' has {}",
                            format_count(nodes),
                            node.spec.type,
                            format_count(*node.ids.count())),
                "every node is in exactly one graph",
                Place{file_, -1, -1, -1});
  }

  std::uint64_t graphs() const { return ends_.size() - 1; }
  std::span<const std::uint64_t> values() const { return ends_.values(); }

 private:
  static constexpr std::int64_t kMostGap = std::int64_t{1} << 32;  // empty graphs in a row
  static constexpr std::uint64_t kMostNodes = std::uint64_t{1} << 62;
  GrowingArray<std::uint64_t> ends_;
  std::string file_;
};

}  // namespace

std::unique_ptr<NodeBits> import_graphs(ImportContext& context) {
  const GraphsSpec& spec = context.spec.graphs;
  Offsets offsets(context.prep.ledger);
  spec.sizes.file.empty() ? offsets.from_membership(context) : offsets.from_sizes(context);
  offsets.check(context.node(spec.node_type));
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
