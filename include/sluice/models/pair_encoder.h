// PairEncoder: what a model is besides, when its row of a node depends on whom the node is asked
// about with: the rows of a link's two ends are made together.
//
// A task about links finds it by pair_encoder(model), and asks it for the rows of its pairs in the
// place of Model::encode; what is made of both rows, a decoder's score, is the task's business as
// ever. Used by one thread at a time.
#pragma once

#include <sluice/batch.h>
#include <sluice/model.h>

#include <torch/torch.h>

#include <cstddef>

namespace sluice {

/// Pairs of a mini-batch's seeds: rows among the seeds of their types, as Queries has them.
struct PairRows {
  std::size_t source_type = 0;
  std::size_t destination_type = 0;
  torch::Tensor sources;       ///< i64 [n], none negative
  torch::Tensor destinations;  ///< i64 [n], none negative
};

/// A row an end of each pair: f32 [n, ModelContext::output_width] both.
struct PairEncoding {
  torch::Tensor sources, destinations;
};

class PairEncoder {
 public:
  virtual ~PairEncoder() = default;

  /// Whether it wants to be asked by pairs; else Model::encode gives the same.
  virtual bool reads_pairs() const { return true; }
  /// @param batch one that the model's encode() could be given; memory in proportion to the pairs
  virtual PairEncoding encode_pairs(const Batch& batch, const PairRows& pairs) = 0;
};

/// The model as an encoder of pairs; null where it encodes nodes by themselves.
inline PairEncoder* pair_encoder(Model& model) {
  auto* const pairs = dynamic_cast<PairEncoder*>(&model);
  return pairs != nullptr && pairs->reads_pairs() ? pairs : nullptr;
}

}  // namespace sluice
