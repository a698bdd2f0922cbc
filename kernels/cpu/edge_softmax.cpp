#include "kernels/edge_softmax.h"

#include "kernels/cpu/exp.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_ops.h"

#include <limits>

namespace sluice::kernels {
namespace {

using cpu::kLanes;
using cpu::Lanes;

SLUICE_INLINE Lanes load_some(const float* from, std::int64_t count, float other) {
  if (count == kLanes) return cpu::load(from);
  Lanes lanes = cpu::all(other);
  for (std::int64_t lane = 0; lane < count; ++lane) lanes[lane] = from[lane];
  return lanes;
}

SLUICE_INLINE void store_some(float* to, std::int64_t count, const Lanes& lanes) {
  if (count == kLanes) return cpu::store(to, lanes);
  for (std::int64_t lane = 0; lane < count; ++lane) to[lane] = lanes[lane];
}

SLUICE_INLINE Lanes larger(const Lanes& a, const Lanes& b) {
  return a > b ? a : b;
}

// A list's values are n rows of as many as there are heads. A walk takes them by at most sixteen,
// `for_each(body(offset, count))`; `join` brings the lanes of a head together, into all of them,
// and `spread` reads one value a head into its lanes.

/// Heads that divide kLanes: the values are one stretch of memory, lane l is of head l % kHeads.
template <std::int64_t kHeads>
struct FewHeads {
  static_assert(kLanes % kHeads == 0);
  std::int64_t values;  ///< n * kHeads
  static constexpr std::int64_t count() { return kHeads; }

  template <class Body>
  SLUICE_INLINE void for_each(const Body& body) const {
    std::int64_t at = 0;
    for (; at + kLanes <= values; at += kLanes) body(at, kLanes);
    if (at < values) body(at, values - at);
  }
  template <class Combine>
  SLUICE_INLINE Lanes join(const Lanes& apart, const Combine& combine) const {
    Lanes lanes = apart;
    cpu::fold(lanes, kHeads, combine);
    for (std::int64_t lane = kHeads; lane < kLanes; ++lane) lanes[lane] = lanes[lane % kHeads];
    return lanes;
  }
  SLUICE_INLINE Lanes spread(const float* by_head) const {
    Lanes lanes{};
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] = by_head[lane % kHeads];
    return lanes;
  }
};

/// Some heads side by side, at most kLanes, row by row.
template <bool kWhole>
struct Column {
  std::int64_t rows, stride, heads;
  std::int64_t count() const { return kWhole ? kLanes : heads; }

  template <class Body>
  SLUICE_INLINE void for_each(const Body& body) const {
    for (std::int64_t row = 0; row < rows; ++row) body(row * stride, count());
  }
  template <class Combine>
  SLUICE_INLINE Lanes join(const Lanes& lanes, const Combine&) const {
    return lanes;
  }
  SLUICE_INLINE Lanes spread(const float* by_head) const {
    return load_some(by_head, count(), 0.0f);
  }
};

template <class Walk>
SLUICE_INLINE void softmax(const Walk& walk,
                           const float* logits,
                           const float* own_logits,
                           float* weights,
                           float* own_weights) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  const Lanes own = walk.spread(own_logits);
  Lanes highest = own;
  walk.for_each([&](std::int64_t at, std::int64_t count) {
    highest = larger(highest, load_some(logits + at, count, kNone));
  });
  highest = walk.join(highest, [](float a, float b) { return a > b ? a : b; });
  const Lanes own_weight = cpu::exp_nonpositive(own - highest);
  Lanes sum{};
  walk.for_each([&](std::int64_t at, std::int64_t count) {
    const Lanes weight = cpu::exp_nonpositive(load_some(logits + at, count, kNone) - highest);
    sum += weight;
    store_some(weights + at, count, weight);
  });
  sum = walk.join(sum, [](float a, float b) { return a + b; }) + own_weight;
  walk.for_each([&](std::int64_t at, std::int64_t count) {
    store_some(weights + at, count, load_some(weights + at, count, 0.0f) / sum);
  });
  store_some(own_weights, walk.count(), own_weight / sum);
}

struct Backward {
  const float *weights, *own_weights, *grads, *own_grads;
  float *grad_logits, *grad_own_logits;
};

template <class Walk>
SLUICE_INLINE void softmax_backward(const Walk& walk, const Backward& of) {
  const Lanes own_weight = walk.spread(of.own_weights);
  const Lanes own_grad = walk.spread(of.own_grads);
  Lanes mean{};
  walk.for_each([&](std::int64_t at, std::int64_t count) {
    mean += load_some(of.weights + at, count, 0.0f) * load_some(of.grads + at, count, 0.0f);
  });
  mean = walk.join(mean, [](float a, float b) { return a + b; }) + own_weight * own_grad;
  walk.for_each([&](std::int64_t at, std::int64_t count) {
    const Lanes weight = load_some(of.weights + at, count, 0.0f);
    const Lanes grad = load_some(of.grads + at, count, 0.0f);
    store_some(of.grad_logits + at, count, weight * (grad - mean));
  });
  store_some(of.grad_own_logits, walk.count(), own_weight * (own_grad - mean));
}

/// Calls body(walk, first head) so that all heads of a list of n edges are walked.
template <class Body>
SLUICE_INLINE void for_heads(std::int64_t n, std::int64_t heads, const Body& body) {
  if (heads == 1) return body(FewHeads<1>{n}, 0);
  if (heads == 2) return body(FewHeads<2>{2 * n}, 0);
  if (heads == 4) return body(FewHeads<4>{4 * n}, 0);
  if (heads == 8) return body(FewHeads<8>{8 * n}, 0);
  std::int64_t head = 0;
  for (; head + kLanes <= heads; head += kLanes) body(Column<true>{n, heads, kLanes}, head);
  if (head < heads) body(Column<false>{n, heads, heads - head}, head);
}

}  // namespace

void edge_softmax(const Executor& executor,
                  const RowLists& lists,
                  Rows<const float> logits,
                  Rows<const float> own_logits,
                  Rows<float> weights,
                  Rows<float> own_weights) {
  const std::int64_t heads = logits.width;
  const auto work = [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = lists.offsets[i];
      for_heads(lists.offsets[i + 1] - first, heads, [&](const auto& walk, std::int64_t head) {
        softmax(walk,
                logits.row(first) + head,
                own_logits.row(i) + head,
                weights.row(first) + head,
                own_weights.row(i) + head);
      });
    }
  };
  cpu::for_rows(
      executor, lists.count, (lists.num_items() + lists.count) * heads * cpu::kExpCost, work);
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
  const auto work = [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = lists.offsets[i];
      for_heads(lists.offsets[i + 1] - first, heads, [&](const auto& walk, std::int64_t head) {
        softmax_backward(walk,
                         {weights.row(first) + head,
                          own_weights.row(i) + head,
                          grad_weights.row(first) + head,
                          grad_own_weights.row(i) + head,
                          grad_logits.row(first) + head,
                          grad_own_logits.row(i) + head});
      });
    }
  };
  cpu::for_rows(executor, lists.count, (lists.num_items() + lists.count) * heads, work);
}

}  // namespace sluice::kernels
