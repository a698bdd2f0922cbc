#include "kernels/support.h"

#include "kernels/edge_pairs.h"
#include "kernels/edge_softmax.h"

#include <cmath>

using namespace sluice;
using namespace sluice::testing;
using kernels::Executor;

namespace {
constexpr std::int64_t kSources = 3000, kTargets = 900, kHeads = 3;
}

TEST_CASE("edge_add and edge_dot pair the rows at an edge's ends") {
  constexpr std::int64_t kHeadWidth = 21;
  const Block block = random_block(kSources, kTargets, 40, 1);
  const auto lists = forward_lists(block);
  Matrix from_target(kTargets, kHeads, 2), from_source(kSources, kHeads, 3);
  Matrix target_rows(kTargets, kHeads * kHeadWidth, 4);
  Matrix source_rows(kSources, kHeads * kHeadWidth, 5);
  const Matrix sums = same_bits_on_all_threads([&](const Executor& executor) {
    Matrix out(block.num_edges(), kHeads);
    kernels::edge_add(executor, lists, from_target.rows(), from_source.rows(), out.rows());
    return out;
  });
  const Matrix dots = same_bits_on_all_threads([&](const Executor& executor) {
    Matrix out(block.num_edges(), kHeads);
    kernels::edge_dot(executor, lists, target_rows.rows(), source_rows.rows(), out.rows());
    return out;
  });
  for (std::int64_t t = 0; t < kTargets; ++t) {
    for (std::int64_t e = lists.offsets[t]; e < lists.offsets[t + 1]; ++e) {
      const std::int32_t s = lists.items[e];
      for (std::int64_t h = 0; h < kHeads; ++h) {
        CHECK(sums.at(e, h) == from_target.at(t, h) + from_source.at(s, h));
        double dot = 0;
        for (std::int64_t c = h * kHeadWidth; c < (h + 1) * kHeadWidth; ++c) {
          dot += static_cast<double>(target_rows.at(t, c)) * source_rows.at(s, c);
        }
        check_near(dots.at(e, h), dot);
      }
    }
  }
}

TEST_CASE("edge_softmax sums to one over a target's edges and its own row") {
  const Block block = random_block(kSources, kTargets, 40, 6);
  const auto lists = forward_lists(block);
  Matrix logits(block.num_edges(), kHeads, 7), own(kTargets, kHeads, 8);
  Matrix own_weights(kTargets, kHeads);
  for (float& logit : logits.values) logit *= 300;  // overflows without the maximum taken off
  const Matrix weights = same_bits_on_all_threads([&](const Executor& executor) {
    Matrix out(block.num_edges(), kHeads);
    kernels::edge_softmax(
        executor, lists, logits.rows(), own.rows(), out.rows(), own_weights.rows());
    return out;
  });
  for (std::int64_t t = 0; t < kTargets; ++t) {
    for (std::int64_t h = 0; h < kHeads; ++h) {
      double sum = std::exp(static_cast<double>(own.at(t, h)));
      for (std::int64_t e = lists.offsets[t]; e < lists.offsets[t + 1]; ++e) {
        sum += std::exp(static_cast<double>(logits.at(e, h)));
      }
      check_near(own_weights.at(t, h), std::exp(static_cast<double>(own.at(t, h))) / sum);
      for (std::int64_t e = lists.offsets[t]; e < lists.offsets[t + 1]; ++e) {
        check_near(weights.at(e, h), std::exp(static_cast<double>(logits.at(e, h))) / sum);
      }
    }
  }
}

TEST_CASE("edge_softmax_backward gives the same bits on any number of threads") {
  const Block block = random_block(kSources, kTargets, 40, 9);
  const auto lists = forward_lists(block);
  Matrix weights(block.num_edges(), kHeads, 10), own_weights(kTargets, kHeads, 11);
  Matrix grads(block.num_edges(), kHeads, 12), own_grads(kTargets, kHeads, 13);
  (void)same_bits_on_all_threads([&](const Executor& executor) {
    Matrix out(block.num_edges(), kHeads), own_out(kTargets, kHeads);
    kernels::edge_softmax_backward(executor,
                                   lists,
                                   weights.rows(),
                                   own_weights.rows(),
                                   grads.rows(),
                                   own_grads.rows(),
                                   out.rows(),
                                   own_out.rows());
    return out;
  });
}
