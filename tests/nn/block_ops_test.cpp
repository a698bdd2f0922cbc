// Block operations against LibTorch's own gathers and scatters in double, values and gradients.
#include "core/threads.h"
#include "nn/support.h"

#include <sluice/nn/block_ops.h>

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

namespace {

constexpr std::int64_t kSources = 50, kTargets = 20, kHeads = 3, kWidth = 4;

Tensor scatter_sum(const Tensor& edge_values, const EdgeEnds& ends) {
  auto shape = edge_values.sizes().vec();
  shape[0] = kTargets;
  return torch::zeros(shape, edge_values.options()).index_add(0, ends.targets, edge_values);
}

/// Pulls both results back by one random gradient.
void pull_back(const Tensor& got, const Tensor& expected, std::uint64_t seed) {
  check_close(got, expected);
  const Tensor grad = random_tensor(got.sizes(), seed);
  got.backward(grad, /*retain_graph=*/true);
  expected.backward(grad.to(torch::kFloat64), /*retain_graph=*/true);
}

}  // namespace

TEST_CASE("sum_neighbours") {
  const auto call = call_over(random_block(kSources, kTargets, 8, 1));
  const EdgeEnds ends = ends_of(*call.block);
  const Tensor x = random_tensor({kSources, 5}, 2).requires_grad_();
  const Tensor source_scale = random_tensor({kSources}, 3);
  const Tensor target_scale = random_tensor({kTargets}, 4);
  const Tensor own_scale = random_tensor({kTargets}, 22);
  const Tensor reference = in_double(x);
  const Tensor scaled = reference * source_scale.to(torch::kFloat64).unsqueeze(1);
  const Tensor sums = scatter_sum(scaled.index_select(0, ends.sources), ends) *
                      target_scale.to(torch::kFloat64).unsqueeze(1);
  pull_back(nn::sum_neighbours(call, x, source_scale, target_scale), sums, 5);
  pull_back(nn::sum_neighbours(call, x, source_scale, target_scale, own_scale),
            sums + own_scale.to(torch::kFloat64).unsqueeze(1) * reference.narrow(0, 0, kTargets),
            6);
  check_close(x.grad(), reference.grad());
}

TEST_CASE("rows of bf16 are summed in f32, and get gradients of bf16") {
  const auto call = call_over(random_block(kSources, kTargets, 8, 30));
  const Tensor scale = random_tensor({kTargets}, 31);
  const Tensor weights = random_tensor({call.block->num_edges(), 1}, 32);
  const Tensor own = random_tensor({kTargets, 1}, 33);
  const Tensor half = random_tensor({kSources, 5}, 34).to(torch::kBFloat16).requires_grad_();
  const Tensor whole = half.detach().to(torch::kFloat32).requires_grad_();
  const auto check = [&](const auto& operation) {
    half.mutable_grad() = Tensor();
    whole.mutable_grad() = Tensor();
    const Tensor got = operation(half), expected = operation(whole);
    CHECK((got.scalar_type() == torch::kFloat32));
    CHECK(torch::equal(got, expected));
    got.sum().backward();
    expected.sum().backward();
    CHECK(torch::equal(half.grad(), whole.grad().to(torch::kBFloat16)));
  };
  check([&](const Tensor& x) { return nn::sum_neighbours(call, x, {}, scale); });
  check([&](const Tensor& x) { return nn::max_neighbours(call, x); });
  check([&](const Tensor& x) {
    return nn::weigh_neighbours(call, nn::Columns::kOfHeads, weights, own, x);
  });
}

TEST_CASE("sum_and_transform") {
  const auto call = call_over(random_block(kSources, kTargets, 8, 23));
  const EdgeEnds ends = ends_of(*call.block);
  const Tensor x = random_tensor({kSources, 5}, 24).requires_grad_();
  const Tensor scale = random_tensor({kTargets}, 25);
  const Tensor own = random_tensor({3, 5}, 26).requires_grad_();
  const Tensor bias = random_tensor({3}, 27).requires_grad_();
  const Tensor neighbour = random_tensor({3, 5}, 28).requires_grad_();
  const Tensor x64 = in_double(x), own64 = in_double(own), bias64 = in_double(bias);
  const Tensor neighbour64 = in_double(neighbour);
  const Tensor sums =
      scatter_sum(x64.index_select(0, ends.sources), ends) * scale.to(torch::kFloat64).unsqueeze(1);
  pull_back(nn::sum_and_transform(call, nn::Precision::kFloat32, x, scale, own, bias, neighbour),
            torch::linear(x64.narrow(0, 0, kTargets), own64, bias64) + sums.mm(neighbour64.t()),
            29);
  check_close(x.grad(), x64.grad());
  check_close(own.grad(), own64.grad());
  check_close(bias.grad(), bias64.grad());
  check_close(neighbour.grad(), neighbour64.grad());
  const Tensor rows = x.detach();
  const Tensor out =
      nn::sum_and_transform(call, nn::Precision::kFloat32, rows, scale, own, bias, neighbour);
  out.sum().backward();
  CHECK_FALSE(rows.grad().defined());
}

TEST_CASE("max_neighbours") {
  const auto call = call_over(random_block(kSources, kTargets, 8, 6));
  const EdgeEnds ends = ends_of(*call.block);
  const Tensor x = random_tensor({kSources, 5}, 7).requires_grad_();
  const Tensor reference = in_double(x);
  pull_back(nn::max_neighbours(call, x),
            torch::zeros({kTargets, 5}, torch::kFloat64)
                .scatter_reduce(0,
                                ends.targets.unsqueeze(1).expand({-1, 5}),
                                reference.index_select(0, ends.sources),
                                "amax",
                                /*include_self=*/false),
            8);
  // A source drawn twice by one target ties with itself: the reference halves, the sum is the same.
  check_close(x.grad(), reference.grad());
}

