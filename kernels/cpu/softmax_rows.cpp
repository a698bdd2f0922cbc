#include "kernels/softmax_rows.h"

#include "kernels/cpu/exp.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_ops.h"

#include <limits>

namespace sluice::kernels {
namespace {

using cpu::IntLanes;
using cpu::kLanes;
using cpu::Lanes;

constexpr float kNone = -std::numeric_limits<float>::infinity();

using ByteLanes =
    std::uint8_t __attribute__((vector_size(kLanes), aligned(alignof(std::uint8_t)), may_alias));

/// Elements [at, at + kLanes) of a row, -infinity for those that do not count or are not there.
template <bool kFlags>
SLUICE_INLINE Lanes counted_scores(const float* scores,
                                   const std::uint8_t* counted,
                                   std::int64_t at,
                                   std::int64_t width) {
  if (at + kLanes <= width) {
    const Lanes lanes = cpu::load(scores + at);
    if constexpr (!kFlags) return lanes;
    const auto bytes = *reinterpret_cast<const ByteLanes*>(counted + at);
    return __builtin_convertvector(bytes, IntLanes) != 0 ? lanes : cpu::all(kNone);
  }
  Lanes lanes = cpu::all(kNone);
  for (std::int64_t lane = 0; at + lane < width; ++lane)
    if (!kFlags || counted[at + lane] != 0) lanes[lane] = scores[at + lane];
  return lanes;
}

template <bool kFlags>
SLUICE_INLINE void add_row(const float* scores,
                           const std::uint8_t* counted,
                           std::int64_t width,
                           float& highest,
                           float& sum) {
  Lanes most = cpu::all(kNone);
  for (std::int64_t at = 0; at < width; at += kLanes) {
    const Lanes lanes = counted_scores<kFlags>(scores, counted, at, width);
    most = most > lanes ? most : lanes;
  }
  cpu::fold(most, 1, [](float a, float b) { return a > b ? a : b; });
  const float now = highest > most[0] ? highest : most[0];
  if (now == kNone) return;
  Lanes sums{};
  for (std::int64_t at = 0; at < width; at += kLanes)
    sums += cpu::exp_nonpositive(counted_scores<kFlags>(scores, counted, at, width) - now);
  cpu::fold(sums, 1, [](float a, float b) { return a + b; });
  sum = sum * cpu::exp_nonpositive(cpu::all(highest - now))[0] + sums[0];
  highest = now;
}

template <bool kFlags>
SLUICE_INLINE void share_row(const float* scores,
                             const std::uint8_t* counted,
                             std::int64_t width,
                             float log_sum,
                             float by,
                             float* shares) {
  if (log_sum == kNone) log_sum = 0;  // nothing counts, or all is as low: shares of 0
  for (std::int64_t at = 0; at < width; at += kLanes) {
    const Lanes share =
        cpu::exp_nonpositive(counted_scores<kFlags>(scores, counted, at, width) - log_sum) * by;
    if (at + kLanes <= width) {
      cpu::store(shares + at, share);
    } else {
      for (std::int64_t lane = 0; at + lane < width; ++lane) shares[at + lane] = share[lane];
    }
  }
}

}  // namespace

void softmax_sums(const Executor& executor,
                  Rows<const float> scores,
                  Flags counted,
                  RunningSoftmax so_far) {
  const auto work = [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float highest = so_far.highest[i], sum = so_far.sum[i];
      if (counted.data == nullptr) {
        add_row<false>(scores.row(i), nullptr, scores.width, highest, sum);
      } else {
        add_row<true>(scores.row(i), counted.row(i), scores.width, highest, sum);
      }
      so_far.highest[i] = highest;
      so_far.sum[i] = sum;
    }
  };
  cpu::for_rows(executor, scores.count, scores.count * scores.width * cpu::kExpCost, work);
}

void softmax_shares(const Executor& executor,
                    Rows<const float> scores,
                    Flags counted,
                    const float* log_sums,
                    const float* by,
                    Rows<float> shares) {
  const auto work = [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (counted.data == nullptr) {
        share_row<false>(scores.row(i), nullptr, scores.width, log_sums[i], by[i], shares.row(i));
      } else {
        share_row<true>(
            scores.row(i), counted.row(i), scores.width, log_sums[i], by[i], shares.row(i));
      }
    }
  };
  cpu::for_rows(executor, scores.count, scores.count * scores.width * cpu::kExpCost, work);
}

}  // namespace sluice::kernels
