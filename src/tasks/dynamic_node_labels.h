// NodeLabels: which classes a node was of when, and by how much: a vector over the classes for a
// node at a time.
//
// Read from a relation whose edges have times (LabelRelation): each says of its source that it was
// of a class then. Edges with classes name it by their label; otherwise the edge's target is the
// class and its weight, where there are weights, how much of it (as TGB's node tasks have it: Huang
// et al., NeurIPS 2023). All edges of a node at a time make one vector, its shares summing to 1.
// What is without a class, or of weight 0, says nothing and is left out. Immutable: any number of
// threads may read one.
#pragma once

#include <sluice/array.h>
#include <sluice/dataset.h>
#include <sluice/graph_schema.h>
#include <sluice/memory.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace sluice::tasks {

/// A relation whose edges are labels at times.
struct LabelRelation {
  std::size_t relation = 0;   ///< index into GraphSchema::relations
  std::size_t node_type = 0;  ///< of the labelled nodes: its edges' sources
  std::uint64_t classes = 0;  ///< of its edges, or nodes of its target type
  bool edges_have_classes = false;

  /// @param name a relation's, or its key; empty: the only one with times and classes. Throws
  /// kUsage, with `who` before the message, where there is none.
  static LabelRelation find(const GraphSchema& schema,
                            const std::string& name,
                            const std::string& who);
};

/// One edge of such a relation.
struct NodeLabelEvent {
  std::uint64_t node = 0;
  std::int64_t time = 0;
  std::int32_t label = -1;  ///< class; -1: none
  float weight = 1;
};

class NodeLabels {
 public:
  /// Some of a node's vectors, by place in the order of (node, time).
  struct Range {
    std::uint64_t first = 0, last = 0;
    std::uint64_t size() const { return last - first; }
  };

  /// Charged to the dataset's ledger as "labels at times": 8 bytes an edge, 32 a vector and 8 a
  /// node; while it is read the relation's edges and 24 bytes an edge more. Throws Error: kData for
  /// a class that is not there, and for weights that are negative or not finite.
  static NodeLabels load(const Dataset& dataset, const LabelRelation& of);
  /// @param events in any order, sorted here. Errors as load().
  NodeLabels(std::span<NodeLabelEvent> events,
             std::uint64_t num_nodes,
             std::uint64_t num_classes,
             MemoryLedger* ledger);

  std::uint64_t num_classes() const { return num_classes_; }
  /// Vectors. Numbers below it are in the order of (time, node).
  std::uint64_t size() const { return static_cast<std::uint64_t>(order_.numel()); }
  /// Edges that say nothing.
  std::uint64_t left_out() const { return left_out_; }
  std::uint64_t node(std::uint64_t number) const { return nodes_.as<std::uint64_t>()[at(number)]; }
  std::int64_t time(std::uint64_t number) const { return times_.as<std::int64_t>()[at(number)]; }

  /// Those of a node that were before a time, the time itself excluded.
  Range before(std::uint64_t node, std::int64_t time) const;
  /// The one of a node at a time; nothing: there is none.
  std::optional<std::uint64_t> find(std::uint64_t node, std::int64_t time) const;
  /// Adds one's shares, which sum to 1, to `out`. @param place in the order of (node, time), as
  /// before() and find() give it @param out [classes]
  void add_shares(std::uint64_t place, std::span<double> out) const;

 private:
  std::uint64_t at(std::uint64_t number) const { return order_.as<std::uint64_t>()[number]; }
  std::uint64_t keep_sound(std::span<NodeLabelEvent> events, std::uint64_t num_nodes) const;
  void take(std::span<const NodeLabelEvent> events, std::uint64_t num_nodes, MemoryLedger* ledger);

  std::uint64_t num_classes_;
  std::uint64_t left_out_ = 0;
  Array node_offsets_;      // u64 [nodes + 1]: vectors of each node, in the order of time
  Array nodes_, times_;     // u64 and i64 [vectors]
  Array entry_offsets_;     // u64 [vectors + 1]
  Array labels_, weights_;  // i32 and f32 [entries]: by vector, then by class
  Array order_;             // u64 [vectors]: by (time, node)
};

}  // namespace sluice::tasks
