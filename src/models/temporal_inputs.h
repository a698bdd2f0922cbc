// What the temporal models read: the events of a layer's targets, rows of nodes and of edges, each
// through a matrix of its type's or relation's to one width.
//
// A node's row is its type's features and, where [embedding] learns some, its learned row beside
// them; a type with neither has zeros, as the papers' graphs without features do. An edge's row is
// its relation's features; where there are several relations, each adds a learned row of its own,
// so that what was sent and what was received are told apart. Used by one thread at a time.
#pragma once

#include <sluice/model.h>
#include <sluice/models/node_rows.h>
#include <sluice/nn/event_sequences.h>
#include <sluice/nn/linear.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace sluice::models {

/// The events of the rows of one node type that a layer writes.
struct LayerEvents {
  std::vector<const Block*> blocks;  ///< into that type
  nn::EventSequences events;
};

/// @param layer as Batch::layers
/// @param latest so many of each target, of all relations together; 0: all that were sampled
/// Throws kUsage for batches without times, kInternal for one that has fewer layers.
LayerEvents events_into(const Batch& batch,
                        std::size_t layer,
                        std::size_t type,
                        std::int64_t latest = 0);

class TemporalInputs : public torch::nn::Module {
 public:
  /// Throws kUsage where a relation's edges have no times. @param model its name, for messages
  TemporalInputs(const ModelContext& context,
                 std::string_view model,
                 std::int64_t width,
                 RandomKey key);

  BatchNeeds needs() const;
  std::int64_t width() const { return width_; }
  /// Whether rows of edges are anything but zeros.
  bool has_edges() const;
  /// Whether rows of nodes of any type are anything but zeros.
  bool has_nodes() const;

  /// Rows of all nodes of a type: f32 [nodes, width]; undefined: zeros.
  torch::Tensor nodes(const Batch& batch, std::size_t type) const;
  /// The same of all types.
  std::vector<torch::Tensor> nodes(const Batch& batch) const;
  /// Rows of the events' edges: f32 [events, width]; undefined: zeros.
  torch::Tensor edges(const LayerEvents& layer) const;

 private:
  std::int64_t width_;
  std::vector<NodeRows> node_rows_;                       // by node type
  std::vector<std::shared_ptr<nn::Linear>> by_type_;      // null: zeros
  std::vector<std::shared_ptr<nn::Linear>> by_relation_;  // null: no features
  torch::Tensor relation_rows_;  // f32 [relations, width]; undefined where there is one
};

/// Rows of the nodes that events were with: f32 [events, width]; undefined: zeros.
/// @param rows by node type, as TemporalInputs::nodes gives them
torch::Tensor neighbours_of(const LayerEvents& layer, const std::vector<torch::Tensor>& rows);

/// Numbers of a type's nodes that those of no other type have, however many there come to be: i64
/// [nodes].
torch::Tensor node_numbers(const Batch& batch, std::size_t type);
/// Those of the nodes that events were with: i64 [events].
torch::Tensor neighbour_numbers(const LayerEvents& layer, const Batch& batch);

/// The sum of what is defined; undefined where nothing is.
torch::Tensor sum_of(const std::vector<torch::Tensor>& parts);

}  // namespace sluice::models
