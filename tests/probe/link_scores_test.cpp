// Scores of links: areas by definition, separable pairs, the leak test, and the pairs themselves.
#include "probe/link_pairs.h"
#include "probe/ranking_areas.h"
#include "probe/support.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

#include <sluice/dataset.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

using namespace sluice;
using namespace sluice::test;
using probe::LinkPairs;
using probe::LinkScores;
using probe::PairScore;
using torch::Tensor;

namespace {

std::vector<float> few_values(std::uint64_t count, RandomKey key) {
  std::vector<float> values;
  for (std::uint64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(key.below(7, i)));
  std::ranges::sort(values, std::greater<>());
  return values;
}

// Over all pairs of scores, and at each score as a threshold.
probe::RankingAreas slow_areas(const std::vector<float>& wanted, const std::vector<float>& others) {
  probe::RankingAreas areas;
  for (const float w : wanted) {
    double above = 0, precise = 0, at_or_above = 0;
    for (const float o : others) above += w > o ? 1 : w == o ? 0.5 : 0;
    for (const float other : wanted) precise += other >= w ? 1 : 0;
    for (const float o : others) at_or_above += o >= w ? 1 : 0;
    areas.auc += above;
    areas.ap += precise / (precise + at_or_above);
  }
  areas.auc /= static_cast<double>(wanted.size() * others.size());
  areas.ap /= static_cast<double>(wanted.size());
  return areas;
}

// 2000 nodes of ten classes, edges mostly within a class; a part of the pairs is held out.
struct HeldOut {
  static constexpr std::uint64_t kNodes = 2000, kTest = 4000, kValid = 1000;

  explicit HeldOut(RandomKey key) {
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
    Pairs all;
    for (std::uint64_t i = 0; all.size() < 30'000; ++i) {
      const std::uint64_t a = key.below(kNodes, 3 * i);
      std::uint64_t b = key.below(kNodes, 3 * i + 1);
      if (key.uniform(3 * i + 2) < 0.8) b = b / 10 * 10 + a % 10;
      const std::pair pair{std::min(a, b), std::max(a, b)};
      if (a != b && seen.insert(pair).second) all.push_back(pair);
    }
    test.assign(all.begin(), all.begin() + kTest);
    valid.assign(all.begin() + kTest, all.begin() + kTest + kValid);
    train.assign(all.begin() + kTest + kValid, all.end());
  }

  Pairs train, valid, test;
};

// By the protocol: the graph and its pairs to train on, the held-out ones to measure by.
struct Measured {
  LinkScores dot, cosine, hadamard;
};

Measured measure(const Tensor& rows, const HeldOut& held_out, RandomKey key) {
  const probe::PlainGraph graph = graph_of(HeldOut::kNodes, held_out.train);
  const auto with_others = [&](const Pairs& links, const char* name) {
    const Tensor positives = tensor_of_pairs(links);
    return LinkPairs{positives,
                     probe::draw_unlinked(graph, positives, links.size(), key.with(name))};
  };
  const LinkPairs valid = with_others(held_out.valid, "valid");
  const LinkPairs test = with_others(held_out.test, "test");
  const LinkPairs train = probe::training_pairs(graph, 100'000, key);
  CHECK(train.positives.size(0) == std::ssize(held_out.train));
  return {probe::link_scores(rows, test, PairScore::kDot),
          probe::link_scores(rows, test, PairScore::kCosine),
          probe::link_scores(rows, train, valid, test, {.epochs = 60})};
}

bool at_chance(const LinkScores& scores) {
  return std::abs(scores.auc - 0.5) <= 0.03;
}

}  // namespace

TEST_CASE("areas of rankings by hand and by definition, ties and all") {
  const std::vector<float> wanted{3, 2, 2}, others{2, 1};
  const probe::RankingAreas areas = probe::ranking_areas(wanted, others);
  CHECK(areas.auc == doctest::Approx(5.0 / 6));
  CHECK(areas.ap == doctest::Approx((1 + 2 * 0.75) / 3));
  CHECK(std::isnan(probe::ranking_areas(wanted, {}).auc));
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    MESSAGE("seed " << seed);
    const auto a = few_values(40, RandomKey(seed).with("a"));
    const auto b = few_values(55, RandomKey(seed).with("b"));
    const probe::RankingAreas slow = slow_areas(a, b), fast = probe::ranking_areas(a, b);
    CHECK(fast.auc == doctest::Approx(slow.auc));
    CHECK(fast.ap == doctest::Approx(slow.ap));
  }
}

