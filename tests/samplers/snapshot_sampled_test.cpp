// Records of a few edges: what they may depend on, and what stays exact.
#include "snapshot_support.h"

#include "support/sanitized.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

namespace sluice {
namespace {

using test::Held;
using test::sanitized;
using test::TestGraph;

SnapshotOptions sampled(SnapshotMode mode, double hot, std::int64_t period, double gamma = 0.3) {
  return {.mode = mode, .hot = hot, .alpha = 1.5, .period = period, .gamma = gamma};
}

using test::kDrawnModes;

TEST_CASE("batches are the same for any group, threads and place of the edges, in any order") {
  for (std::uint64_t seed = 0; seed < sanitized(30u, 4u); ++seed) {
    const TestGraph graph = test::random_graph(seed);
    const std::vector<std::int64_t> fanout = {6, 4};
    const RandomKey key(seed);
    const test::Requests requests(graph, 24, 30, key.with("group"));
    for (const SnapshotMode mode : kDrawnModes) {
      CAPTURE(seed);
      const SnapshotOptions options = sampled(mode, 0.7, 1 + static_cast<std::int64_t>(seed) % 7);
      const auto hashes = [&](Held held, std::size_t size, int threads, MemoryLedger* ledger) {
        const auto cached = test::snapshot_of(graph.open(held), options, fanout, key, ledger);
        return test::group_hashes(cached->graph(), fanout, key, requests.list, size, threads);
      };
      const auto expected = hashes(Held::kHidden, 1, 1, nullptr);
      MemoryLedger ledger(std::uint64_t{1} << 26);
      CHECK(hashes(Held::kHidden, 5, 2, &ledger) == expected);
      CHECK(hashes(Held::kHidden, 24, sanitized(16, 4), nullptr) == expected);
      CHECK(hashes(Held::k32, 7, 2, nullptr) == expected);
      CHECK(ledger.used() == 0);

      // A resumed run begins in the middle; a forecast jumps about.
      const auto cached = test::snapshot_of(graph.open(Held::kHidden), options, fanout, key);
      ThreadArena arena(2);
      GroupSampler sampler(cached->graph(), {fanout}, test::kAllParts, key, arena);
      for (const std::size_t at : {20u, 3u, 21u, 4u, 5u, 23u, 0u}) {
        const auto one = std::span(requests.list).subspan(at, 1);
        CHECK(hash_batch(sampler.sample(one, nullptr).or_throw()[0]) == expected[at]);
      }
    }
  }
}

// In-edges (edge ids) drawn for each target of the only layer.
std::map<std::uint64_t, std::vector<std::uint64_t>> edges_of(const Batch& batch) {
  const Block& block = batch.layers.at(0).at(0);
  const auto offsets = block.offsets.as<std::int64_t>();
  const auto ids = block.edge_ids.as<std::uint64_t>();
  const auto nodes = batch.nodes[0].ids.as<std::uint64_t>();
  std::map<std::uint64_t, std::vector<std::uint64_t>> edges;
  for (std::size_t t = 0; t + 1 < offsets.size(); ++t)
    edges[nodes[t]].assign(ids.begin() + offsets[t], ids.begin() + offsets[t + 1]);
  return edges;
}

// Nodes of 100 in-edges each, and from node 80 on of 8.
TestGraph two_degrees() {
  TestGraph graph = test::make_graph({100});
  test::EdgeLists lists(100);
  std::uint64_t id = 0;
  for (std::uint64_t t = 0; t < 100; ++t) {
    for (std::uint64_t i = 0; i < (t < 80 ? 100u : 8u); ++i)
      lists[t].push_back({(t + i) % 100, 5 + 3 * id++});
  }
  test::add_relation(graph, 0, 0, lists);
  return graph;
}

TEST_CASE("a node's draws of a period are of one record, without repeats, and ids fit sources") {
  const TestGraph graph = two_degrees();
  std::vector<std::uint64_t> seeds(100);
  for (std::uint64_t n = 0; n < 100; ++n) seeds[n] = n;
  std::map<std::uint64_t, std::uint64_t> source_of;  // by edge id
  for (const auto& list : graph.edges[0])
    for (const auto& [source, id] : list) source_of[id] = source;
  for (const SnapshotMode mode : kDrawnModes) {
    const auto cached =
        test::snapshot_of(graph.open(Held::kHidden), sampled(mode, 1, 10, 0.5), {6}, RandomKey(1));
    NeighborSampler exact(graph.open(Held::k32), {{6}}, test::kAllParts, RandomKey(1));
    ThreadArena arena(1);
    GroupSampler sampler(cached->graph(), {{6}}, test::kAllParts, RandomKey(1), arena);
    std::map<std::uint64_t, std::set<std::uint64_t>> seen;
    for (std::uint64_t round = 0; round < 40; ++round) {
      if (round % 10 == 0) seen.clear();
      const SampleRequest request{.round = round, .index = round, .seeds = seeds};
      const Batch batch = std::move(sampler.sample({&request, 1}, nullptr).or_throw()[0]);
      const auto off = edges_of(exact.sample(request, nullptr).or_throw());
      for (const auto& [node, edges] : edges_of(batch)) {
        REQUIRE(edges.size() == 6);
        REQUIRE(std::set(edges.begin(), edges.end()).size() == 6);
        // Of 8 in-edges a record of 9 has all.
        if (node >= 80) REQUIRE(edges == off.at(node));
        seen[node].insert(edges.begin(), edges.end());
        REQUIRE(seen[node].size() <= (node >= 80 ? 8u : 9u));
      }
      const auto rows = batch.layers[0][0].neighbours.as<std::int32_t>();
      const auto ids = batch.layers[0][0].edge_ids.as<std::uint64_t>();
      const auto nodes = batch.nodes[0].ids.as<std::uint64_t>();
      for (std::size_t e = 0; e < ids.size(); ++e)
        REQUIRE(nodes[static_cast<std::size_t>(rows[e])] == source_of.at(ids[e]));
      // Degrees are the graph's, not the records'.
      const auto degrees = batch.nodes[0].degrees.as<std::int64_t>();
      for (std::size_t n = 0; n < nodes.size(); ++n)
        REQUIRE(degrees[n] == (nodes[n] < 80 ? 100 : 8));
    }
  }
}

TEST_CASE("a period's records are read once, and on_the_fly reads a share of them again") {
  const TestGraph graph = two_degrees();
  std::vector<std::uint64_t> seeds(80);
  for (std::uint64_t n = 0; n < 80; ++n) seeds[n] = n;
  const auto stats = [&](SnapshotMode mode, double gamma) {
    const auto cached =
        test::snapshot_of(graph.open(Held::kHidden), sampled(mode, 1, 5, gamma), {6}, RandomKey(1));
    ThreadArena arena(2);
    GroupSampler sampler(cached->graph(), {{6}}, {}, RandomKey(1), arena);
    for (std::uint64_t round = 0; round < 50; ++round) {
      const SampleRequest request{.round = round, .index = round, .seeds = seeds};
      (void)sampler.sample({&request, 1}, nullptr).or_throw();
    }
    return cached->stats();
  };
  const SnapshotStats refresh = stats(SnapshotMode::kRefresh, 1);
  CHECK(refresh.hits == 50 * 80 * 6);
  CHECK(refresh.misses == 0);
  CHECK(refresh.hit_rate() == 1);
  CHECK(refresh.filled == 10 * 80);
  CHECK(refresh.edges_read == 10 * 80 * 9);
  CHECK(refresh.mean_age() == 2);  // of 0, 1, 2, 3 and 4 batches
  CHECK(refresh.oldest == 4);
  CHECK(refresh.distinct_ratio() == doctest::Approx(10.0 * 9 / (50 * 6)));
  const SnapshotStats fly = stats(SnapshotMode::kOnTheFly, 1.0 / 3);
  CHECK(fly.edges_read > 80 * (9 + 9 * 2));
  CHECK(fly.edges_read < 80 * (9 + 9 * 4));
  CHECK(fly.oldest < (3 + 1) * 5);  // periods that a place waits, and the one it is in
  CHECK(fly.mean_age() > refresh.mean_age());
}

}  // namespace
}  // namespace sluice
