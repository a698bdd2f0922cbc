// What models of pairs read: both ends' sequences of neighbours, and how often each neighbour is in
// either (the co-occurrence of DyGFormer: Yu et al., NeurIPS 2023).
//
// A sequence ends in its node itself, so that between node types that have no neighbours in common,
// too, a node is found among those that the other end met.
#pragma once

#include "models/temporal_inputs.h"

#include <sluice/models/pair_encoder.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace sluice::models {

/// Numbers of the neighbours of a type's seeds, then of the seed: i64 [seeds, length], -1: padding.
torch::Tensor sequence_numbers(const LayerEvents& in,
                               const Batch& batch,
                               std::size_t type,
                               nn::Align align,
                               std::int64_t length);

/// How often each number of a row is in this row, and how often in the other's: i64 [n, length, 2];
/// 0 of padding. @param own [n, length] @param other [n, any]
torch::Tensor co_occurrence(const torch::Tensor& own, const torch::Tensor& other);

/// Rows of numbers that are small and not negative, by a network of one hidden layer over each.
class CountEncoding : public torch::nn::Module {
 public:
  CountEncoding(std::int64_t width, RandomKey key);

  /// @param counts i64 [n, length, k]; the result is f32 [n, length, width]: the sum of their rows
  torch::Tensor forward(const torch::Tensor& counts) const;

 private:
  std::shared_ptr<nn::Linear> wide_, narrow_;
};

/// Of a tensor of a row a seed, those of some seeds, repeats allowed: gradients add up in order.
torch::Tensor rows_of_seeds(const torch::Tensor& by_seed, const torch::Tensor& seeds);

/// Bounds the rows of sequences that one pass holds: a number of its own, so that results do not
/// depend on what memory there is.
inline constexpr std::int64_t kPairsAtOnce = 8192;

/// Pairs in pieces that bound what is held of each at once.
std::vector<PairRows> in_pieces(const PairRows& pairs, std::int64_t at_once = kPairsAtOnce);

/// The seeds of a type, each with itself.
PairRows with_themselves(const Batch& batch, std::size_t type);

/// Rows of the seeds of some types, each read together with itself.
Encoding encode_with_themselves(PairEncoder& model,
                                const Batch& batch,
                                const std::vector<std::size_t>& types);

/// Rows of no pairs, on the device of `pairs`. @param width columns
PairEncoding no_rows(const PairRows& pairs, std::int64_t width);

/// Rows of pieces, end to end.
PairEncoding joined(const std::vector<PairEncoding>& pieces);

}  // namespace sluice::models