TEST_CASE("pairs that rows tell apart are all found") {
  // Even and odd nodes; links are within a kind. Lengths differ, so that cosine has work to do.
  const Tensor kind = torch::arange(40).remainder(2);
  const Tensor rows = torch::one_hot(kind, 2).to(torch::kFloat32) *
                      torch::arange(1, 41).to(torch::kFloat32).unsqueeze(1);
  Pairs within, between;
  for (std::uint64_t i = 0; i < 36; ++i) {
    within.emplace_back(i, i + 2);
    between.emplace_back(i, i + 3);
  }
  const LinkPairs pairs{tensor_of_pairs(within), tensor_of_pairs(between)};
  for (const PairScore score : {PairScore::kDot, PairScore::kCosine}) {
    const LinkScores found = probe::link_scores(rows, pairs, score);
    CHECK(found.auc == 1);
    CHECK(found.ap == 1);
  }
  const Tensor units = torch::one_hot(kind, 2).to(torch::kFloat32);
  const LinkScores trained = probe::link_scores(units, pairs, pairs, pairs, {});
  CHECK(trained.auc == 1);
  CHECK(trained.ap == 1);
}

TEST_CASE("shuffled features without structure are at chance; with it they are not") {
  constexpr std::uint64_t kSeed = 7;
  MESSAGE("seed " << kSeed);
  const RandomKey key(kSeed);
  const HeldOut held_out(key.with("graph"));
  const Tensor classes = torch::arange(static_cast<std::int64_t>(HeldOut::kNodes)).remainder(10);
  const Tensor noisy = torch::one_hot(classes, 10).to(torch::kFloat32) +
                       0.3 * normal_rows(HeldOut::kNodes, 10, key.with("rows"));
  const Tensor features = noisy - noisy.mean(0, /*keepdim=*/true);
  const Measured with = measure(features, held_out, key);
  CHECK(with.dot.auc > 0.75);
  CHECK(with.cosine.auc > 0.75);
  CHECK(with.hadamard.auc > 0.75);

  // Each node gets another one's row.
  std::vector<std::int64_t> order(HeldOut::kNodes);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  for (std::size_t i = 0; i + 1 < order.size(); ++i)
    std::swap(order[i], order[i + key.with("shuffle").below(order.size() - i, i)]);
  const Measured without =
      measure(features.index_select(0, torch::tensor(order, torch::kInt64)), held_out, key);
  CHECK(at_chance(without.dot));
  CHECK(at_chance(without.cosine));
  CHECK(at_chance(without.hadamard));
}

TEST_CASE("products beyond f32 are refused, and nothing hangs over them") {
  const Tensor rows = torch::full({6, 2}, 1e30);
  const LinkPairs pairs{tensor_of_pairs({{0, 1}, {2, 3}}), tensor_of_pairs({{1, 4}, {3, 5}})};
  const Error dot = expect_error([&] { (void)probe::link_scores(rows, pairs, PairScore::kDot); });
  CHECK(dot.code() == ErrorCode::kData);
  CHECK(dot.message().find("too large") != std::string::npos);
  const Error trained =
      expect_error([&] { (void)probe::link_scores(rows, pairs, pairs, pairs, {.epochs = 3}); });
  CHECK(trained.code() == ErrorCode::kData);
}

