// How far a neighbourhood's mean, averaged over mini-batches, is from the truth: the price of
// reuse.
//
// `snapshot_test -tc="*bias table*" --no-skip` prints the table of docs/decisions (031).
#include "samplers/group_sampler.h"
#include "samplers/sampler_support.h"
#include "samplers/snapshot/hotness.h"
#include "samplers/snapshot/snapshot_graph.h"

#include <sluice/samplers/node_queries.h>
#include <sluice/threads.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

namespace sluice {
namespace {

using test::Held;
using test::TestGraph;

constexpr std::uint64_t kBiasDegree = 100;
constexpr std::uint64_t kBiasFanout = 5;

// Nodes of 100 in-edges each, whose sources carry independent values of mean 0 and variance 1.
struct Neighbourhoods {
  std::uint64_t nodes;
  TestGraph graph;
  std::vector<std::uint64_t> seeds;

  explicit Neighbourhoods(std::uint64_t count)
      : nodes(count), graph(test::make_graph({count * kBiasDegree, count})) {
    test::EdgeLists lists(nodes);
    for (std::uint64_t t = 0; t < nodes; ++t) {
      for (std::uint64_t i = 0; i < kBiasDegree; ++i)
        lists[t].push_back({t * kBiasDegree + i, t * kBiasDegree + i});
      seeds.push_back(t);
    }
    test::add_relation(graph, 0, 1, lists);
    graph.schema.relations[0].source = "t0";
  }

