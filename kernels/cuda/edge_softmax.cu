// A thread a target and head, in list order; the exponential is the GPU's own, which may differ
// from the CPU's in the last bits.
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace sluice::kernels::cuda {
namespace {

__global__ void softmax(std::int64_t elements,
                        RowLists lists,
                        Rows<const float> logits,
                        Rows<const float> own_logits,
                        Rows<float> weights,
                        Rows<float> own_weights) {
  const std::int64_t at = thread_element();
  if (at >= elements) return;
  const std::int64_t i = at / logits.width, h = at % logits.width;
  const std::int64_t first = lists.offsets[i], last = lists.offsets[i + 1];
  const float own = own_logits.row(i)[h];
  float highest = own;
  for (std::int64_t e = first; e < last; ++e) highest = fmaxf(highest, logits.row(e)[h]);
  const float own_weight = expf(own - highest);
  float total = own_weight;
  for (std::int64_t e = first; e < last; ++e) {
    const float weight = expf(logits.row(e)[h] - highest);
    weights.row(e)[h] = weight;
    total += weight;
  }
  own_weights.row(i)[h] = own_weight / total;
  for (std::int64_t e = first; e < last; ++e) weights.row(e)[h] /= total;
}

__global__ void softmax_backward(std::int64_t elements,
                                 RowLists lists,
                                 Rows<const float> weights,
                                 Rows<const float> own_weights,
                                 Rows<const float> grad_weights,
                                 Rows<const float> grad_own_weights,
                                 Rows<float> grad_logits,
                                 Rows<float> grad_own_logits) {
  const std::int64_t at = thread_element();
  if (at >= elements) return;
  const std::int64_t i = at / weights.width, h = at % weights.width;
  const std::int64_t first = lists.offsets[i], last = lists.offsets[i + 1];
  const float own_weight = own_weights.row(i)[h], own_grad = grad_own_weights.row(i)[h];
  float mean = own_weight * own_grad;
  for (std::int64_t e = first; e < last; ++e) mean += weights.row(e)[h] * grad_weights.row(e)[h];
  grad_own_logits.row(i)[h] = own_weight * (own_grad - mean);
  for (std::int64_t e = first; e < last; ++e)
    grad_logits.row(e)[h] = weights.row(e)[h] * (grad_weights.row(e)[h] - mean);
}

}  // namespace

void edge_softmax(const Executor& executor,
                  const RowLists& lists,
                  Rows<const float> logits,
                  Rows<const float> own_logits,
                  Rows<float> weights,
                  Rows<float> own_weights) {
  launch_elements("edge_softmax",
                  executor,
                  lists.count * logits.width,
                  &softmax,
                  lists,
                  logits,
                  own_logits,
                  weights,
                  own_weights);
}

void edge_softmax_backward(const Executor& executor,
                           const RowLists& lists,
                           Rows<const float> weights,
                           Rows<const float> own_weights,
                           Rows<const float> grad_weights,
                           Rows<const float> grad_own_weights,
                           Rows<float> grad_logits,
                           Rows<float> grad_own_logits) {
  launch_elements("edge_softmax_backward",
                  executor,
                  lists.count * weights.width,
                  &softmax_backward,
                  lists,
                  weights,
                  own_weights,
                  grad_weights,
                  grad_own_weights,
                  grad_logits,
                  grad_own_logits);
}

}  // namespace sluice::kernels::cuda
