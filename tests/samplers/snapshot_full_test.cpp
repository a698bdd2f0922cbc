// Whole lists in RAM: the mini-batches are those without a cache, and fewer positions are asked
// for.
#include "snapshot_support.h"

#include "support/graph_dataset.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"

#include <sluice/dataset.h>

#include <doctest/doctest.h>

namespace sluice {
namespace {

using test::Held;
using test::sanitized;
using test::TestGraph;

const std::vector<std::vector<std::int64_t>> kFanouts = {
    {-1}, {5}, {15, 10}, {-1, 3}, {2, 0, 4}, {100, 100}, {3, 3, 3, 3}};

TEST_CASE("whole lists give the batches of no cache, for any graph, size, group and threads") {
  for (std::uint64_t seed = 0; seed < sanitized(60u, 4u); ++seed) {
    CAPTURE(seed);
    const TestGraph graph = test::random_graph(seed);
    const auto& fanout = kFanouts[seed % kFanouts.size()];
    const RandomKey key(seed);
    const test::Requests requests(graph, 9, 30, key.with("group"));
    const auto expected =
        test::group_hashes(graph.open(Held::k32), fanout, key, requests.list, 1, 1);
    for (const double hot : {0.0, 0.1, 0.5, 1.0}) {
      for (const SnapshotHotness hotness :
           {SnapshotHotness::kDegree, SnapshotHotness::kLookAhead}) {
        SnapshotOptions options{.mode = SnapshotMode::kFull, .hot = hot, .hotness = hotness};
        const auto cached = test::snapshot_of(graph.open(Held::kHidden), options, fanout, key);
        const std::size_t size = 1 + seed % 5;
        const int threads = std::vector<int>{1, 2, sanitized(16, 4)}[seed % 3];
        CAPTURE(hot);
        // Twice: as records are filled, and from full ones.
        for (int pass = 0; pass < 2; ++pass) {
          REQUIRE(test::group_hashes(cached->graph(), fanout, key, requests.list, size, threads) ==
                  expected);
        }
        CHECK(cached->stats().edges_read <= SnapshotGraph::bytes_of(graph.open(Held::k32)) / 4);
      }
    }
  }
}

TEST_CASE("relations that are in memory have no lists there a second time, and stay in sight") {
  for (std::uint64_t seed = 0; seed < sanitized(30u, 4u); ++seed) {
    CAPTURE(seed);
    const TestGraph graph = test::random_graph(seed);
    const SamplerGraph memory = graph.open(Held::k32), disk = graph.open(Held::kHidden);
    SamplerGraph mixed = disk, behind{&graph.schema, {}};
    for (std::size_t r = 0; r < mixed.relations.size(); ++r) {
      if (r % 2 == seed % 2)
        mixed.relations[r] = memory.relations[r];
      else
        behind.relations.push_back(disk.relations[r]);
    }
    const RandomKey key(seed);
    const SnapshotOptions options{.mode = SnapshotMode::kFull, .hot = 1};
    const auto cached = test::snapshot_of(mixed, options, {5, 5}, key);
    for (std::size_t r = 0; r < mixed.relations.size(); ++r)
      if (r % 2 == seed % 2) CHECK((cached->graph().relations[r] == mixed.relations[r]));
    // What relations on disk take alone.
    std::uint64_t edges = 0;
    for (const auto& relation : behind.relations) edges += relation->num_edges();
    const test::Requests requests(graph, 9, 30, key.with("group"));
    CHECK(test::group_hashes(cached->graph(), {5, 5}, key, requests.list, 3, 2) ==
          test::group_hashes(memory, {5, 5}, key, requests.list, 1, 1));
    const SnapshotStats stats = cached->stats();
    CHECK(stats.edges_read <= edges);
    if (behind.relations.empty()) CHECK(stats.ram_bytes == 0);
  }
}

TEST_CASE("samplers of one mini-batch, on many threads, get the same from one cache") {
  const TestGraph graph = test::random_graph(11);
  const test::Requests requests(graph, 64, 40, RandomKey(3));
  const std::vector<std::int64_t> fanout = {5, 5};
  const auto expected =
      test::group_hashes(graph.open(Held::k32), fanout, RandomKey(1), requests.list, 1, 1);
  const SnapshotOptions options{.mode = SnapshotMode::kFull, .hot = 0.6};
  const auto cached = test::snapshot_of(graph.open(Held::kHidden), options, fanout, RandomKey(1));
  std::vector<std::uint64_t> found(requests.list.size());
  ThreadArena arena(4);
  arena.for_each(4, [&](std::size_t worker) {
    NeighborSampler sampler(cached->graph(), {fanout}, test::kAllParts, RandomKey(1));
    for (std::size_t i = worker; i < found.size(); i += 4)
      found[i] = hash_batch(sampler.sample(requests.list[i], nullptr).or_throw());
  });
  CHECK(found == expected);
}

// The first nodes have most in-edges, and most edges come from them.
TestGraph power_law(std::uint64_t nodes, std::uint64_t edges) {
  TestGraph graph = test::make_graph({nodes});
  test::EdgeLists lists(nodes);
  const RandomKey key = RandomKey(1).with("power law");
  const auto skewed = [&](std::uint64_t i) {
    const double x = key.uniform(i);
    return std::min(nodes - 1, static_cast<std::uint64_t>(static_cast<double>(nodes) * x * x * x));
  };
  for (std::uint64_t e = 0; e < edges; ++e) lists[skewed(2 * e)].push_back({skewed(2 * e + 1), e});
  test::add_relation(graph, 0, 0, std::move(lists));
  return graph;
}

TEST_CASE("from disk, fewer bytes are read and the batches are the same") {
  const test::TempDir dir;
  const TestGraph graph = power_law(20'000, sanitized(600'000u, 200'000u));
  test::CscArrays csc{{0}, {}, {}};
  for (const auto& list : graph.edges[0]) {
    for (const auto& [source, id] : list) csc.neighbours.push_back(source);
    csc.offsets.push_back(csc.neighbours.size());
  }
  DatasetWriter writer(dir / "x", Overwrite::kRefuse, nullptr);
  writer.schema().nodes = graph.schema.nodes;
  test::add_csc(writer, {.source = "t0", .name = "r0", .target = "t0"}, csc);
  writer.commit("test");
  const Dataset dataset = Dataset::open((dir / "x").string());
  const auto open = [&] {
    const TopologyOptions disk{.placement = Placement::kDisk, .cache_bytes = 0};
    return SamplerGraph{&dataset.schema(), {dataset.topology("t0__r0__t0", disk)}};
  };
  const test::Requests requests(graph, 300, 2, RandomKey(5));
  const std::vector<std::int64_t> fanout = {4, 4};
  const BlockParts parts{.transpose = true};
  const SamplerGraph plain = open();
  const auto expected = test::group_hashes(plain, fanout, RandomKey(1), requests.list, 4, 2, parts);
  const SnapshotOptions options{.mode = SnapshotMode::kFull, .hot = 0.25};
  const SamplerGraph behind = open();
  const auto cached = test::snapshot_of(behind, options, fanout, RandomKey(1));
  const std::uint64_t before = behind.relations[0]->stats().bytes_read;
  CHECK(test::group_hashes(cached->graph(), fanout, RandomKey(1), requests.list, 4, 2, parts) ==
        expected);
  const SnapshotStats stats = cached->stats();
  const std::uint64_t read = behind.relations[0]->stats().bytes_read - before;
  CHECK(read == stats.miss_bytes + stats.refresh_bytes);
  CHECK(read < plain.relations[0]->stats().bytes_read);
  CHECK(stats.pages_not_read() > 0);
}

}  // namespace
}  // namespace sluice
