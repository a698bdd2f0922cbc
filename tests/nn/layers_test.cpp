// Layers against dense matrices in double on a small random graph, values and gradients.
#include "nn/support.h"

#include <sluice/nn/gat_conv.h>
#include <sluice/nn/gcn_conv.h>
#include <sluice/nn/gin_conv.h>
#include <sluice/nn/init.h>
#include <sluice/nn/rgcn_conv.h>
#include <sluice/nn/sage_conv.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

namespace {

constexpr std::int64_t kLayerSources = 40, kLayerTargets = 15;

using Parameters = std::map<std::string, Tensor>;
using Dense = std::function<Tensor(const Tensor& x, Parameters& parameters)>;

/// The layer's output and all its gradients are the dense formula's.
template <class Layer>
void check_layer(Layer& layer,
                 const std::function<Tensor(const Tensor&)>& forward,
                 std::int64_t in,
                 const Dense& formula) {
  const Tensor x = random_tensor({kLayerSources, in}, 31).requires_grad_();
  const Tensor x64 = in_double(x);
  Parameters parameters;
  for (const auto& item : layer.named_parameters()) {
    const torch::NoGradGuard no_grad;  // biases and eps start at 0: make them matter
    item.value().add_(random_tensor(item.value().sizes(), 32), 0.1);
    parameters[item.key()] = in_double(item.value());
  }
  const Tensor out = forward(x);
  const Tensor expected = formula(x64, parameters);
  check_close(out, expected);
  const Tensor grad = random_tensor(out.sizes(), 33);
  out.backward(grad);
  expected.backward(grad.to(torch::kFloat64));
  check_close(x.grad(), x64.grad());
  for (const auto& item : layer.named_parameters()) {
    INFO(item.key());
    check_close(item.value().grad(), parameters.at(item.key()).grad());
  }
}

Tensor own_rows(const Tensor& x) {
  return x.narrow(0, 0, kLayerTargets);
}

/// Wide to narrow multiplies first, narrow to wide aggregates first.
const std::vector<std::pair<std::int64_t, std::int64_t>> kWidths{{64, 4}, {4, 64}, {7, 7}};

}  // namespace

TEST_CASE("SageConv, mean") {
  const auto call = call_over(random_block(kLayerSources, kLayerTargets, 6, 34));
  const Tensor a = dense(*call.block);
  const Tensor mean = a / a.sum(1, true).clamp_min(1);
  for (const auto& [in, out] : kWidths) {
    nn::SageConv sum({in, out}, RandomKey(1));
    const auto sum_forward = [&](const Tensor& x) { return sum.forward(call, x); };
    check_layer(sum, sum_forward, in, [&](const Tensor& x, Parameters& p) {
      return own_rows(x).mm(p["own.weight"].t()) + p["own.bias"] +
             mean.mm(x).mm(p["neighbours.weight"].t());
    });
    nn::SageConv concat({in, out, nn::Aggregator::kMean, nn::Combine::kConcat}, RandomKey(2));
    const auto concat_forward = [&](const Tensor& x) { return concat.forward(call, x); };
    check_layer(concat, concat_forward, in, [&](const Tensor& x, Parameters& p) {
      return torch::cat({own_rows(x).mm(p["own.weight"].t()) + p["own.bias"],
                         mean.mm(x).mm(p["neighbours.weight"].t()) + p["neighbours.bias"]},
                        1);
    });
  }
}

TEST_CASE("SageConv, max") {
  const auto call = call_over(random_block(kLayerSources, kLayerTargets, 6, 35));
  const Tensor a = dense(*call.block);
  nn::SageConv conv({5, 6, nn::Aggregator::kMax}, RandomKey(3));
  const auto forward = [&](const Tensor& x) { return conv.forward(call, x); };
  check_layer(conv, forward, 5, [&](const Tensor& x, Parameters& p) {
    const Tensor outside = (a == 0).unsqueeze(-1);
    Tensor best = x.unsqueeze(0).masked_fill(outside, -1e9).amax(1);
    best = best.masked_fill((a.sum(1, true) == 0), 0);
    return own_rows(x).mm(p["own.weight"].t()) + p["own.bias"] +
           best.mm(p["neighbours.weight"].t());
  });
}

