// LaborSampler's promises: mini-batches are functions of keys, targets and their lists, from disk
// as from memory, within the budget.
#include "labor_support.h"

#include "disk_graph.h"

#include "samplers/group_sampler.h"

#include "support/expect_error.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"

#include <sluice/dataset.h>

#include <doctest/doctest.h>

namespace sluice {
namespace {

using test::drawn_ids;
using test::Held;
using test::kAllParts;
using test::sanitized;
using test::TempDir;
using test::TestGraph;
using Count = SharedDraws::Count;

const std::vector<LaborSamplerOptions> kWays = {
    {.fanout = {5, 3}},
    {.fanout = {5, 3}, .count = Count::kPoisson, .dependence = 3},
    {.fanout = {100, 7}, .share_layers = true, .hub_degree = 30},
    {.fanout = {-1, 4}, .dependence = 5},
    {.fanout = {4, 0, 4}, .count = Count::kPoisson, .hub_degree = 20, .dependence = 2}};

struct Requests {
  std::vector<std::vector<std::uint64_t>> seeds;
  std::vector<SampleRequest> all;

  Requests(const TestGraph& graph, std::size_t count, RandomKey key) : seeds(count), all(count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t type = key.below(graph.schema.nodes.size(), i);
      seeds[i] = test::random_seeds(graph, type, 30, key.with(i));
      all[i] = {.epoch = 1, .round = i, .index = i, .seeds = {seeds[i], type}};
    }
  }
};

std::vector<std::uint64_t> hashes_of(const std::vector<Batch>& batches) {
  std::vector<std::uint64_t> hashes;
  for (const Batch& batch : batches) hashes.push_back(hash_batch(batch));
  return hashes;
}

TEST_CASE("groups from disk are the batches that are sampled one by one in RAM") {
  for (std::uint64_t seed = 0; seed < sanitized(20u, 5u); ++seed) {
    CAPTURE(seed);
    const TempDir dir;
    const TestGraph graph = test::random_graph(seed);
    test::write_graph(dir / "x", graph);
    const Dataset dataset = Dataset::open((dir / "x").string());
    const LaborSamplerOptions& options = kWays[seed % kWays.size()];
    const RandomKey key(seed);
    const Requests requests(graph, 7, key.with("requests"));
    LaborSampler alone(graph.open(Held::k32), options, kAllParts, key);
    std::vector<std::uint64_t> expected;
    for (const SampleRequest& request : requests.all)
      expected.push_back(hash_batch(alone.sample(request, nullptr).or_throw()));
    for (std::uint64_t variant = 0; variant < 6; ++variant) {
      const TopologyOptions how{
          .placement = Placement::kDisk,
          .io = variant % 2 == 0 ? IoChoice::kAuto : IoChoice::kPread,
          .staging_bytes = variant % 4 < 2 ? 1u : 1u << 20,
          .cache_bytes = std::vector<std::uint64_t>{0, 9000, 1 << 20}[variant % 3]};
      ThreadArena arena(std::vector<int>{1, 2, 4}[(variant + seed) % 3]);
      GroupSampler sampler(test::open_graph(dataset, how),
                           std::make_shared<SamplerKind<LaborSampler>>(options),
                           kAllParts,
                           key,
                           arena);
      const std::size_t first = 1 + variant % 6;
      auto found =
          hashes_of(sampler.sample(std::span(requests.all).first(first), nullptr).or_throw());
      const auto rest =
          hashes_of(sampler.sample(std::span(requests.all).subspan(first), nullptr).or_throw());
      found.insert(found.end(), rest.begin(), rest.end());
      CHECK(found == expected);
    }
  }
}

TEST_CASE("a target's sample does not depend on its batch mates") {
  TestGraph graph = test::make_graph({500});
  test::add_relation(graph, 0, 0, test::random_lists(500, 500, RandomKey(3)));
  for (const LaborSamplerOptions& options : kWays) {
    LaborSampler one(graph.open(Held::k32), options, kAllParts, RandomKey(1));
    LaborSampler other(graph.open(Held::kHidden), options, kAllParts, RandomKey(1));
    const auto seeds = test::random_seeds(graph, 0, 40, RandomKey(9));
    const Batch together = other.sample({.round = 5, .seeds = seeds}, nullptr).or_throw();
    for (const std::uint64_t seed : seeds) {
      const std::vector<std::uint64_t> only = {seed};
      const Batch alone = one.sample({.round = 5, .seeds = only}, nullptr).or_throw();
      for (std::size_t layer = 0; layer < one.num_layers(); ++layer) {
        const auto all = drawn_ids(together, layer);
        for (const auto& [target, ids] : drawn_ids(alone, layer)) CHECK(ids == all.at(target));
      }
    }
  }
}

// One node with two million in-edges, another with none.
TestGraph big_hub() {
  constexpr std::uint64_t kEdges = 2'000'000;
  TestGraph graph = test::make_graph({1000});
  test::EdgeLists lists(1000);
  for (std::uint64_t e = 0; e < kEdges; ++e) lists[0].push_back({e % 1000, e});
  for (std::uint64_t n = 2; n < 1000; ++n) lists[n].push_back({n / 2, kEdges + n});
  test::add_relation(graph, 0, 0, std::move(lists));
  return graph;
}

TEST_CASE("hubs are read whole in pieces, or not at all above a bound") {
  const TempDir dir;
  const TestGraph graph = big_hub();
  test::write_graph(dir / "x", graph);
  const Dataset dataset = Dataset::open((dir / "x").string());
  const std::vector<std::uint64_t> seeds = {5, 0, 1};
  const SampleRequest request{.round = 3, .seeds = seeds};
  std::uint64_t list_bytes = 2'000'000 * 4;
  for (const std::int64_t bound : {0, 100'000}) {
    CAPTURE(bound);
    const LaborSamplerOptions options{.fanout = {15}, .hub_degree = bound};
    LaborSampler resident(graph.open(Held::k32), options, {}, RandomKey(1));
    const std::uint64_t expected = hash_batch(resident.sample(request, nullptr).or_throw());
    MemoryLedger ledger;
    const SamplerGraph opened = test::open_graph(dataset, {Placement::kDisk, {}, 1 << 20, 0});
    ThreadArena arena(1);
    GroupSampler sampler(
        opened, std::make_shared<SamplerKind<LaborSampler>>(options), {}, RandomKey(1), arena);
    const auto batches = sampler.sample({&request, 1}, &ledger).or_throw();
    CHECK(hash_batch(batches[0]) == expected);
    const TopologyStats stats = opened.relations[0]->stats();
    if (bound == 0) {
      CHECK(stats.bytes_read >= list_bytes);
      CHECK(stats.bytes_read < list_bytes + 64 * kPageBytes);
      // Positions and answers of a piece, not of the list: a fourth of 2 x 16 MB.
      CHECK(ledger.peak() < 12u << 20);
    } else {
      CHECK(stats.bytes_read < 100 * kPageBytes);
      CHECK(ledger.peak() < 1u << 20);
    }
  }
}

TEST_CASE("options that do not go with the graph are named") {
  const TestGraph graph = test::random_graph(4);
  const auto error_of = [&](const LaborSamplerOptions& options) {
    const Error error =
        test::expect_error([&] { LaborSampler(graph.open(Held::k32), options, {}, RandomKey(1)); });
    CHECK(error.code() == ErrorCode::kUsage);
    return error.message();
  };
  CHECK(error_of({.fanout = {-2}}) == "[sampler] fanout holds -2; -1 means all edges, 0 none");
  CHECK(error_of({.fanout = {3}, .weighted = true}) ==
        "[sampler] weighted is set, but no relation of the dataset has weights");
  CHECK(error_of({.fanout = {3}, .dependence = 0}) == "[sampler] dependence is 0");
}

TEST_CASE("options bind by their keys, and values out of range are refused by name") {
  const auto bind = [](const std::string& toml) {
    LaborSamplerOptions options;
    Config::parse(toml, "test.toml").bind_to(options);
    return options;
  };
  const LaborSamplerOptions options = bind(
      "fanout = [7, -1]\ncount = \"poisson\"\nshare_layers = true\nhub_degree = 5000\n"
      "dependence = 64\n");
  CHECK(options.fanout == std::vector<std::int64_t>{7, -1});
  CHECK(options.count == Count::kPoisson);
  CHECK(options.share_layers);
  CHECK(options.hub_degree == 5000);
  CHECK(options.dependence == 64);
  CHECK(options.most_edges() == -1);
  for (const std::string key :
       {"fanout = [-2]", "dependence = 0", "hub_degree = -1", "count = \"x\""}) {
    const Error error = test::expect_error([&] { (void)bind(key); });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(std::string(error.what()).find(key.substr(0, key.find(' '))) != std::string::npos);
  }
}

}  // namespace
}  // namespace sluice
