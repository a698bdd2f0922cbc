#include "bench/nn/operations.h"

#include "bench/support/program.h"

#include <sluice/nn/block_ops.h>
#include <sluice/nn/tensor_view.h>

#include <chrono>

namespace sluice::bench {
namespace {

using torch::Tensor;

// The target of each edge, i64.
Tensor targets_of(const Block& block) {
  return torch::repeat_interleave(torch::arange(block.num_targets),
                                  nn::as_tensor(block.offsets).diff());
}

// A CSR matrix of ones, or for the mean of 1 / degree.
Tensor sparse_matrix(const Block& block, bool mean) {
  Tensor values = torch::ones({block.num_edges()});
  if (mean) {
    values =
        nn::sampled_degrees(block).clamp_min(1).reciprocal().index_select(0, targets_of(block));
  }
  return torch::sparse_csr_tensor(nn::as_tensor(block.offsets),
                                  nn::as_tensor(block.neighbours).to(torch::kInt64),
                                  values,
                                  {block.num_targets, block.num_sources},
                                  torch::dtype(torch::kFloat32));
}

Way sparse_way(const Block& block, bool mean) {
  return {"torch.sparse.mm",
          [matrix = sparse_matrix(block, mean)](const Tensor& x) { return torch::mm(matrix, x); }};
}

Way scatter_way(Operation operation, const Block& block, std::int64_t width) {
  const Tensor sources = nn::as_tensor(block.neighbours).to(torch::kInt64);
  const Tensor targets = targets_of(block).unsqueeze(1).expand({-1, width});
  const char* reduce = operation == Operation::kSum    ? "sum"
                       : operation == Operation::kMean ? "mean"
                                                       : "amax";
  const std::int64_t count = block.num_targets;
  return {"scatter_reduce", [=](const Tensor& x) {
            return torch::zeros({count, width})
                .scatter_reduce(0, targets, x.index_select(0, sources), reduce, false);
          }};
}

// As it is written without kernels of one's own.
Way scatter_softmax(const Block& block, std::int64_t width) {
  const Tensor targets = targets_of(block).unsqueeze(1).expand({-1, width});
  const std::int64_t count = block.num_targets;
  return {
      "scatter_reduce", [=](const Tensor& logits) {
        const Tensor highest =
            torch::zeros({count, width}).scatter_reduce(0, targets, logits.detach(), "amax", false);
        const Tensor up = (logits - highest.gather(0, targets)).exp();
        const Tensor sum =
            torch::zeros({count, width}).scatter_reduce(0, targets, up, "sum", false);
        return up / sum.gather(0, targets);
      }};
}

}  // namespace

Way own_way(Operation operation, const nn::LayerCall& call, std::int64_t width) {
  switch (operation) {
    case Operation::kSum:
      return {"sluice", [call](const Tensor& x) { return nn::sum_neighbours(call, x, {}, {}); }};
    case Operation::kMean:
      return {"sluice", [call](const Tensor& x) {
                const Tensor scale = nn::sampled_degrees(*call.block).clamp_min(1).reciprocal();
                return nn::sum_neighbours(call, x, {}, scale);
              }};
    case Operation::kMax:
      return {"sluice", [call](const Tensor& x) { return nn::max_neighbours(call, x); }};
    case Operation::kSoftmax:
      break;
  }
  const Tensor own = torch::full({call.block->num_targets, width}, -1e30f);  // no self-loop
  return {"sluice",
          [call, own](const Tensor& logits) { return nn::edge_softmax(call, logits, own).first; }};
}

std::vector<Way> torch_ways(Operation operation,
                            const nn::LayerCall& call,
                            std::int64_t width,
                            std::uint64_t most_bytes) {
  const Block& block = *call.block;
  // Messages, their gradients, and for the softmax as many again.
  const auto messages = static_cast<std::uint64_t>(block.num_edges() * width) * sizeof(float);
  const bool softmax = operation == Operation::kSoftmax;
  std::vector<Way> ways;
  if (operation == Operation::kSum || operation == Operation::kMean)
    ways.push_back(sparse_way(block, operation == Operation::kMean));
  if ((softmax ? 6 : 3) * messages > most_bytes) return ways;
  ways.push_back(softmax ? scatter_softmax(block, width) : scatter_way(operation, block, width));
  return ways;
}

double time_way(const Way& way, const Tensor& x, std::uint64_t rounds) {
  Tensor grad;
  std::vector<double> seconds;
  for (std::uint64_t round = 0; round <= rounds; ++round) {
    const Tensor input = x.detach().requires_grad_();
    const auto begin = std::chrono::steady_clock::now();
    const Tensor out = way.forward(input);
    if (!grad.defined()) grad = torch::ones_like(out);
    out.backward(grad);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (round != 0) seconds.push_back(took.count());
  }
  return median(std::move(seconds));
}

}  // namespace sluice::bench