TEST_CASE("GcnConv on a full neighbourhood is D^-1/2 (A + I) D^-1/2") {
  const auto call = call_over(random_block(kLayerSources, kLayerSources, 6, 36));
  const Tensor a = dense(*call.block);
  const Tensor degrees = a.sum(1).to(torch::kInt64);
  const Tensor looped = a + torch::eye(kLayerSources, torch::kFloat64);
  const Tensor root = looped.sum(1).rsqrt();
  const Tensor propagation = root.unsqueeze(1) * looped * root.unsqueeze(0);
  for (const auto& [in, out] : kWidths) {
    nn::GcnConv conv(in, out, nn::GcnNorm::kSymmetric, RandomKey(4));
    const auto forward = [&](const Tensor& x) { return conv.forward(call, x, degrees); };
    check_layer(conv, forward, in, [&](const Tensor& x, Parameters& p) {
      return propagation.mm(x).mm(p["linear.weight"].t()) + p["bias"];
    });
  }
}

TEST_CASE("GcnConv on all samples of a neighbourhood averages to the full result") {
  // Target 0 has the neighbours 1, 2, 3; the mean over all samples of two is the sum over all
  // three.
  const Tensor x = random_tensor({4, 3}, 37);
  const Tensor degrees = torch::tensor({3, 2, 0, 5}, torch::kInt64);
  nn::GcnConv conv(3, 2, nn::GcnNorm::kSymmetric, RandomKey(5));
  const auto on = [&](const std::vector<std::int32_t>& sampled) {
    return conv.forward(call_over(make_block(4, {sampled})), x, degrees);
  };
  const Tensor mean = (on({1, 2}) + on({1, 3}) + on({2, 3})) / 3;
  check_close(mean, on({1, 2, 3}).to(torch::kFloat64));
}

TEST_CASE("GcnConv, mean") {
  const auto call = call_over(random_block(kLayerSources, kLayerTargets, 6, 38));
  const Tensor a = dense(*call.block);
  const Tensor looped = a + torch::eye(kLayerTargets, kLayerSources, torch::kFloat64);
  nn::GcnConv conv(5, 6, nn::GcnNorm::kMean, RandomKey(6));
  const auto forward = [&](const Tensor& x) { return conv.forward(call, x, {}); };
  check_layer(conv, forward, 5, [&](const Tensor& x, Parameters& p) {
    return (looped / looped.sum(1, true)).mm(x).mm(p["linear.weight"].t()) + p["bias"];
  });
}

TEST_CASE("GatConv, heads side by side and averaged") {
  const auto call = call_over(random_block(kLayerSources, kLayerTargets, 6, 39));
  // Repeated edges are entries of their own: the dense softmax counts them so.
  const Tensor looped =
      dense(*call.block) + torch::eye(kLayerTargets, kLayerSources, torch::kFloat64);
  struct Case {
    nn::Heads join;
    std::int64_t in, width;
    bool multiplies_first;
  };
  for (const Case& what : {Case{nn::Heads::kConcat, 16, 4, true},
                           Case{nn::Heads::kAverage, 16, 4, true},
                           Case{nn::Heads::kConcat, 5, 40, false},
                           Case{nn::Heads::kAverage, 5, 40, false}}) {
    CHECK(
        nn::transform_first(
            {kLayerSources, kLayerTargets, call.block->num_edges(), what.in, 3 * what.width, 3}) ==
        what.multiplies_first);
    nn::GatConv conv({what.in, 3, what.width, what.join, 0.2, 0}, RandomKey(7));
    const auto forward = [&](const Tensor& x) { return conv.forward(call, x); };
    check_layer(conv, forward, what.in, [&](const Tensor& x, Parameters& p) {
      const Tensor z = x.mm(p["linear.weight"].t()).view({kLayerSources, 3, what.width});
      const Tensor source = (z * p["source_attention"]).sum(-1);
      const Tensor target = own_rows((z * p["target_attention"]).sum(-1));
      const Tensor logits = torch::leaky_relu(target.unsqueeze(1) + source.unsqueeze(0), 0.2);
      const Tensor entries = logits.exp() * looped.unsqueeze(-1);
      const Tensor weights = entries / entries.sum(1, true);
      const Tensor out = torch::einsum("tsh,shc->thc", {weights, z});
      const bool concat = what.join == nn::Heads::kConcat;
      return (concat ? out.reshape({kLayerTargets, -1}) : out.mean(1)) + p["bias"];
    });
  }
}

