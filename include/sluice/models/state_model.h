// StatefulModel: what a model is besides, when it remembers nodes from one mini-batch to the next
// (the memory of TGN, JODIE, TPNet).
//
// The trainer finds it by stateful_model(model) and keeps a row a node for it (nn::StateRows). For
// each mini-batch, in the order of time, it makes the rows ready, lets the model be trained or
// asked, and then has it commit what happened. Rows are empty at the start of an epoch. A
// validation goes on from the end of training, the test from the end of a validation by the weights
// that are tested.
#pragma once

#include <sluice/batch.h>
#include <sluice/model.h>
#include <sluice/nn/state_rows.h>

#include <torch/torch.h>

#include <cstddef>
#include <optional>

namespace sluice {

/// What the trainer looks up for a commit.
struct CommittedEvents {
  /// f32 [queries, columns]: the features of the events asked about, in the order of the queries,
  /// on the model's device; undefined where event_features() asks for none.
  torch::Tensor features = {};
};

class StatefulModel {
 public:
  virtual ~StatefulModel() = default;

  /// What it keeps of each node. The same as long as the model is there.
  virtual nn::StateShape state_shape() const = 0;
  /// A relation whose first group of features its commits want, by index into
  /// GraphSchema::relations; nothing: none.
  virtual std::optional<std::size_t> event_features() const { return std::nullopt; }
  /// Called once, before anything is asked of the model. @param rows outlive the model's use
  virtual void attach_state(nn::StateRows& rows) = 0;
  /// The mini-batch's events happened: writes the rows of their ends, in the order of (time,
  /// event). Rows are begun, and no gradients are recorded. It must not depend on whether the model
  /// was asked about the mini-batch before.
  virtual void commit(const Batch& batch, const CommittedEvents& events) = 0;
};

/// The model as one that remembers; null where it does not.
inline StatefulModel* stateful_model(Model& model) {
  return dynamic_cast<StatefulModel*>(&model);
}

}  // namespace sluice
