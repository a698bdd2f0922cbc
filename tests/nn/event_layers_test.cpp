// Layers of events against sums and softmaxes written out for one target or row at a time.
#include "nn/support.h"

#include <sluice/error.h>
#include <sluice/nn/attention.h>
#include <sluice/nn/event_sequences.h>
#include <sluice/nn/mixer_layer.h>
#include <sluice/nn/time_encoding.h>

#include <cmath>
#include <vector>

using namespace sluice;
using namespace sluice::testing;
using nn::Align;
using nn::EventSequences;
using torch::Tensor;

namespace {

// Of three targets: two events, none, three events. Each target's deltas descend: the oldest first.
Block timed_block(const std::vector<std::vector<std::int32_t>>& sources,
                  const std::vector<std::int64_t>& deltas) {
  Block block = make_block(9, sources);
  block.deltas = array_of(deltas);
  return block;
}

Block three_targets() {
  return timed_block({{4, 5}, {}, {4, 6, 4}}, {30, 10, 50, 40, 20});
}

EventSequences sequences_of(const Block& block) {
  return EventSequences({&block}, block.num_targets, torch::kCPU);
}

Tensor whole(const std::vector<std::int64_t>& values) {
  return torch::tensor(values, torch::kInt64);
}

// Softmax attention of one query over some keys, head by head, in double.
Tensor attention_of_one(std::int64_t heads, const Tensor& q, const Tensor& k, const Tensor& v) {
  const std::int64_t width = q.size(0) / heads;
  std::vector<Tensor> found;
  for (std::int64_t h = 0; h < heads; ++h) {
    const auto part = [&](const Tensor& x) { return x.narrow(-1, h * width, width); };
    const Tensor logits = part(k).mv(part(q)) / std::sqrt(static_cast<double>(width));
    found.push_back(part(v).t().mv(torch::softmax(logits, 0)));
  }
  return torch::cat(found);
}

Tensor applied(const torch::OrderedDict<std::string, Tensor>& parameters,
               const std::string& name,
               const Tensor& x) {
  return x.matmul(parameters[name + ".weight"].to(torch::kFloat64).t()) +
         parameters[name + ".bias"].to(torch::kFloat64);
}

}  // namespace

TEST_CASE("events of a block keep its order, and have places at either end of padded rows") {
  const EventSequences events = sequences_of(three_targets());
  CHECK(events.num_targets() == 3);
  CHECK(events.longest() == 3);
  CHECK(torch::equal(events.counts(), whole({2, 0, 3})));
  CHECK(torch::equal(events.targets(), whole({0, 0, 2, 2, 2})));
  CHECK(torch::equal(events.positions(), whole({0, 1, 0, 1, 2})));
  CHECK(torch::equal(events.places(Align::kFirst, 4), whole({0, 1, 8, 9, 10})));
  CHECK(torch::equal(events.places(Align::kLast, 4), whole({2, 3, 9, 10, 11})));
  const Tensor rows = torch::arange(1.0, 6.0, torch::kFloat32).unsqueeze(1);
  CHECK(torch::equal(events.pad(rows, Align::kLast, 3).squeeze(2),
                     torch::tensor({0.f, 1.f, 2.f, 0.f, 0.f, 0.f, 3.f, 4.f, 5.f}).view({3, 3})));
  const Tensor own = torch::tensor({7.f, 8.f, 9.f}).unsqueeze(1);
  CHECK(torch::equal(
      events.pad_with_own(rows, own, Align::kFirst, 4).squeeze(2),
      torch::tensor({1.f, 2.f, 7.f, 0.f, 8.f, 0.f, 0.f, 0.f, 3.f, 4.f, 5.f, 9.f}).view({3, 4})));
  CHECK(torch::equal(
      events.pad_with_own(rows, own, Align::kLast, 4).squeeze(2),
      torch::tensor({0.f, 1.f, 2.f, 7.f, 0.f, 0.f, 0.f, 8.f, 3.f, 4.f, 5.f, 9.f}).view({3, 4})));
  CHECK(torch::equal(events.mask_with_own(Align::kLast, 4).sum(1), whole({3, 1, 4})));
}

TEST_CASE("the latest events, and those of a window, are what is left of each target") {
  const EventSequences events = sequences_of(three_targets());
  const Tensor rows = torch::arange(5, torch::kInt64).unsqueeze(1);
  const EventSequences latest = events.latest(2);
  CHECK(torch::equal(latest.counts(), whole({2, 0, 2})));
  CHECK(torch::equal(latest.deltas(), whole({30, 10, 40, 20})));
  CHECK(torch::equal(latest.in_order({rows}).squeeze(1), whole({0, 1, 3, 4})));
  const EventSequences near = events.within(20);
  CHECK(torch::equal(near.counts(), whole({1, 0, 1})));
  CHECK(torch::equal(near.in_order({rows}).squeeze(1), whole({1, 4})));
  CHECK(torch::equal(latest.within(20).in_order({rows}).squeeze(1), whole({1, 4})));
  CHECK(events.within(5).num_events() == 0);
  CHECK(events.within(5).longest() == 0);
}