TEST_CASE("GatConv drops attention in training only, by the call's key") {
  auto call = call_over(random_block(kLayerSources, kLayerTargets, 6, 40));
  nn::GatConv conv({5, 3, 4, nn::Heads::kConcat, 0.2, 0.5}, RandomKey(8));
  const Tensor x = random_tensor({kLayerSources, 5}, 41);
  const Tensor first = conv.forward(call, x);
  CHECK(torch::equal(conv.forward(call, x), first));
  call.key = RandomKey(8);
  CHECK_FALSE(torch::equal(conv.forward(call, x), first));
  conv.eval();
  const Tensor evaluated = conv.forward(call, x);
  call.key = RandomKey(9);
  CHECK(torch::equal(conv.forward(call, x), evaluated));
}

TEST_CASE("GinConv scales a sample up to the sum") {
  const auto call = call_over(random_block(kLayerSources, kLayerTargets, 6, 42));
  const Tensor a = dense(*call.block);
  const Tensor degrees = torch::arange(kLayerSources) % 9;
  const Tensor scale = own_rows(degrees).to(torch::kFloat64) / a.sum(1).clamp_min(1);
  nn::GinConv conv({5, 8, 6, 0.5}, RandomKey(10));
  const auto forward = [&](const Tensor& x) { return conv.forward(call, x, degrees); };
  check_layer(conv, forward, 5, [&](const Tensor& x, Parameters& p) {
    const Tensor mixed = own_rows(x) * (1 + p["epsilon"]) + scale.unsqueeze(1) * a.mm(x);
    const Tensor hidden = torch::relu(mixed.mm(p["first.weight"].t()) + p["first.bias"]);
    return hidden.mm(p["second.weight"].t()) + p["second.bias"];
  });
}

namespace {

constexpr std::int64_t kEdgeRelations = 5;

/// Each edge's relation, drawn from some.
Tensor random_relations(const Block& block, const std::vector<std::int64_t>& some) {
  const RandomKey key(43);
  std::vector<std::int64_t> drawn;
  for (std::int64_t e = 0; e < block.num_edges(); ++e)
    drawn.push_back(some[key.below(some.size(), static_cast<std::uint64_t>(e))]);
  return torch::tensor(drawn, torch::kInt64);
}

/// What a block adds to RgcnConv's targets: relation by relation, with its matrix written out.
Tensor by_relation(const nn::RelationBlock& each, const Tensor& x, Parameters& p) {
  const EdgeEnds ends = ends_of(*each.block);
  const Tensor basis = p["bases.weight"].view({p["own.bias"].size(0), -1, x.size(1)});
  Tensor sum = torch::zeros({each.block->num_targets, basis.size(0)}, torch::kFloat64);
  for (std::int64_t r = 0; r < p["coefficients"].size(0); ++r) {
    const Tensor a =
        torch::zeros({each.block->num_targets, each.block->num_sources}, torch::kFloat64)
            .index_put_({ends.targets, ends.sources},
                        each.relations.eq(r).to(torch::kFloat64),
                        /*accumulate=*/true);
    const Tensor matrix = (basis * p["coefficients"][r].view({1, -1, 1})).sum(1);
    sum = sum + (a / a.sum(1, true).clamp_min(1)).mm(x).mm(matrix.t());
  }
  return sum;
}

}  // namespace