TEST_CASE("weigh_neighbours, add_ends and edge_softmax") {
  const auto call = call_over(random_block(kSources, kTargets, 8, 9));
  const EdgeEnds ends = ends_of(*call.block);
  const Tensor x = random_tensor({kSources, kHeads * kWidth}, 10).requires_grad_();
  const Tensor from_target = random_tensor({kTargets, kHeads}, 11).requires_grad_();
  const Tensor from_source = random_tensor({kSources, kHeads}, 12).requires_grad_();
  const Tensor own_logits = random_tensor({kTargets, kHeads}, 13).requires_grad_();
  const Tensor x64 = in_double(x), target64 = in_double(from_target);
  const Tensor source64 = in_double(from_source), own64 = in_double(own_logits);

  const auto [weights, own_weights] =
      nn::edge_softmax(call, nn::add_ends(call, from_target, from_source), own_logits);
  const Tensor shared = random_tensor({kSources, kWidth}, 22).requires_grad_();
  const Tensor shared64 = in_double(shared);
  const Tensor out = nn::weigh_neighbours(call, nn::Columns::kOfHeads, weights, own_weights, x) +
                     nn::weigh_neighbours(call, nn::Columns::kShared, weights, own_weights, shared);

  const Tensor exponent =
      (target64.index_select(0, ends.targets) + source64.index_select(0, ends.sources)).exp();
  const Tensor sums = scatter_sum(exponent, ends) + own64.exp();
  const Tensor weights64 = exponent / sums.index_select(0, ends.targets);
  const Tensor by_heads64 = x64.view({kSources, kHeads, kWidth}) + shared64.unsqueeze(1);
  const Tensor rows = by_heads64.index_select(0, ends.sources);
  const Tensor own_weights64 = own64.exp() / sums;
  const Tensor own_rows = by_heads64.narrow(0, 0, kTargets);
  const Tensor out64 =
      (scatter_sum(weights64.unsqueeze(-1) * rows, ends) + own_weights64.unsqueeze(-1) * own_rows)
          .view({kTargets, kHeads * kWidth});

  pull_back(own_weights, own_weights64, 14);
  pull_back(out, out64, 15);
  check_close(x.grad(), x64.grad());
  check_close(shared.grad(), shared64.grad());
  check_close(from_target.grad(), target64.grad());
  check_close(from_source.grad(), source64.grad());
  check_close(own_logits.grad(), own64.grad());
}

TEST_CASE("a block without edges gives zeros and zero gradients") {
  const auto call = call_over(make_block(3, {{}, {}}));
  const Tensor x = random_tensor({3, 4}, 16).requires_grad_();
  const Tensor own = random_tensor({2, 1}, 17).requires_grad_();
  const auto [weights, own_weights] = nn::edge_softmax(call, torch::empty({0, 1}), own);
  const Tensor out =
      nn::sum_neighbours(call, x, {}, {}) +
      nn::weigh_neighbours(call, nn::Columns::kOfHeads, weights, torch::zeros({2, 1}), x) +
      nn::max_neighbours(call, x);
  (out.sum() + own_weights.sum()).backward();
  CHECK(out.eq(0).all().item<bool>());
  CHECK(own_weights.eq(1).all().item<bool>());
  CHECK(x.grad().eq(0).all().item<bool>());
}

TEST_CASE("no gradient is computed for an input that needs none") {
  const auto call = call_over(random_block(kSources, kTargets, 8, 18));
  const Tensor weights = random_tensor({call.block->num_edges(), kHeads}, 19).requires_grad_();
  const Tensor x = random_tensor({kSources, kHeads * kWidth}, 20);
  CHECK_FALSE(nn::sum_neighbours(call, x, {}, {}).requires_grad());
  const Tensor own = random_tensor({kTargets, kHeads}, 21);
  nn::weigh_neighbours(call, nn::Columns::kOfHeads, weights, own, x).sum().backward();
  CHECK(weights.grad().defined());
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("dropout's gradient meets the same mask") {
  ThreadArena arena(2);
  const Tensor x = torch::ones({1001}).requires_grad_();
  const Tensor out = nn::dropout({&arena}, RandomKey(1), 0.25, x);
  out.backward(torch::ones({1001}));
  CHECK(torch::equal(x.grad(), out.detach()));
  CHECK(nn::dropout({}, RandomKey(1), 0, x).is_same(x));
}

TEST_CASE("gradients outlive the batch that they come from") {
  const Tensor x = random_tensor({kSources, 5}, 21).requires_grad_();
  Tensor out;
  {
    const auto call = call_over(random_block(kSources, kTargets, 8, 22));
    out = nn::sum_neighbours(call, x, {}, {});
  }
  out.sum().backward();
  const auto again = call_over(random_block(kSources, kTargets, 8, 22));
  check_close(x.grad(), dense(*again.block).sum(0).unsqueeze(1).expand({-1, 5}));
}

TEST_CASE("rows that do not fit the block are a bug with a message") {
  const auto call = call_over(random_block(kSources, kTargets, 8, 23));
  CHECK_THROWS_WITH_AS(nn::sum_neighbours(call, torch::zeros({kTargets, 5}), {}, {}),
                       "a block operation wants f32 [50, .] for its sources and got Float of 20 "
                       "rows",
                       Error);
}