TEST_CASE("several relations' events are merged by age, ties in the relations' order") {
  const Block first = three_targets();
  const Block second = timed_block({{7}, {8}, {7, 8}}, {10, 60, 60, 40});
  const EventSequences events({&first, &second}, 3, torch::kCPU);
  CHECK(torch::equal(events.counts(), whole({3, 1, 5})));
  CHECK(torch::equal(events.deltas(), whole({30, 10, 10, 60, 60, 50, 40, 40, 20})));
  // Edges of the first are 0 to 4, of the second 10 to 13.
  const Tensor merged = events.in_order({whole({0, 1, 2, 3, 4}), whole({10, 11, 12, 13})});
  CHECK(torch::equal(merged, whole({0, 1, 10, 11, 12, 2, 3, 13, 4})));
}

TEST_CASE("blocks without times are refused, and no block at all is no event") {
  const Block block = make_block(9, {{1}, {2, 3}});
  CHECK_THROWS_AS(sequences_of(block), Error);
  const EventSequences none({}, 4, torch::kCPU);
  CHECK(none.num_targets() == 4);
  CHECK(none.num_events() == 0);
  CHECK(none.longest() == 0);
}

TEST_CASE("gradients of padded rows are those of their places") {
  const EventSequences events = sequences_of(three_targets());
  const Tensor rows = random_tensor({5, 3}, 51).requires_grad_();
  const Tensor weights = random_tensor({3, 4, 3}, 52);
  (events.pad(rows, Align::kLast, 4) * weights).sum().backward();
  const Tensor flat = weights.view({12, 3});
  CHECK(torch::equal(rows.grad(), flat.index_select(0, whole({2, 3, 9, 10, 11}))));
}

TEST_CASE("a time encoding is cosines of what is taken in i64") {
  nn::TimeEncodingOptions options;
  options.width = 4;
  options.decades = 3;
  const nn::TimeEncoding fixed(options);
  CHECK(fixed.parameters().empty());
  // f32 has not all whole numbers of this size.
  const std::int64_t long_ago = (std::int64_t{1} << 40) + 1;
  const Tensor out = fixed.forward(whole({0, 7, long_ago}));
  for (std::int64_t c = 0; c < 4; ++c) {
    CAPTURE(c);
    const double w = std::pow(10.0, -static_cast<double>(c));
    CHECK(out[0][c].item<double>() == 1.0);
    CHECK(out[1][c].item<double>() == doctest::Approx(std::cos(7 * w)).epsilon(1e-6));
    CHECK(std::abs(out[2][c].item<double>() - std::cos(static_cast<double>(long_ago) * w)) < 1e-3);
  }
  options.frequencies = nn::TimeFrequencies::kLearned;
  const nn::TimeEncoding learned(options);
  CHECK(learned.parameters().size() == 2);
  check_close(learned.forward(whole({0, 7})), out.narrow(0, 0, 2).to(torch::kFloat64));
  learned.forward(whole({3, 7})).sum().backward();
  for (const Tensor& parameter : learned.parameters())
    CHECK_FALSE(parameter.grad().eq(0).all().item<bool>());
  options.frequencies = nn::TimeFrequencies::kFixed;
  options.input = nn::TimeInput::kLog;
  options.unit = 10;
  const Tensor log = nn::TimeEncoding(options).forward(whole({70}));
  CHECK(log[0][1].item<double>() == doctest::Approx(std::cos(std::log(8.0) / 10)).epsilon(1e-6));
}

TEST_CASE("attention over events is each target's softmax over its own") {
  const EventSequences events = sequences_of(three_targets());
  const nn::EventAttention layer({5, 7, 6, 2}, RandomKey(3));
  const Tensor own = random_tensor({3, 5}, 53), rows = random_tensor({5, 7}, 54);
  const Tensor out = layer.forward(events, own, rows);
  const auto parameters = layer.named_parameters();
  const Tensor q = applied(parameters, "query", own.to(torch::kFloat64));
  const Tensor k = applied(parameters, "key", rows.to(torch::kFloat64));
  const Tensor v = applied(parameters, "value", rows.to(torch::kFloat64));
  const auto expected = [&](std::int64_t target, std::int64_t first, std::int64_t count) {
    const Tensor found =
        attention_of_one(2, q[target], k.narrow(0, first, count), v.narrow(0, first, count));
    return applied(parameters, "out", found);
  };
  check_close(out[0], expected(0, 0, 2));
  check_close(out[2], expected(2, 2, 3));
  // Without events nothing is found.
  check_close(out[1], parameters["out.bias"].to(torch::kFloat64));
  const EventSequences none({}, 3, torch::kCPU);
  CHECK(torch::equal(layer.forward(none, own, torch::zeros({0, 7})).isfinite().all(),
                     torch::ones({}, torch::kBool)));
}