  // Centred and scaled within each neighbourhood, so that its mean is 0 and sigma^2 is 1.
  std::vector<double> values() const {
    std::vector<double> all(nodes * kBiasDegree);
    const RandomKey key = RandomKey(9).with("values");
    for (std::uint64_t t = 0; t < nodes; ++t) {
      double sum = 0, squares = 0;
      for (std::uint64_t i = 0; i < kBiasDegree; ++i) sum += key.uniform(t * kBiasDegree + i);
      for (std::uint64_t i = 0; i < kBiasDegree; ++i) {
        double& value = all[t * kBiasDegree + i];
        value = key.uniform(t * kBiasDegree + i) - sum / kBiasDegree;
        squares += value * value;
      }
      const double scale = std::sqrt(squares / (kBiasDegree - 1));
      for (std::uint64_t i = 0; i < kBiasDegree; ++i) all[t * kBiasDegree + i] /= scale;
    }
    return all;
  }
};

struct Bias {
  double one = 0;          ///< mean squared error of one mini-batch's mean
  double averaged = 0;     ///< of the mean over all mini-batches
  double correlation = 0;  ///< between a mini-batch's mean and the next one's
};

// Goes through `rounds` mini-batches of all nodes.
Bias measure(const Neighbourhoods& hoods, const SnapshotOptions& options, std::uint64_t rounds) {
  SamplerGraph graph = hoods.graph.open(Held::kHidden);
  std::unique_ptr<SnapshotGraph> cached;
  if (options.mode != SnapshotMode::kOff) {
    // Every target is hot: sources are of another type, and look-ahead meets the seeds.
    NodeQueryOptions asked;
    asked.nodes =
        Array::make(DType::kU64, {static_cast<std::int64_t>(hoods.seeds.size())}).or_throw();
    std::ranges::copy(hoods.seeds, asked.nodes.as<std::uint64_t>().begin());
    asked.type = 1;
    asked.batch_size = static_cast<std::int64_t>(hoods.nodes);
    asked.shuffle = false;
    const NodeQueries queries(*graph.schema, std::move(asked), nullptr);
    const TrialBatches trials{.fanout = {kBiasFanout}, .key = RandomKey(1), .queries = &queries};
    cached = SnapshotGraph::make(graph, options, trials, nullptr).or_throw();
    graph = cached->graph();
  }
  const std::vector<double> values = hoods.values();
  ThreadArena arena(1);
  GroupSampler sampler(graph, {{kBiasFanout}}, {.transpose = false}, RandomKey(1), arena);
  std::vector<double> sum(hoods.nodes), before(hoods.nodes);
  double squares = 0, products = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const SampleRequest request{.round = round, .index = round, .seeds = {hoods.seeds, 1}};
    const Batch batch = std::move(sampler.sample({&request, 1}, nullptr).or_throw()[0]);
    const auto rows = batch.layers[0][0].neighbours.as<std::int32_t>();
    const auto sources = batch.nodes[0].ids.as<std::uint64_t>();
    for (std::size_t t = 0; t < hoods.nodes; ++t) {
      double mean = 0;
      for (std::size_t e = 0; e < kBiasFanout; ++e)
        mean += values[sources[static_cast<std::size_t>(rows[t * kBiasFanout + e])]] / kBiasFanout;
      sum[t] += mean;
      squares += mean * mean;
      if (round != 0) products += mean * before[t];
      before[t] = mean;
    }
  }
  const auto n = static_cast<double>(hoods.nodes);
  const auto m = static_cast<double>(rounds);
  Bias bias;
  bias.one = squares / (n * m);
  for (const double total : sum) bias.averaged += total / m * (total / m) / n;
  bias.correlation = products / (n * (m - 1)) / bias.one;
  return bias;
}

SnapshotOptions options_of(SnapshotMode mode, std::int64_t period, double gamma, double alpha = 2) {
  return {.mode = mode,
          .hot = 1,
          .alpha = alpha,
          .period = period,
          .gamma = gamma,
          .hotness = SnapshotHotness::kLookAhead};
}

// (1/c - 1/d) sigma^2: of the mean of c out of d without replacement.
double floor_of(double c) {
  return 1 / c - 1.0 / static_cast<double>(kBiasDegree);
}

constexpr std::uint64_t kBiasNodes = 2000;
constexpr double kLoose = 0.06;  // of so many nodes, about two sigma

TEST_CASE("one mini-batch has the variance of no cache in every mode: each draw is uniform") {
  const Neighbourhoods hoods(kBiasNodes);
  const double expected = floor_of(kBiasFanout);
  for (const SnapshotOptions& options : {SnapshotOptions{},
                                         options_of(SnapshotMode::kFull, 1, 1),
                                         options_of(SnapshotMode::kRefresh, 10, 1),
                                         options_of(SnapshotMode::kOnTheFly, 2, 0.25)}) {
    CAPTURE(static_cast<int>(options.mode));
    CHECK(measure(hoods, options, 20).one == doctest::Approx(expected).epsilon(kLoose));
  }
}

TEST_CASE("a period of 1 has the variance of no cache over mini-batches too") {
  const Neighbourhoods hoods(kBiasNodes);
  constexpr std::uint64_t kRounds = 20;
  const double expected = floor_of(kBiasFanout) / kRounds;
  const Bias off = measure(hoods, {}, kRounds);
  const Bias every = measure(hoods, options_of(SnapshotMode::kRefresh, 1, 1), kRounds);
  const Bias fly = measure(hoods, options_of(SnapshotMode::kOnTheFly, 1, 1), kRounds);
  for (const Bias& bias : {off, every, fly}) {
    CHECK(bias.averaged == doctest::Approx(expected).epsilon(kLoose));
    CHECK(std::abs(bias.correlation) < 0.02);
  }
}

TEST_CASE("within a period the mean's error stays at the floor of the record") {
  const Neighbourhoods hoods(kBiasNodes);
  for (const double alpha : {2.0, 4.0}) {
    const double c = alpha * kBiasFanout;
    constexpr double kRounds = 50;
    const Bias bias = measure(hoods, options_of(SnapshotMode::kRefresh, 50, 1, alpha), 50);
    // The record's own error, and that of drawing from it.
    const double within = (1 / static_cast<double>(kBiasFanout) - 1 / c) / kRounds;
    CHECK(bias.averaged == doctest::Approx(floor_of(c) + within).epsilon(kLoose));
    // What two draws have in common is the record.
    CHECK(bias.correlation == doctest::Approx(floor_of(c) / floor_of(kBiasFanout)).epsilon(kLoose));
  }
}

TEST_CASE("over periods the error of refresh falls, and on_the_fly lies above it") {
  const Neighbourhoods hoods(kBiasNodes);
  constexpr double kPeriods = 10;
  const Bias refresh = measure(hoods, options_of(SnapshotMode::kRefresh, 5, 1), 50);
  const double within = (1 / static_cast<double>(kBiasFanout) - 0.1) / 50;
  CHECK(refresh.averaged == doctest::Approx(floor_of(10) / kPeriods + within).epsilon(kLoose));
  const Bias fly = measure(hoods, options_of(SnapshotMode::kOnTheFly, 5, 0.25), 50);
  CHECK(fly.averaged > 1.5 * refresh.averaged);
  CHECK(fly.averaged < floor_of(10) + within);
}

TEST_CASE("bias table" * doctest::skip()) {
  const Neighbourhoods hoods(kBiasNodes);
  fmt::print("| mode | alpha | period | gamma | one batch | mean of 200 | correlation |\n");
  const auto row = [&](const char* name, const SnapshotOptions& options) {
    const Bias bias = measure(hoods, options, 200);
    fmt::print("| {} | {} | {} | {} | {:.4f} | {:.5f} | {:.3f} |\n",
               name,
               options.alpha,
               options.period,
               options.gamma,
               bias.one,
               bias.averaged,
               bias.correlation);
  };
  row("off", {});
  row("full", options_of(SnapshotMode::kFull, 50, 1));
  for (const std::int64_t period : {1, 10, 50})
    row("refresh", options_of(SnapshotMode::kRefresh, period, 1));
  row("refresh", options_of(SnapshotMode::kRefresh, 50, 1, 4));
  for (const double gamma : {0.1, 0.25, 0.5})
    row("on_the_fly", options_of(SnapshotMode::kOnTheFly, 10, gamma));
}

}  // namespace
}  // namespace sluice