TEST_CASE("RgcnConv: a mean and a matrix a relation, some of them without edges") {
  std::vector<nn::RelationBlock> blocks;
  for (const std::uint64_t seed : {41u, 42u}) {
    blocks.push_back(
        {std::make_shared<const Block>(random_block(kLayerSources, kLayerTargets, 8, seed)), {}});
    // The second block knows relation 2 too, and has a mean of its own of it.
    blocks.back().relations = random_relations(
        *blocks.back().block,
        seed == 41 ? std::vector<std::int64_t>{0, 1, 2} : std::vector<std::int64_t>{2, 4});
  }
  for (const std::int64_t bases : {1, 3, 5}) {
    for (const auto& [in, out] : kWidths) {
      CAPTURE(bases);
      CAPTURE(in);
      nn::RgcnConv conv({in, out, kEdgeRelations, bases}, RandomKey(8));
      const auto forward = [&](const Tensor& x) {
        return conv.forward({}, blocks, nn::as_they_are({x}), {kLayerTargets})[0];
      };
      check_layer(conv, forward, in, [&](const Tensor& x, Parameters& p) {
        return own_rows(x).mm(p["own.weight"].t()) + p["own.bias"] + by_relation(blocks[0], x, p) +
               by_relation(blocks[1], x, p);
      });
      const Tensor grad = conv.named_parameters()["coefficients"].grad();
      CHECK(grad[3].eq(0).all().item<bool>());
      CHECK_FALSE(grad[2].eq(0).all().item<bool>());
    }
  }
}

TEST_CASE("RgcnConv: blocks between two node types, and blocks without edges") {
  const torch::NoGradGuard no_grad;
  const Tensor x = random_tensor({kLayerSources, 6}, 44), y = random_tensor({9, 6}, 45);
  Block across = random_block(9, kLayerTargets, 4, 46);
  across.source_type = 1;
  Block empty = make_block(kLayerSources, std::vector<std::vector<std::int32_t>>(4));
  empty.target_type = 1;
  std::vector<nn::RelationBlock> blocks{{std::make_shared<const Block>(across), {}},
                                        {std::make_shared<const Block>(empty), {}}};
  for (nn::RelationBlock& each : blocks) each.relations = random_relations(*each.block, {1, 3});
  nn::RgcnConv conv({6, 3, kEdgeRelations, 2}, RandomKey(9));
  Parameters p;
  for (const auto& item : conv.named_parameters()) p[item.key()] = item.value().to(torch::kFloat64);
  const auto own = [&](const Tensor& rows, std::int64_t count) {
    return rows.narrow(0, 0, count).to(torch::kFloat64).mm(p["own.weight"].t()) + p["own.bias"];
  };
  const auto out = conv.forward({}, blocks, nn::as_they_are({x, y}), {kLayerTargets, 4});
  check_close(out[0], own(x, kLayerTargets) + by_relation(blocks[0], y.to(torch::kFloat64), p));
  check_close(out[1], own(y, 4));
  // A type that the mini-batch has no node of.
  const auto alone =
      conv.forward({}, {blocks[0]}, nn::as_they_are({x, Tensor()}), {kLayerTargets, 0});
  check_close(alone[0], own(x, kLayerTargets));
  CHECK_FALSE(alone[1].defined());
}

TEST_CASE("RgcnConv of one relation is SageConv by means") {
  const torch::NoGradGuard no_grad;
  const auto call = call_over(random_block(kLayerSources, kLayerTargets, 6, 47));
  nn::RgcnConv conv({7, 5, 1, 1}, RandomKey(10));
  nn::SageConv sage({7, 5}, RandomKey(11));
  auto given = conv.named_parameters(), taken = sage.named_parameters();
  taken["own.weight"].copy_(given["own.weight"]);
  taken["own.bias"].copy_(given["own.bias"]);
  taken["neighbours.weight"].copy_(given["bases.weight"] * given["coefficients"].item<float>());
  const Tensor x = random_tensor({kLayerSources, 7}, 48);
  const Tensor none = torch::zeros({call.block->num_edges()}, torch::kInt64);
  check_close(conv.forward({}, {{call.block, none}}, nn::as_they_are({x}), {kLayerTargets})[0],
              sage.forward(call, x).to(torch::kFloat64));
}

