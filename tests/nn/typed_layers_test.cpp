// Layers over several node types against sums over edges written out in double, values and
// gradients.
#include "nn/typed_support.h"

#include <sluice/nn/block_ops.h>
#include <sluice/nn/hetero_sage_conv.h>
#include <sluice/nn/hgt_conv.h>
#include <sluice/nn/simple_hgn_conv.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

namespace {

using Weights = std::map<std::string, Tensor>;
using ByType = std::vector<Tensor>;

/// Outputs and all gradients of a layer over both types are the formula's.
void check_typed(torch::nn::Module& layer,
                 std::int64_t in,
                 const std::function<ByType(const ByType&)>& forward,
                 const std::function<ByType(const ByType&, Weights&)>& formula) {
  const ByType x{random_tensor({12, in}, 51).requires_grad_(),
                 random_tensor({9, in}, 52).requires_grad_()};
  const ByType x64{in_double(x[0]), in_double(x[1])};
  Weights weights;
  for (const auto& item : layer.named_parameters()) {
    const torch::NoGradGuard no_grad;  // biases start at 0: make them matter
    item.value().add_(random_tensor(item.value().sizes(), 53), 0.1);
    weights[item.key()] = in_double(item.value());
  }
  const ByType out = forward(x), expected = formula(x64, weights);
  REQUIRE(out.size() == 2);
  for (std::size_t type = 0; type < 2; ++type) {
    CAPTURE(type);
    check_close(out[type], expected[type]);
    const Tensor grad = random_tensor(out[type].sizes(), 54 + type);
    out[type].backward(grad, /*retain_graph=*/true);
    expected[type].backward(grad.to(torch::kFloat64), /*retain_graph=*/true);
  }
  for (std::size_t type = 0; type < 2; ++type) check_close(x[type].grad(), x64[type].grad());
  for (const auto& item : layer.named_parameters()) {
    INFO(item.key());
    check_close(item.value().grad(), weights.at(item.key()).grad());
  }
}

Tensor through(const Tensor& x, Weights& w, const std::string& name) {
  const Tensor product = x.mm(w.at(name + ".weight").t());
  return w.contains(name + ".bias") ? product + w.at(name + ".bias") : product;
}

constexpr std::int64_t kTargetsOf[] = {5, 4};

}  // namespace

TEST_CASE("dot_ends: products of both ends' rows by heads, with their gradients") {
  const auto call = call_over(random_block(30, 12, 6, 61));
  const EdgeEnds ends = ends_of(*call.block);
  const Tensor q = random_tensor({12, 6}, 62).requires_grad_();
  const Tensor k = random_tensor({30, 6}, 63).requires_grad_();
  const Tensor q64 = in_double(q), k64 = in_double(k);
  const Tensor got = nn::dot_ends(call, 3, q, k);
  const Tensor expected = (q64.index_select(0, ends.targets).view({-1, 3, 2}) *
                           k64.index_select(0, ends.sources).view({-1, 3, 2}))
                              .sum(-1);
  check_close(got, expected);
  const Tensor grad = random_tensor(got.sizes(), 64);
  got.backward(grad);
  expected.backward(grad.to(torch::kFloat64));
  check_close(q.grad(), q64.grad());
  check_close(k.grad(), k64.grad());
}

TEST_CASE("edge_softmax over edges alone, of targets with none too") {
  const auto call = call_over(random_block(30, 12, 6, 65));
  const EdgeEnds ends = ends_of(*call.block);
  const Tensor logits = random_tensor({call.block->num_edges(), 2}, 66).requires_grad_();
  const Tensor reference = in_double(logits);
  const Tensor got = nn::edge_softmax(call, logits);
  const Tensor expected = plain_softmax(reference, ends.targets, 12).first;
  check_close(got, expected);
  const Tensor grad = random_tensor(got.sizes(), 67);
  got.backward(grad);
  expected.backward(grad.to(torch::kFloat64));
  check_close(logits.grad(), reference.grad());
}

