// The operations that are measured, forward and backward: Sluice's, and LibTorch's own over the
// same block.
#pragma once

#include <sluice/nn/layer_call.h>

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sluice::bench {

enum class Operation { kSum, kMean, kMax, kSoftmax };

/// One way to do it: outputs from x, [sources, width], or for the softmax [edges, width].
struct Way {
  std::string name;
  std::function<torch::Tensor(const torch::Tensor& x)> forward;
};

/// Sluice's: nn/block_ops.h.
Way own_way(Operation operation, const nn::LayerCall& call, std::int64_t width);

/// torch.sparse.mm and scatter_reduce, where they can do it and their temporaries take at most
/// `most_bytes`.
std::vector<Way> torch_ways(Operation operation,
                            const nn::LayerCall& call,
                            std::int64_t width,
                            std::uint64_t most_bytes);

/// Seconds of forward and backward, the median of `rounds` after one that is not timed.
double time_way(const Way& way, const torch::Tensor& x, std::uint64_t rounds);

}  // namespace sluice::bench