TEST_CASE("what a target's batch mates are makes no difference to it") {
  const nn::EventAttention layer({5, 7, 6, 2}, RandomKey(3));
  const EventSequences events = sequences_of(three_targets());
  const Tensor own = random_tensor({3, 5}, 55), rows = random_tensor({5, 7}, 56);
  const Tensor out = layer.forward(events, own, rows);
  Tensor other_rows = rows.clone();
  other_rows.narrow(0, 2, 3).copy_(random_tensor({3, 7}, 57));
  Tensor other_own = own.clone();
  other_own[2].copy_(random_tensor({5}, 58));
  const Tensor again = layer.forward(events, other_own, other_rows);
  CHECK(torch::equal(again[0], out[0]));
  CHECK(torch::equal(again[1], out[1]));
  CHECK_FALSE(torch::allclose(again[2], out[2]));
  // In another order, beside longer padding.
  const Block turned =
      timed_block({{1, 1, 1, 1}, {4, 6, 4}, {4, 5}}, {9, 8, 7, 6, 50, 40, 20, 30, 10});
  const Tensor turned_rows =
      torch::cat({random_tensor({4, 7}, 59), rows.narrow(0, 2, 3), rows.narrow(0, 0, 2)});
  const Tensor turned_own = torch::stack({random_tensor({5}, 60), own[2], own[0]});
  const Tensor moved = layer.forward(sequences_of(turned), turned_own, turned_rows);
  check_close(moved[2], out[0].to(torch::kFloat64));
  check_close(moved[1], out[2].to(torch::kFloat64));
}

TEST_CASE("a causal layer's rows do not see later ones, and one row is that of all") {
  nn::TransformerLayer layer({8, 2, 16, 0.5}, RandomKey(4));
  layer.eval();
  const Tensor x = random_tensor({3, 5, 8}, 61);
  const Tensor out = layer.forward({}, x, {});
  Tensor later = x.clone();
  later.narrow(1, 3, 2).copy_(random_tensor({3, 2, 8}, 62));
  const Tensor changed = layer.forward({}, later, {});
  CHECK(torch::equal(changed.narrow(1, 0, 3), out.narrow(1, 0, 3)));
  CHECK_FALSE(torch::allclose(changed.narrow(1, 3, 2), out.narrow(1, 3, 2)));
  const Tensor at = whole({4, 0, 2});
  const Tensor one = layer.forward_at({}, x, at);
  for (std::int64_t i = 0; i < 3; ++i)
    check_close(one[i], out[i][at[i].item<std::int64_t>()].to(torch::kFloat64));
}

TEST_CASE("a masked layer gives a row what it gives it without the padding") {
  nn::TransformerLayer layer({8, 2, 16, 0.0}, RandomKey(5));
  const Tensor x = random_tensor({1, 5, 8}, 63);
  const Tensor mask = torch::tensor({0, 0, 1, 1, 1}, torch::kInt64).view({1, 5}).to(torch::kBool);
  const Tensor padded = layer.forward({}, x, mask).narrow(1, 2, 3);
  const Tensor alone = layer.forward({}, x.narrow(1, 2, 3), torch::ones({1, 3}, torch::kBool));
  check_close(padded, alone.to(torch::kFloat64));
}

TEST_CASE("a layer drops by its key, in training only") {
  nn::TransformerLayer layer({8, 2, 16, 0.5}, RandomKey(6));
  const Tensor x = random_tensor({2, 3, 8}, 64);
  const auto with = [&](std::uint64_t key) { return layer.forward({{}, RandomKey(key)}, x, {}); };
  CHECK(torch::equal(with(1), with(1)));
  CHECK_FALSE(torch::equal(with(1), with(2)));
  layer.eval();
  CHECK(torch::equal(with(1), with(2)));
}

TEST_CASE("a mixer leaves padding zero, and what lies there makes no difference") {
  nn::MixerLayerOptions options;
  options.tokens = 4;
  options.width = 6;
  options.dropout = 0;
  nn::MixerLayer layer(options, RandomKey(7));
  {
    const torch::NoGradGuard no_grad;  // biases start at 0: make them matter
    for (const Tensor& parameter : layer.parameters())
      parameter.add_(random_tensor(parameter.sizes(), 65), 0.1);
  }
  const Tensor mask = torch::tensor({0, 1, 1, 1, 1, 1, 1, 1}, torch::kFloat32).view({2, 4, 1});
  const Tensor x = random_tensor({2, 4, 6}, 66) * mask;
  const Tensor out = layer.forward({}, x, mask);
  CHECK(out[0][0].eq(0).all().item<bool>());
  // Other mates, the same sequence.
  Tensor mates = x.clone();
  mates[1].copy_(random_tensor({4, 6}, 67));
  CHECK(torch::equal(layer.forward({}, mates, mask)[0], out[0]));
  const Tensor leaf = x.clone().requires_grad_();
  (layer.forward({}, leaf, mask) * random_tensor({2, 4, 6}, 68)).sum().backward();
  CHECK_FALSE(leaf.grad()[0][1].eq(0).all().item<bool>());
  for (const auto& item : layer.named_parameters()) {
    CAPTURE(item.key());
    CHECK(item.value().grad().defined());
  }
}