TEST_CASE("HgtConv: one softmax over a target's edges of all relations") {
  constexpr std::int64_t kRowWidth = 6, kTwoHeads = 2, kHeadWidth = 3;
  const Batch batch = typed_layer(71);
  const nn::UnionBlock all(batch, 0, both_types());
  nn::HgtConv conv({kRowWidth, kTwoHeads, {0, 1}, typed_layer_relations(), 2, 3, 0}, RandomKey(1));
  const auto heads = [](const Tensor& rows) { return rows.view({-1, kTwoHeads, kHeadWidth}); };
  const auto matrix = [](Weights& w, const std::string& name) {
    return w.at(name).view({kTwoHeads, kHeadWidth, kHeadWidth});
  };
  const auto formula = [&](const ByType& x, Weights& w) {
    ByType out(2);
    for (std::size_t type = 0; type < 2; ++type) {
      const std::string number = std::to_string(type);
      const Tensor own = x[type].narrow(0, 0, kTargetsOf[type]);
      const Tensor query = heads(through(own, w, "query" + number));
      std::vector<Tensor> logits, messages, targets;
      for (const Block& block : batch.layers[0]) {
        if (block.target_type != type) continue;
        const std::string source = std::to_string(block.source_type);
        const std::string relation = std::to_string(block.relation);
        const Tensor& rows = x[block.source_type];
        const EdgeEnds ends = ends_of(block);
        const Tensor key = heads(through(rows, w, "key" + source)).index_select(0, ends.sources);
        const Tensor value =
            heads(through(rows, w, "value" + source)).index_select(0, ends.sources);
        const Tensor asked = query.index_select(0, ends.targets);
        logits.push_back(
            torch::einsum("ehi,hoi,eho->eh", {asked, matrix(w, "attention" + relation), key}) *
            w.at("prior" + relation) / std::sqrt(static_cast<double>(kHeadWidth)));
        messages.push_back(torch::einsum("ehi,hoi->eho", {value, matrix(w, "message" + relation)}));
        targets.push_back(ends.targets);
      }
      const Tensor to = torch::cat(targets);
      const Tensor weights = plain_softmax(torch::cat(logits), to, kTargetsOf[type]).first;
      const Tensor sum =
          sum_by_target(torch::cat(messages) * weights.unsqueeze(-1), to, kTargetsOf[type]);
      const Tensor made =
          through(torch::gelu(sum.reshape({kTargetsOf[type], kRowWidth})), w, "out" + number);
      const Tensor share = torch::sigmoid(w.at("skip" + number));
      out[type] = torch::layer_norm(share * made + (1 - share) * own,
                                    {kRowWidth},
                                    w.at("norm" + number + ".weight"),
                                    w.at("norm" + number + ".bias"));
    }
    return out;
  };
  check_typed(
      conv, kRowWidth, [&](const ByType& x) { return conv.forward(all, {}, x); }, formula);
}

TEST_CASE("HgtConv of a layer without edges gives what a node has by itself") {
  Batch batch = batch_of_types({12, 5}, {9, 4});
  batch.layers[0] = {typed_block(0, 1, 0, make_block(9, SourceLists(5))),
                     typed_block(1, 0, 1, make_block(12, SourceLists(4)))};
  nn::HgtConv conv({4, 2, {0, 1}, {{0, 1, 0}, {1, 0, 1}}, 2, 2, 0}, RandomKey(2));
  const auto out = conv.forward(nn::UnionBlock(batch, 0, both_types()),
                                {},
                                {random_tensor({12, 4}, 1), random_tensor({9, 4}, 2)});
  CHECK(out[0].sizes() == torch::IntArrayRef({5, 4}));
  CHECK(out[1].sizes() == torch::IntArrayRef({4, 4}));
  CHECK(out[0].isfinite().all().item<bool>());
}

