// The events that a mini-batch asks about, in the order of (time, event), and the last one of each
// node: what models that remember nodes commit. Pure functions.
#pragma once

#include <sluice/batch.h>

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::models {

/// A link that is asked about and is one.
struct BatchEvent {
  std::int64_t query = 0;                    ///< its number among the queries
  std::int64_t source = 0, destination = 0;  ///< rows among the nodes of their types
  std::int64_t time = 0;
};

/// In the order of (time, edge id), or of their numbers where they have no ids.
/// @param batch links with times
std::vector<BatchEvent> events_in_order(const Batch& batch);

/// Of the nodes of a type that were ends of events: the last event of each. A tensor has an entry a
/// node, i64 [n].
struct LastEvents {
  std::size_t type = 0;
  torch::Tensor nodes;  ///< ids, ascending; on the host
  torch::Tensor own;    ///< rows among the type's nodes
  std::size_t other_type = 0;
  torch::Tensor others;   ///< rows of the other end among its type's nodes
  torch::Tensor times;    ///< of the events
  torch::Tensor queries;  ///< numbers of the events among the queries
};

/// One entry a node type of the ends. Of an event of a node with itself both ends are the same.
/// @param device where all but `nodes` shall be
std::vector<LastEvents> last_events(const Batch& batch, torch::Device device);

}  // namespace sluice::models
