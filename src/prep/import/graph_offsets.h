// GraphOffsets: where the nodes of each of many small graphs begin, and, where edges are told by
// the graph, which rows of the edges are whose. Private to src/prep/import.
#pragma once

#include "prep/import/graph_spec.h"
#include "prep/import/id_map.h"
#include "prep/import/node_ids.h"
#include "prep/table/table_reader.h"

#include <sluice/memory.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace sluice {

/// The numbers of nodes, or of edges, of all graphs, added up: those of graph g are [at[g], at[g +
/// 1]).
class GraphOffsets {
 public:
  using Open = std::function<std::unique_ptr<TableReader>(const ColumnSpec&)>;

  /// By the graph of each node, ascending.
  static GraphOffsets from_membership(const GraphsSpec& spec,
                                      const Open& open,
                                      MemoryLedger& ledger);
  /// By the size of each graph. @param what the sizes count: "nodes"
  static GraphOffsets from_sizes(const ColumnSpec& sizes,
                                 const char* what,
                                 const Open& open,
                                 MemoryLedger& ledger);

  std::uint64_t graphs() const { return ends_.size() - 1; }
  std::uint64_t total() const { return ends_.values().back(); }
  std::span<const std::uint64_t> values() const { return ends_.values(); }
  /// Where it was read.
  Place place() const { return {file_, -1, -1, -1}; }

 private:
  explicit GraphOffsets(MemoryLedger& ledger) : ends_(ledger, "graphs") { ends_.push_back(0); }

  GrowingArray<std::uint64_t> ends_;
  std::string file_;
};

/// Checks that edges join nodes of one graph: those that do not are no edges of it. Fed rows in
/// their order.
class OneGraph {
 public:
  /// @param graphs outlives this. @param first_id the number of the first graph, for messages
  OneGraph(const GraphOffsets& graphs, std::int64_t first_id)
      : graphs_(graphs), first_id_(first_id) {}

  /// The ids of one end as the file has them, and where.
  struct End {
    const IdValues& ids;
    IdPlace place;
  };
  /// Throws Error(kData) for the first edge that joins two graphs. Nodes of no graph are passed
  /// over.
  void check(std::span<const std::uint64_t> sources,
             std::span<const std::uint64_t> targets,
             const End& source,
             const End& target);

 private:
  std::uint64_t graph_of(std::uint64_t node) const;

  const GraphOffsets& graphs_;
  std::int64_t first_id_;
  std::uint64_t first_ = 0, end_ = 0;  // the nodes of the graph that the last edge was in
};

/// Turns the ids of edges that count nodes within each graph into those that count through all. Fed
/// the rows of a table in their order.
class GraphEdges {
 public:
  /// @param nodes, edges outlive this, and are of as many graphs. @param first_id of each graph
  GraphEdges(const GraphOffsets& nodes, const GraphOffsets& edges, std::int64_t first_id);

  /// @param source, target of the same rows; changed in place. @param table, column for messages
  void shift(std::span<std::int64_t> source,
             std::span<std::int64_t> target,
             std::uint64_t first_row,
             const TableReader& table,
             const std::string& source_column,
             const std::string& target_column);
  /// Throws where there were fewer rows than the graphs have edges.
  void check_end(std::uint64_t rows, const TableReader& table) const;

 private:
  const GraphOffsets& nodes_;
  const GraphOffsets& edges_;
  std::int64_t first_id_;
  std::size_t graph_ = 0;
};

}  // namespace sluice
