// NodeMemory: a vector a node that its events change, and the mail that waits for it (Rossi et al.
// 2020, "Temporal graph networks"; JODIE: Kumar et al., KDD 2019, in the form that TGL gave it).
//
//   message = [memory of the node, memory of the other end, time encoding, features of the event]
//   memory' = cell(message, memory)
// An event leaves both ends a mail: what the memories were after it was asked about, its time and
// features; of several in a mini-batch the last one stays. A mail is read into the memory when the
// node is looked at next, before the memory is used, so that the loss teaches the cell; it is kept
// as read when the node's next event is committed. Used by one thread.
#pragma once

#include <sluice/models/state_model.h>
#include <sluice/nn/linear.h>
#include <sluice/nn/state_rows.h>
#include <sluice/nn/time_encoding.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace sluice::models {

enum class MemoryCell { kGru, kRnn };

struct NodeMemoryOptions {
  std::int64_t width = 100;
  MemoryCell cell = MemoryCell::kGru;
  nn::TimeEncodingOptions time;
};

/// Memories with their mail read.
struct ReadMemory {
  torch::Tensor rows;  ///< f32 [n, width], 0 of a node without events
  torch::Tensor last;  ///< i64 [n]: the time of the event that was read last
  torch::Tensor any;   ///< bool [n]: whether there was one
};

class NodeMemory : public torch::nn::Module {
 public:
  NodeMemory(const NodeMemoryOptions& options, const GraphSchema& schema, RandomKey key);

  nn::StateShape shape() const;
  /// The first relation with features.
  std::optional<std::size_t> event_features() const { return relation_; }
  void attach(nn::StateRows& rows) { state_ = &rows; }

  /// Of the mini-batch's first `count` nodes of a type; each node is computed once.
  ReadMemory of(const Batch& batch, std::size_t type, std::int64_t count) const;
  /// As StatefulModel::commit.
  void commit(const Batch& batch, const CommittedEvents& events) const;

 private:
  ReadMemory read(const nn::NodeStates& states) const;
  torch::Tensor cell(const torch::Tensor& message, const torch::Tensor& memory) const;
  nn::StateRows& state() const;

  NodeMemoryOptions options_;
  std::optional<std::size_t> relation_;
  std::int64_t features_ = 0;  // columns
  nn::StateRows* state_ = nullptr;
  std::shared_ptr<nn::TimeEncoding> time_;
  std::shared_ptr<nn::Linear> of_message_, of_memory_;
};

}  // namespace sluice::models