TEST_CASE("SimpleHgnConv: attention that knows relations, over all nodes and their own rows") {
  constexpr std::int64_t kIn = 5, kTwoHeads = 2, kHeadWidth = 3;
  const Batch batch = typed_layer(81);
  const nn::UnionBlock all(batch, 0, both_types());
  const Block& block = *all.block();
  const EdgeEnds ends = ends_of(block);
  for (const nn::Heads join : {nn::Heads::kConcat, nn::Heads::kAverage}) {
    nn::SimpleHgnConvOptions options;
    options.in = kIn;
    options.heads = kTwoHeads;
    options.head_width = kHeadWidth;
    options.join = join;
    options.relations = 3;
    options.relation_width = 4;
    options.residual = true;
    nn::SimpleHgnConv conv(options, RandomKey(3));
    const auto formula = [&](const ByType& by_type, Weights& w) {
      const Tensor x = all.join(by_type);
      const Tensor z = x.mm(w.at("linear.weight").t()).view({-1, kTwoHeads, kHeadWidth});
      const Tensor from_source = (z * w.at("source_attention")).sum(-1);
      const Tensor from_target = (z * w.at("target_attention")).sum(-1);
      const Tensor of_relation = (w.at("relations")
                                      .mm(w.at("relation_linear.weight").t())
                                      .view({-1, kTwoHeads, kHeadWidth}) *
                                  w.at("relation_attention"))
                                     .sum(-1);
      const auto logits = [](const Tensor& sum) { return torch::leaky_relu(sum, 0.05); };
      const auto [weights, own] =
          plain_softmax(logits(from_source.index_select(0, ends.sources) +
                               from_target.index_select(0, ends.targets) +
                               of_relation.index_select(0, all.relations())),
                        ends.targets,
                        9,
                        logits((from_source + from_target).narrow(0, 0, 9) + of_relation[3]));
      Tensor sum =
          sum_by_target(z.index_select(0, ends.sources) * weights.unsqueeze(-1), ends.targets, 9);
      sum = sum + z.narrow(0, 0, 9) * own.unsqueeze(-1);
      sum =
          sum + x.narrow(0, 0, 9).mm(w.at("residual.weight").t()).view({9, kTwoHeads, kHeadWidth});
      const bool concat = join == nn::Heads::kConcat;
      return all.split((concat ? sum.reshape({9, -1}) : sum.mean(1)) + w.at("bias"));
    };
    check_typed(
        conv,
        kIn,
        [&](const ByType& x) { return all.split(conv.forward(all, {}, all.join(x))); },
        formula);
  }
}

TEST_CASE("SimpleHgnConv keeps a share of the layer before's weights of the same edges") {
  // Of the second layer's edges the first has all but that of relation 0 from row 2 to row 1.
  Batch batch = batch_of_types({6, 4, 2}, {5, 3, 1});
  batch.layers[0] = {typed_block(0, 1, 0, make_block(5, SourceLists{{2, 0}, {1}, {4}, {}})),
                     typed_block(1, 0, 1, make_block(6, SourceLists{{3, 0, 0}, {5}, {1}}))};
  batch.layers[1] = {typed_block(0, 1, 0, make_block(3, SourceLists{{0, 2}, {1, 2}})),
                     typed_block(1, 0, 1, make_block(4, SourceLists{{0, 3, 0}}))};
  nn::SimpleHgnConvOptions options;
  options.in = 4;
  options.heads = 2;
  options.head_width = 2;
  options.relations = 2;
  options.relation_width = 3;
  options.kept_attention = 0.25;
  nn::SimpleHgnConv first(options, RandomKey(4)), second(options, RandomKey(5));
  const nn::UnionBlock below(batch, 0, both_types()), above(batch, 1, both_types());
  const torch::NoGradGuard no_grad;
  const Tensor x = below.join({random_tensor({6, 4}, 1), random_tensor({5, 4}, 2)});
  nn::LayerAttention before, alone, mixed;
  const Tensor rows = above.join(below.split(first.forward(below, {}, x, nullptr, &before)));
  (void)second.forward(above, {}, rows, nullptr, &alone);
  const Tensor out = second.forward(above, {}, rows, &before, &mixed);
  CHECK_FALSE(torch::allclose(out, second.forward(above, {}, rows)));
  REQUIRE(mixed.keys.size(0) == 7);
  REQUIRE(torch::equal(mixed.keys, alone.keys));
  std::int64_t unknown = 0;
  for (std::int64_t e = 0; e < 7; ++e) {
    const Tensor there = before.keys.eq(mixed.keys[e]).nonzero();
    unknown += there.size(0) == 0 ? 1 : 0;
    const Tensor expected =
        there.size(0) == 0
            ? alone.edges[e]
            : 0.75 * alone.edges[e] + 0.25 * before.edges[there[0].item<std::int64_t>()];
    CHECK(torch::allclose(mixed.edges[e], expected));
  }
  CHECK(unknown == 1);
  for (std::size_t type = 0; type < 2; ++type) {
    const std::int64_t count = above.num_targets(type);
    CHECK(torch::allclose(mixed.own[type],
                          0.75 * alone.own[type] + 0.25 * before.own[type].narrow(0, 0, count)));
  }
}

