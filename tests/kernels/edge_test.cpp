#include "kernels/support.h"

#include "kernels/edge_pairs.h"
#include "kernels/edge_softmax.h"
#include "support/sanitized.h"

#include <cmath>
#include <limits>

using namespace sluice;
using namespace sluice::testing;
using kernels::Executor;

namespace {
constexpr std::int64_t kEdgeSources = test::sanitized(3000, 500),
                       kEdgeTargets = test::sanitized(900, 150);
constexpr std::int64_t kHeads = 3;
}  // namespace

TEST_CASE("edge_add and edge_dot pair the rows at an edge's ends") {
  constexpr std::int64_t kHeadWidth = 21;
  const Block block = random_block(kEdgeSources, kEdgeTargets, 40, 1);
  const auto lists = forward_lists(block);
  Matrix from_target(kEdgeTargets, kHeads, 2), from_source(kEdgeSources, kHeads, 3);
  Matrix target_rows(kEdgeTargets, kHeads * kHeadWidth, 4);
  Matrix source_rows(kEdgeSources, kHeads * kHeadWidth, 5),
      shared_rows(kEdgeSources, kHeadWidth, 6);
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
  const Matrix shared_dots = same_bits_on_all_threads([&](const Executor& executor) {
    Matrix out(block.num_edges(), kHeads);
    kernels::edge_dot(executor, lists, target_rows.rows(), shared_rows.rows(), out.rows());
    return out;
  });
  for (std::int64_t t = 0; t < kEdgeTargets; ++t) {
    for (std::int64_t e = lists.offsets[t]; e < lists.offsets[t + 1]; ++e) {
      const std::int32_t s = lists.items[e];
      for (std::int64_t h = 0; h < kHeads; ++h) {
        CHECK(sums.at(e, h) == from_target.at(t, h) + from_source.at(s, h));
        double dot = 0, shared = 0;
        for (std::int64_t c = 0; c < kHeadWidth; ++c) {
          const double of_target = target_rows.at(t, h * kHeadWidth + c);
          dot += of_target * source_rows.at(s, h * kHeadWidth + c);
          shared += of_target * shared_rows.at(s, c);
        }
        check_near(dots.at(e, h), dot);
        check_near(shared_dots.at(e, h), shared);
      }
    }
  }
}

// Head counts of all walks: sixteen values at a time of several rows, whole columns, and what is
// left of one.
constexpr std::int64_t kHeadCounts[] = {1, 2, 3, 4, 8, 16, 20, 33};

TEST_CASE("edge_softmax sums to one over a target's edges and its own row") {
  const Block block = random_block(kEdgeSources, kEdgeTargets, 40, 6);
  const auto lists = forward_lists(block);
  for (const std::int64_t heads : kHeadCounts) {
    CAPTURE(heads);
    Matrix logits(block.num_edges(), heads, 7), own(kEdgeTargets, heads, 8);
    Matrix own_weights(kEdgeTargets, heads);
    for (float& logit : logits.values) logit *= 300;  // overflows without the maximum taken off
    const Matrix weights = same_bits_on_all_threads([&](const Executor& executor) {
      Matrix out(block.num_edges(), heads);
      kernels::edge_softmax(
          executor, lists, logits.rows(), own.rows(), out.rows(), own_weights.rows());
      return out;
    });
    for (std::int64_t t = 0; t < kEdgeTargets; ++t) {
      for (std::int64_t h = 0; h < heads; ++h) {
        double sum = std::exp(static_cast<double>(own.at(t, h)));
        for (std::int64_t e = lists.offsets[t]; e < lists.offsets[t + 1]; ++e)
          sum += std::exp(static_cast<double>(logits.at(e, h)));
        check_near(own_weights.at(t, h), std::exp(static_cast<double>(own.at(t, h))) / sum);
        for (std::int64_t e = lists.offsets[t]; e < lists.offsets[t + 1]; ++e)
          check_near(weights.at(e, h), std::exp(static_cast<double>(logits.at(e, h))) / sum);
      }
    }
  }
}

TEST_CASE("edge_softmax of extreme logits: far ones weigh nothing, equal ones the same") {
  const Block block = make_block(3, {{0, 1, 2}, {0, 1}});
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Matrix logits(5, 1), own(2, 1), weights(5, 1), own_weights(2, 1);
  logits.values = {-kInfinity, 1e30f, -1e30f, -3e38f, -3e38f};
  own.values = {-kInfinity, -3e38f};
  kernels::edge_softmax(
      {}, forward_lists(block), logits.rows(), own.rows(), weights.rows(), own_weights.rows());
  CHECK(weights.values == std::vector<float>{0, 1, 0, 1.0f / 3, 1.0f / 3});
  CHECK(own_weights.values == std::vector<float>{0, 1.0f / 3});
}

TEST_CASE("edge_softmax_backward is the derivative by definition, the same bits anywhere") {
  const Block block = random_block(kEdgeSources, kEdgeTargets, 40, 9);
  const auto lists = forward_lists(block);
  for (const std::int64_t heads : kHeadCounts) {
    CAPTURE(heads);
    Matrix weights(block.num_edges(), heads, 10), own_weights(kEdgeTargets, heads, 11);
    Matrix grads(block.num_edges(), heads, 12), own_grads(kEdgeTargets, heads, 13);
    Matrix own_out(kEdgeTargets, heads);
    const Matrix out = same_bits_on_all_threads([&](const Executor& executor) {
      Matrix grad_logits(block.num_edges(), heads);
      kernels::edge_softmax_backward(executor,
                                     lists,
                                     weights.rows(),
                                     own_weights.rows(),
                                     grads.rows(),
                                     own_grads.rows(),
                                     grad_logits.rows(),
                                     own_out.rows());
      return grad_logits;
    });
    for (std::int64_t t = 0; t < kEdgeTargets; ++t) {
      for (std::int64_t h = 0; h < heads; ++h) {
        double mean = static_cast<double>(own_weights.at(t, h)) * own_grads.at(t, h);
        double size = std::abs(mean);
        for (std::int64_t e = lists.offsets[t]; e < lists.offsets[t + 1]; ++e) {
          const double part = static_cast<double>(weights.at(e, h)) * grads.at(e, h);
          mean += part;
          size += std::abs(part);
        }
        const double tolerance = 1e-5 * (1 + size);
        CHECK(std::abs(own_out.at(t, h) - own_weights.at(t, h) * (own_grads.at(t, h) - mean)) <
              tolerance);
        for (std::int64_t e = lists.offsets[t]; e < lists.offsets[t + 1]; ++e)
          CHECK(std::abs(out.at(e, h) - weights.at(e, h) * (grads.at(e, h) - mean)) < tolerance);
      }
    }
  }
}
