// softmax_rows: softmaxes over the rows of a matrix of scores, which may come in parts: a loss over
// all candidates holds a part of them at a time.
#pragma once

#include "kernels/views.h"

#include <sluice/executor.h>

#include <cstdint>

namespace sluice::kernels {

/// Which elements of a matrix count: those that are not 0. No data: all do.
using Flags = Rows<const std::uint8_t>;

/// The softmax of each row so far: its highest score, and the sum of exp(score - highest). None
/// yet: -infinity and 0; one score: it and 1.
struct RunningSoftmax {
  float* highest = nullptr;  ///< [rows]
  float* sum = nullptr;      ///< [rows]
};

/// Takes each row's scores that count into its softmax.
void softmax_sums(const Executor& executor,
                  Rows<const float> scores,
                  Flags counted,
                  RunningSoftmax so_far);

/// shares[i][j] = by[i] exp(scores[i][j] - log_sums[i]), 0 where it does not count.
/// @pre log_sums[i] is no less than any score of row i that counts
/// @param shares may be `scores`
void softmax_shares(const Executor& executor,
                    Rows<const float> scores,
                    Flags counted,
                    const float* log_sums,
                    const float* by,
                    Rows<float> shares);

}  // namespace sluice::kernels
