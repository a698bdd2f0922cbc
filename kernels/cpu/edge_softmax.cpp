#include "kernels/edge_softmax.h"

#include "kernels/cpu/parallel.h"

#include <algorithm>
#include <cmath>

namespace sluice::kernels {
namespace {

/// An exponential costs about this many plain elements.
constexpr std::int64_t kExpCost = 8;

/// One head of one target; edges are `stride` apart, n of them.
void softmax_head(const float* logits,
                  float own_logit,
                  std::int64_t n,
                  std::int64_t stride,
                  float* weights,
                  float& own_weight) {
  float highest = own_logit;
  for (std::int64_t e = 0; e < n; ++e) highest = std::max(highest, logits[e * stride]);
  own_weight = std::exp(own_logit - highest);
  float sum = own_weight;
  for (std::int64_t e = 0; e < n; ++e) {
    weights[e * stride] = std::exp(logits[e * stride] - highest);
    sum += weights[e * stride];
  }
  own_weight /= sum;
  for (std::int64_t e = 0; e < n; ++e) weights[e * stride] /= sum;
}

void softmax_head_backward(const float* weights,
                           float own_weight,
                           const float* grads,
                           float own_grad,
                           std::int64_t n,
                           std::int64_t stride,
                           float* grad_logits,
                           float& grad_own_logit) {
  float mean = own_weight * own_grad;
  for (std::int64_t e = 0; e < n; ++e) mean += weights[e * stride] * grads[e * stride];
  grad_own_logit = own_weight * (own_grad - mean);
  for (std::int64_t e = 0; e < n; ++e) {
    grad_logits[e * stride] = weights[e * stride] * (grads[e * stride] - mean);
  }
}

}  // namespace

void edge_softmax(const Executor& executor,
                  const RowLists& lists,
                  Rows<const float> logits,
                  Rows<const float> own_logits,
                  Rows<float> weights,
                  Rows<float> own_weights) {
  const std::int64_t heads = logits.width;
  const auto work = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = lists.offsets[i];
      const std::int64_t n = lists.offsets[i + 1] - first;
      for (std::int64_t h = 0; h < heads; ++h) {
        softmax_head(logits.row(first) + h,
                     own_logits.row(i)[h],
                     n,
                     heads,
                     weights.row(first) + h,
                     own_weights.row(i)[h]);
      }
    }
  };
  cpu::for_rows(executor, lists.count, (lists.num_items() + lists.count) * heads * kExpCost, work);
}

void edge_softmax_backward(const Executor& executor,
                           const RowLists& lists,
                           Rows<const float> weights,
                           Rows<const float> own_weights,
                           Rows<const float> grad_weights,
                           Rows<const float> grad_own_weights,
                           Rows<float> grad_logits,
                           Rows<float> grad_own_logits) {
  const std::int64_t heads = weights.width;
  const auto work = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = lists.offsets[i];
      const std::int64_t n = lists.offsets[i + 1] - first;
      for (std::int64_t h = 0; h < heads; ++h) {
        softmax_head_backward(weights.row(first) + h,
                              own_weights.row(i)[h],
                              grad_weights.row(first) + h,
                              grad_own_weights.row(i)[h],
                              n,
                              heads,
                              grad_logits.row(first) + h,
                              grad_own_logits.row(i)[h]);
      }
    }
  };
  cpu::for_rows(executor, lists.count, (lists.num_items() + lists.count) * heads, work);
}

}  // namespace sluice::kernels