TEST_CASE("HeteroSageConv: an own matrix a type and a matrix a relation, summed or side by side") {
  const Batch batch = typed_layer(91);
  std::vector<nn::BlockRef> blocks;
  for (const Block& block : batch.layers[0]) blocks.push_back(std::make_shared<const Block>(block));
  struct Case {
    std::int64_t in, out;
    nn::Combine combine;
  };
  // Wide to narrow multiplies first, narrow to wide aggregates first.
  for (const Case& what : {Case{64, 4, nn::Combine::kSum},
                           Case{4, 64, nn::Combine::kSum},
                           Case{64, 5, nn::Combine::kConcat},
                           Case{4, 32, nn::Combine::kConcat}}) {
    CAPTURE(what.in);
    nn::HeteroSageConv conv({{what.in, what.out, nn::Aggregator::kMean, what.combine},
                             {0, 1},
                             typed_layer_relations(),
                             2,
                             3},
                            RandomKey(6));
    const auto formula = [&](const ByType& x, Weights& w) {
      ByType out(2);
      for (std::size_t type = 0; type < 2; ++type) {
        const Tensor own =
            through(x[type].narrow(0, 0, kTargetsOf[type]), w, "own" + std::to_string(type));
        Tensor sum;
        for (const Block& block : batch.layers[0]) {
          if (block.target_type != type) continue;
          const Tensor a = dense(block);
          const Tensor mean = (a / a.sum(1, true).clamp_min(1)).mm(x[block.source_type]);
          const Tensor part = through(mean, w, "neighbours" + std::to_string(block.relation));
          sum = sum.defined() ? sum + part : part;
        }
        out[type] = what.combine == nn::Combine::kConcat ? torch::cat({own, sum}, 1) : own + sum;
      }
      return out;
    };
    check_typed(
        conv,
        what.in,
        [&](const ByType& x) {
          return conv.forward({}, blocks, nn::as_they_are(x), {5, 4});
        },
        formula);
  }
}

TEST_CASE("HeteroSageConv: a relation's bias does not depend on other rows of the mini-batch") {
  nn::HeteroSageConv conv(
      {{4, 6, nn::Aggregator::kMean, nn::Combine::kConcat}, {0}, {{0, 1, 0}}, 2, 1}, RandomKey(7));
  const torch::NoGradGuard no_grad;
  for (Tensor& parameter : conv.parameters())
    parameter.add_(random_tensor(parameter.sizes(), 92), 0.1);
  const Tensor own = random_tensor({3, 4}, 93), sources = random_tensor({2, 4}, 94);
  const auto rows_of = [&](std::int64_t num_sources, const ByType& x) {
    const auto block = std::make_shared<const Block>(
        typed_block(0, 1, 0, make_block(num_sources, SourceLists(3))));
    return conv.forward({}, {block}, nn::as_they_are(x), {3, 0})[0];
  };
  const Tensor with = rows_of(2, {own, sources});
  CHECK(with.narrow(1, 3, 3).abs().min().item<float>() > 0);  // the bias alone: there are no edges
  CHECK(torch::equal(with, rows_of(0, {own, Tensor()})));
  // It comes once: with the targets' own rows, not with the sources'.
  CHECK(rows_of(2, {Tensor(), sources}).abs().max().item<float>() == 0);
}
