// Draws by key for whole tensors of numbers, on the device that the numbers are on: the choice of a
// node, an edge or a column is a function of the key and of its number alone, whatever mini-batch
// it is in, and the same bits on a CPU and a GPU.
#pragma once

#include <sluice/random.h>

#include <torch/torch.h>

namespace sluice::nn {

/// 64 random bits a number, SplitMix64 from the key's first draw: i64, shaped as `numbers`.
/// @param numbers i64, any shape; ids of nodes, columns, ...
torch::Tensor draws(RandomKey key, const torch::Tensor& numbers);

/// The same of pairs of numbers, in their order. @param first, second i64 of one shape
torch::Tensor pair_draws(RandomKey key, const torch::Tensor& first, const torch::Tensor& second);

/// Each true with probability `rate`, where bits are draws: bool, shaped as `bits`. At a rate of 1
/// all are, at 0 none.
torch::Tensor below_rate(const torch::Tensor& bits, double rate);

/// below_rate() of draws().
torch::Tensor chosen(RandomKey key, const torch::Tensor& numbers, double rate);

/// i64 [n]: a random order of n places, by the draws of their distinct numbers i64 [n].
torch::Tensor drawn_order(RandomKey key, const torch::Tensor& numbers);

}  // namespace sluice::nn
