// Batch: one mini-batch on its way from the sampler to the model. Torch-free; nn::as_tensor
// (sluice/nn/tensor_view.h) makes tensors over its arrays.
//
// Nodes of a type are listed once, seeds first, then hop by hop: the frontier of each layer is a
// prefix of the next one's, so a layer's target nodes are the first rows of its source nodes. A
// homogeneous graph has one entry in every per-type and per-relation list. With times a row is a
// node at a time: a node has a row for each time at which it is met. A Batch owns its arrays and is
// immutable once assembled.
#pragma once

#include <sluice/array.h>
#include <sluice/graph_schema.h>  // IWYU pragma: export
#include <sluice/query.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice {

class DeferredFeatures;

/// The sampled edges of one relation at one layer: a bipartite graph from source rows to target
/// rows (CSC), with its transpose, through which gradients flow back in a fixed order and without
/// atomics.
struct Block {
  std::size_t relation = 0;     ///< index into GraphSchema::relations
  std::size_t source_type = 0;  ///< index into GraphSchema::nodes
  std::size_t target_type = 0;
  std::int64_t num_sources = 0;  ///< rows of the source type's list that this layer reads
  std::int64_t num_targets = 0;  ///< rows of the target type's list that this layer writes
  Array offsets;                 ///< i64 [num_targets + 1]
  Array neighbours;              ///< i32 [edges]: local source rows, grouped by target
  Array edge_ids;                ///< u64 [edges], or empty when nobody asked
  /// Of the edges, by group (GraphDataOptions::edge_feature_groups): f32 [edges, dim], or empty for
  /// a group that the relation does not have.
  std::vector<Array> features;
  /// i64 [edges], of batches with times: how long before its target's time each edge was; the
  /// source's row has the edge's time. Never negative; at most 2^63 - 1, where it is more.
  Array deltas;
  /// i32 [edges], -1 for an edge without: each edge's class, where a model asks for it
  /// (BatchNeeds::edge_labels); empty of a relation whose edges have no classes.
  Array labels;
  Array transposed_offsets;  ///< i64 [num_sources + 1]
  Array transposed_targets;  ///< i32 [edges]: local target rows, grouped by source, ascending edge
  Array transposed_edges;    ///< i32 [edges]: the edge's index in `neighbours`

  std::int64_t num_edges() const { return neighbours.numel(); }
};

/// The nodes of one type in a batch.
struct BatchNodes {
  Array ids;  ///< u64 [n]: dense node ids; local row i is ids[i]; the seeds first
  /// By group (GraphDataOptions::feature_groups): f32 [n, dim], or empty for a group that the type
  /// does not have.
  std::vector<Array> features;
  /// i64 [n]: in-edges in the whole graph, not only the sampled ones, over the relations into this
  /// type; with times, those before the row's. Empty unless the model asks (Model::needs).
  Array degrees;
  /// i64 [n, relations into this type], in the schema's order: the same by relation. Empty unless
  /// the model asks.
  Array relation_degrees;
  Array times;  ///< i64 [n]: of each row; empty where nobody asks by time
  /// Rows in use at each layer boundary: size_at[0] all n input rows, ..., size_at[layers] the
  /// seeds (if of this type).
  std::vector<std::int64_t> size_at;
};

struct Batch {
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;   ///< the mini-batch's number in its epoch
  std::vector<Array> seeds;  ///< by node type: u64 [n]: dense ids; the first rows of nodes[type]
  Queries queries;           ///< what is asked
  /// Of the queries: i32 [q], u8 [q, ceil(classes / 8)] or f32 [q, width]; empty without.
  Array labels;
  std::vector<BatchNodes> nodes;           ///< by node type
  std::vector<std::vector<Block>> layers;  ///< [layer][relation]; layer 0 reads the features
  /// Of a batch whose arrays are on a device: epoch, index, seeds, queries and labels on the host.
  /// Else null.
  std::shared_ptr<const Batch> host = nullptr;
  /// Features of nodes that are gathered when somebody asks (LoaderOptions::deferred_features):
  /// their arrays in `nodes` are empty. Else null.
  std::shared_ptr<const DeferredFeatures> deferred = nullptr;

  /// BatchNodes::features of a type and group; empty, without a shape, where there are none. Throws
  /// std::out_of_range for a type that the graph lacks.
  Array features(std::size_t type, std::size_t group = 0) const {
    const std::vector<Array>& groups = nodes.at(type).features;
    return group < groups.size() ? groups[group] : Array();
  }
  std::int64_t num_queries() const { return queries.size(); }
  std::int64_t num_seeds(std::size_t type) const {
    return type < seeds.size() ? seeds[type].numel() : 0;
  }
  /// Where the host may read seeds, queries and labels.
  const Batch& on_host() const { return host ? *host : *this; }
};

/// XXH3-64 over everything a model can see in the batch, in a fixed order: equal for equal batches.
std::uint64_t hash_batch(const Batch& batch);

}  // namespace sluice