TEST_CASE("initial parameters are a function of the key, with the variance they promise") {
  const Tensor weight = nn::glorot(RandomKey(1), {200, 300}, 300, 200);
  CHECK(torch::equal(weight, nn::glorot(RandomKey(1), {200, 300}, 300, 200)));
  CHECK_FALSE(torch::equal(weight, nn::glorot(RandomKey(2), {200, 300}, 300, 200)));
  CHECK(weight.var().item<double>() == doctest::Approx(2.0 / 500).epsilon(0.02));
  CHECK(std::abs(weight.mean().item<double>()) < 0.001);
  CHECK(nn::kaiming(RandomKey(3), {200, 300}, 300).var().item<double>() ==
        doctest::Approx(2.0 / 300).epsilon(0.02));
}

TEST_CASE("products of bf16 are near those of f32, and so are their gradients") {
  // Many sources and a wide input multiply first, and sum rows of bf16 then.
  struct Case {
    std::int64_t in, out;
  };
  const auto call = call_over(random_block(40, 12, 8, 31));
  const Tensor degrees = torch::arange(40) % 9 + 1;
  const auto check = [&](torch::nn::Module& layer,
                         const Case& size,
                         const std::function<Tensor(const Tensor&)>& forward) {
    const Tensor grad = random_tensor({12, size.out}, 33);
    const auto run = [&](nn::Precision precision) {
      nn::set_precision(layer, precision);
      layer.zero_grad();
      const Tensor x = random_tensor({40, size.in}, 32).requires_grad_();
      const Tensor out = forward(x);
      CHECK((out.scalar_type() == torch::kFloat32));
      out.backward(grad);
      std::vector<Tensor> all{out.detach(), x.grad()};
      for (const Tensor& weight : layer.parameters()) all.push_back(weight.grad().clone());
      return all;
    };
    const auto exact = run(nn::Precision::kFloat32), rounded = run(nn::Precision::kBFloat16);
    REQUIRE(exact.size() == rounded.size());
    for (std::size_t i = 0; i < exact.size(); ++i) {
      CAPTURE(i);
      CHECK((rounded[i].scalar_type() == torch::kFloat32));
      const double error = (rounded[i] - exact[i]).norm().item<double>();
      CHECK(error < 0.01 * exact[i].norm().item<double>());
    }
    CHECK_FALSE(torch::equal(exact[0], rounded[0]));
  };
  for (const Case& size : {Case{32, 24}, Case{300, 4}}) {
    CAPTURE(size.in);
    const auto sage =
        std::make_shared<nn::SageConv>(nn::SageConvOptions{size.in, size.out}, RandomKey(1));
    check(*sage, size, [&](const Tensor& x) { return sage->forward(call, x); });
    const auto gcn =
        std::make_shared<nn::GcnConv>(size.in, size.out, nn::GcnNorm::kSymmetric, RandomKey(2));
    check(*gcn, size, [&](const Tensor& x) { return gcn->forward(call, x, degrees); });
    CHECK(nn::transform_first({40, 12, call.block->num_edges(), size.in, size.out, 2}) ==
          (size.in > 32));
    const auto gat = std::make_shared<nn::GatConv>(
        nn::GatConvOptions{size.in, 2, size.out / 2, nn::Heads::kConcat, 0.2, 0}, RandomKey(3));
    check(*gat, size, [&](const Tensor& x) { return gat->forward(call, x); });
    const auto rgcn =
        std::make_shared<nn::RgcnConv>(nn::RgcnConvOptions{size.in, size.out, 3, 2}, RandomKey(4));
    const Tensor relations = random_relations(*call.block, {0, 1, 2});
    check(*rgcn, size, [&](const Tensor& x) {
      return rgcn->forward({}, {{call.block, relations}}, nn::as_they_are({x}), {12})[0];
    });
  }
}
