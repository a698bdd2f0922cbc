#include "prep/import/graph_offsets.h"

#include "core/interrupt.h"
#include "prep/import/import_context.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>

namespace sluice {
namespace {

constexpr std::int64_t kMostGap = std::int64_t{1} << 32;  // empty graphs in a row
constexpr std::uint64_t kMost = std::uint64_t{1} << 62;   // nodes, or edges

/// Reads a column of whole numbers; `take` is given each with what refuses it.
template <class Take>
std::string read_integers(const ColumnSpec& spec, const GraphOffsets::Open& open, Take take) {
  const auto table = open(spec);
  const std::string column = find_id_column(*table, spec.column).name;
  table->select({{column, ColumnType::kInteger, EmptyCell::kRefuse, ColumnUse::kGraphs}});
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

}  // namespace

GraphOffsets GraphOffsets::from_membership(const GraphsSpec& spec,
                                           const Open& open,
                                           MemoryLedger& ledger) {
  GraphOffsets made(ledger);
  GrowingArray<std::uint64_t>& ends = made.ends_;
  std::uint64_t nodes = 0;
  made.file_ = read_integers(spec.membership, open, [&](std::int64_t value, const auto& fail) {
    const std::int64_t graph = value - spec.first_id;
    const auto last = static_cast<std::int64_t>(ends.size()) - 1;  // the one that is open
    if (graph < 0)
      fail(fmt::format("the graph {} is below the first, {}", value, spec.first_id),
           "set first_id of [graphs]");
    if (graph + 1 < last)
      fail(fmt::format("the graph {} follows {}", value, last - 1 + spec.first_id),
           "nodes of a graph stand together, graphs in ascending order: sort the rows");
    if (graph - last > kMostGap)
      fail(fmt::format("the graph {} follows {}", value, last - 1 + spec.first_id),
           "graphs are numbered one after the other");
    for (std::int64_t i = last; i <= graph; ++i) ends.push_back(nodes);
    ends.data()[ends.size() - 1] = ++nodes;
  });
  return made;
}

GraphOffsets GraphOffsets::from_sizes(const ColumnSpec& sizes,
                                      const char* what,
                                      const Open& open,
                                      MemoryLedger& ledger) {
  GraphOffsets made(ledger);
  made.file_ = read_integers(sizes, open, [&](std::int64_t size, const auto& fail) {
    const std::uint64_t before = made.total();
    if (size < 0 || before + static_cast<std::uint64_t>(size) > kMost)
      fail(fmt::format("{} is no number of {}", size, what), "one number >= 0 a graph");
    made.ends_.push_back(before + static_cast<std::uint64_t>(size));
  });
  return made;
}

std::uint64_t OneGraph::graph_of(std::uint64_t node) const {
  const auto ends = graphs_.values().subspan(1);
  return static_cast<std::uint64_t>(std::upper_bound(ends.begin(), ends.end(), node) -
                                    ends.begin());
}

void OneGraph::check(std::span<const std::uint64_t> sources,
                     std::span<const std::uint64_t> targets,
                     const End& source,
                     const End& target) {
  const auto inside = [&](std::uint64_t node) { return node >= first_ && node < end_; };
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (inside(sources[i]) && inside(targets[i])) continue;
    if (sources[i] >= graphs_.total() || targets[i] >= graphs_.total()) continue;
    const std::uint64_t graph = graph_of(sources[i]);
    first_ = graphs_.values()[graph];
    end_ = graphs_.values()[graph + 1];
    if (inside(targets[i])) continue;
    const auto number = [&](std::uint64_t of) { return static_cast<std::int64_t>(of) + first_id_; };
    throw target.place.table.value_error(
        target.place.first_row + i,
        target.place.column,
        fmt::format("the edge from {} to {} joins two graphs, {} and {}",
                    source.ids.shown(i),
                    target.ids.shown(i),
                    number(graph),
                    number(graph_of(targets[i]))),
        fmt::format("no edge leaves its graph: mend it, or the graphs of nodes in {}",
                    graphs_.place().file));
  }
}

GraphEdges::GraphEdges(const GraphOffsets& nodes, const GraphOffsets& edges, std::int64_t first_id)
    : nodes_(nodes), edges_(edges), first_id_(first_id) {
  if (nodes.graphs() == edges.graphs()) return;
  throw Error(ErrorCode::kData,
              fmt::format("{} graphs have edges, {} have nodes",
                          format_count(edges.graphs()),
                          format_count(nodes.graphs())),
              "[graphs] edge_sizes has one row a graph",
              edges.place());
}

void GraphEdges::shift(std::span<std::int64_t> source,
                       std::span<std::int64_t> target,
                       std::uint64_t first_row,
                       const TableReader& table,
                       const std::string& source_column,
                       const std::string& target_column) {
  for (std::size_t i = 0; i < source.size(); ++i) {
    while (graph_ < edges_.graphs() && edges_.values()[graph_ + 1] <= first_row + i) ++graph_;
    if (graph_ == edges_.graphs()) {
      throw table.value_error(first_row + i,
                              source_column,
                              fmt::format("the graphs have {} edges, and this is one more",
                                          format_count(edges_.total())),
                              "[graphs] edge_sizes says how many each graph has");
    }
    const auto first = static_cast<std::int64_t>(nodes_.values()[graph_]);
    const std::int64_t nodes = static_cast<std::int64_t>(nodes_.values()[graph_ + 1]) - first;
    for (const bool at_target : {false, true}) {
      std::int64_t& id = (at_target ? target : source)[i];
      if (id >= first_id_ && id - first_id_ < nodes) {
        id += first;
        continue;
      }
      throw table.value_error(
          first_row + i,
          at_target ? target_column : source_column,
          fmt::format("the id {} is none of graph {}, which has {} nodes", id, graph_, nodes),
          fmt::format("with edge_sizes each graph's nodes are counted from {}", first_id_));
    }
  }
}

void GraphEdges::check_end(std::uint64_t rows, const TableReader& table) const {
  if (rows == edges_.total()) return;
  throw Error(
      ErrorCode::kData,
      fmt::format(
          "{} edges, but the graphs have {}", format_count(rows), format_count(edges_.total())),
      "[graphs] edge_sizes says how many each graph has",
      Place{table.path().string(), -1, -1, -1});
}

}  // namespace sluice