TEST_CASE("trained scores are the same with any threads") {
  const RandomKey key(11);
  const Tensor rows = normal_rows(100, 24, key);
  const auto drawn = [&](const char* name) {
    return LinkPairs{tensor_of_pairs(drawn_pairs(100, 300, key.with(name).with("links"))),
                     tensor_of_pairs(drawn_pairs(100, 300, key.with(name).with("others")))};
  };
  const LinkPairs train = drawn("train"), valid = drawn("valid"), test = drawn("test");
  const LinkScores found = probe::link_scores(rows, train, valid, test, {.epochs = 30});
  const int threads = at::get_num_threads();
  for (const int other : {1, 4}) {
    at::set_num_threads(other);
    const LinkScores again = probe::link_scores(rows, train, valid, test, {.epochs = 30});
    CHECK(again.auc == found.auc);
    CHECK(again.ap == found.ap);
  }
  at::set_num_threads(threads);
}

TEST_CASE("pairs without an edge: distinct, unlinked, of no exception, by key") {
  const Pairs edges = drawn_pairs(40, 200, RandomKey(3));
  const probe::PlainGraph graph = graph_of(40, edges);
  const Pairs except = drawn_pairs(40, 60, RandomKey(4));
  const auto drawn = [&](std::uint64_t seed) {
    return probe::draw_unlinked(graph, tensor_of_pairs(except), 150, RandomKey(seed));
  };
  const Tensor pairs = drawn(1);
  REQUIRE(pairs.size(0) == 150);
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (std::int64_t i = 0; i < pairs.size(0); ++i) {
    const auto a = static_cast<std::uint64_t>(pairs[i][0].item<std::int64_t>());
    const auto b = static_cast<std::uint64_t>(pairs[i][1].item<std::int64_t>());
    CHECK(a < b);
    CHECK_FALSE(graph.linked(a, b));
    CHECK(std::ranges::count(except, std::pair{a, b}) == 0);
    CHECK(std::ranges::count(except, std::pair{b, a}) == 0);
    CHECK(seen.emplace(a, b).second);
  }
  CHECK(drawn(1).equal(pairs));
  CHECK_FALSE(drawn(2).equal(pairs));
  // A triangle has no pair left.
  const probe::PlainGraph whole = graph_of(3, {{0, 1}, {1, 2}, {2, 0}});
  const Error none = expect_error([&] {
    (void)probe::draw_unlinked(whole, torch::empty({0, 2}, torch::kInt64), 1, RandomKey(1));
  });
  CHECK(none.code() == ErrorCode::kData);
}

TEST_CASE("held-out pairs are read by label; an edge of the graph among them is refused") {
  const TempDir dir;
  NamedGraph graph{{"a", "b", "c", "d", "e"}, {{0, 1}, {1, 2}}, {}, {}};
  graph.valid = {{0, 0, 3, 2, 1}, {0, 0, 0, 4, 0}};
  graph.test = {{0, 0, 0, 2, 1}, {0, 0, 3, 4, 1}};
  const auto read = [&](const NamedGraph& of) {
    of.write(dir / "x");
    const Dataset dataset = Dataset::open((dir / "x").string());
    return probe::read_held_out(
        dataset, "n", "", probe::PlainGraph::of(dataset, "n"), RandomKey(1));
  };
  const probe::HeldOutPairs pairs = read(graph);
  CHECK(pairs.split == "links");
  CHECK(pairs.valid.positives.equal(tensor_of_pairs({{2, 3}})));
  CHECK(pairs.valid.negatives.equal(tensor_of_pairs({{0, 4}})));
  CHECK(pairs.test.positives.equal(tensor_of_pairs({{0, 2}, {3, 4}})));
  CHECK(pairs.test.negatives.size(0) == 2);  // none were listed

  NamedGraph leaking = graph;
  leaking.test.push_back({0, 0, 2, 1, 1});  // the edge (1, 2), backwards
  const Error leak = expect_error([&] { (void)read(leaking); });
  CHECK(leak.code() == ErrorCode::kData);
  CHECK(leak.message().find("1 of the 3 links of its test part are edges of the graph") !=
        std::string::npos);
  NamedGraph none = graph;
  none.valid.clear();
  none.test.clear();
  const Error missing = expect_error([&] { (void)read(none); });
  CHECK(missing.code() == ErrorCode::kUsage);
  CHECK(missing.hint().find("sluice-prep hold-out") != std::string::npos);
}
