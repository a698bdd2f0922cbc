// Groups of mini-batches from disk, against batches sampled one by one from RAM.
#include "samplers/group_sampler.h"

#include "disk_graph.h"

#include "support/sanitized.h"
#include "support/temp_dir.h"

#include <sluice/dataset.h>

#include <doctest/doctest.h>

#include <fstream>
#include <ios>

namespace sluice {
namespace {

using test::Held;
using test::sanitized;
using test::TempDir;
using test::TestGraph;

using test::kAllParts;

// The requests of a group, with what they refer to.
struct Group {
  std::vector<std::vector<std::uint64_t>> seeds;
  std::vector<SampleRequest> requests;

  Group(const TestGraph& graph, std::size_t count, std::size_t batch_size, RandomKey key)
      : seeds(count), requests(count) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t type = key.below(graph.schema.nodes.size(), i);
      seeds[i] = test::random_seeds(graph, type, batch_size, key.with(i));
      requests[i] = {.epoch = 1, .round = i, .index = i, .seeds = {seeds[i], type}};
    }
  }
};

std::vector<std::uint64_t> hashes(const std::vector<Batch>& batches) {
  std::vector<std::uint64_t> out;
  for (const Batch& batch : batches) out.push_back(hash_batch(batch));
  return out;
}

// One by one, in RAM.
std::vector<std::uint64_t> expected_hashes(const TestGraph& graph,
                                           const std::vector<std::int64_t>& fanout,
                                           RandomKey key,
                                           const Group& group) {
  NeighborSampler sampler(graph.open(Held::k32), {fanout}, kAllParts, key);
  std::vector<std::uint64_t> out;
  for (const SampleRequest& request : group.requests)
    out.push_back(hash_batch(sampler.sample(request, nullptr).or_throw()));
  return out;
}

const std::vector<std::vector<std::int64_t>> kFanouts = {
    {}, {-1}, {0}, {5}, {15, 10}, {-1, 3}, {2, 0, 4}, {100, 100}, {-1, -1, -1}, {3, 3, 3, 3}};

TEST_CASE(
    "batches from disk are those from RAM, for any graph, engine, cache, buffer, group and number "
    "of threads") {
  for (std::uint64_t seed = 0; seed < sanitized(40u, 10u); ++seed) {
    CAPTURE(seed);
    const TempDir dir;
    const TestGraph graph = test::random_graph(seed);
    test::write_graph(dir / "x", graph);
    const Dataset dataset = Dataset::open((dir / "x").string());
    const auto& fanout = kFanouts[seed % kFanouts.size()];
    const RandomKey key(seed);
    const Group group(graph, 8, 30, key.with("group"));
    const auto expected = expected_hashes(graph, fanout, key, group);
    for (std::uint64_t variant = 0; variant < 12; ++variant) {
      const TopologyOptions options{
          .placement = Placement::kDisk,
          .io = variant % 2 == 0 ? IoChoice::kAuto : IoChoice::kPread,
          .staging_bytes = variant % 4 < 2 ? 1u : 1u << 20,
          .cache_bytes = std::vector<std::uint64_t>{0, 9000, 1 << 20}[variant % 3]};
      ThreadArena arena(std::vector<int>{1, 2, 4}[(variant + seed) % 3]);
      GroupSampler sampler(test::open_graph(dataset, options), {fanout}, kAllParts, key, arena);
      CHECK(!sampler.resident());
      const std::size_t size = 1 + (variant + seed) % 8;
      CAPTURE(variant);
      CAPTURE(size);
      std::vector<std::uint64_t> found;
      for (std::size_t at = 0; at < group.requests.size(); at += size) {
        const std::size_t count = std::min(size, group.requests.size() - at);
        const auto some = std::span(group.requests).subspan(at, count);
        const auto batches = sampler.sample(some, nullptr).or_throw();
        for (const std::uint64_t hash : hashes(batches)) found.push_back(hash);
      }
      REQUIRE(found == expected);
    }
  }
}

TEST_CASE("groups from RAM, and from a mixture of RAM and disk, are the same batches") {
  for (std::uint64_t seed = 0; seed < sanitized(40u, 20u); ++seed) {
    CAPTURE(seed);
    const TestGraph graph = test::random_graph(seed);
    const auto& fanout = kFanouts[seed % kFanouts.size()];
    const Group group(graph, 7, 20, RandomKey(seed).with("group"));
    const auto expected = expected_hashes(graph, fanout, RandomKey(seed), group);
    SamplerGraph mixed = graph.open(Held::kHidden);
    mixed.relations.front() = graph.open(Held::k32).relations.front();
    for (const int threads : {1, 2, 4}) {
      ThreadArena arena(threads);
      GroupSampler resident(graph.open(Held::k32), {fanout}, kAllParts, RandomKey(seed), arena);
      GroupSampler partly(mixed, {fanout}, kAllParts, RandomKey(seed), arena);
      CHECK(resident.resident());
      CHECK(resident.group_size() == static_cast<std::size_t>(threads));
      CHECK(hashes(resident.sample(group.requests, nullptr).or_throw()) == expected);
      CHECK(hashes(partly.sample(group.requests, nullptr).or_throw()) == expected);
    }
  }
}

TEST_CASE("a group asks a topology on disk once a hop and relation") {
  TestGraph graph = test::make_graph({100, 80});
  test::add_relation(graph, 0, 1, test::random_lists(100, 80, RandomKey(1)));
  test::add_relation(graph, 1, 0, test::random_lists(80, 100, RandomKey(2)));
  const SamplerGraph opened = graph.open(Held::kHidden);
  ThreadArena arena(2);
  GroupSampler sampler(opened, {{4, 4, 4}}, {}, RandomKey(1), arena);
  const Group group(graph, 8, 10, RandomKey(1));
  CHECK(sampler.sample(group.requests, nullptr));
  for (const auto& relation : opened.relations)
    CHECK(dynamic_cast<test::ListTopology&>(*relation).neighbour_calls <= 3);
}

// One node with a million in-edges, and 99 with a few.
TestGraph hub_graph() {
  TestGraph graph = test::make_graph({100});
  test::EdgeLists lists(100);
  for (std::uint64_t e = 0; e < 1'000'000; ++e) lists[0].push_back({e % 100, e});
  for (std::uint64_t n = 1; n < 100; ++n) lists[n].push_back({n / 2, 1'000'000 + n});
  test::add_relation(graph, 0, 0, std::move(lists));
  return graph;
}

TEST_CASE("a node with a million neighbours costs at most a page a draw") {
  const TempDir dir;
  const TestGraph graph = hub_graph();
  test::write_graph(dir / "x", graph);
  const Dataset dataset = Dataset::open((dir / "x").string());
  const std::vector<std::uint64_t> hub{0};
  ThreadArena arena(1);
  std::uint64_t most = 0;
  for (std::uint64_t round = 0; round < 20; ++round) {
    const SamplerGraph opened = test::open_graph(dataset, {Placement::kDisk, {}, 1 << 20, 0});
    GroupSampler sampler(opened, {{15}}, {.transpose = true}, RandomKey(1), arena);
    const SampleRequest request{.round = round, .seeds = hub};
    const auto batches = sampler.sample({&request, 1}, nullptr).or_throw();
    REQUIRE(batches[0].layers[0][0].num_edges() == 15);
    const TopologyStats stats = opened.relations[0]->stats();
    // A page each, and at most four between two that are read through.
    CHECK(stats.bytes_read <= (15 + 4 * 14) * kPageBytes);
    CHECK(stats.requests <= 15);
    CHECK(stats.positions == 15);
    most = std::max(most, stats.requests);
  }
  CHECK(most > 10);  // of 977 pages, rarely two draws near each other
}

TEST_CASE("batches of a group share the pages they read") {
  const TempDir dir;
  TestGraph graph = test::make_graph({2000});
  test::EdgeLists lists(2000);
  const RandomKey key = RandomKey(3).with("edges");
  for (std::uint64_t e = 0; e < 100'000; ++e)
    lists[key.below(2000, 2 * e)].push_back({key.below(2000, 2 * e + 1), e});
  test::add_relation(graph, 0, 0, std::move(lists));
  test::write_graph(dir / "x", graph);
  const Dataset dataset = Dataset::open((dir / "x").string());
  const Group group(graph, 8, 16, RandomKey(5));
  const auto bytes_read = [&](std::size_t size) {
    ThreadArena arena(2);
    const SamplerGraph opened = test::open_graph(dataset, {Placement::kDisk, {}, 1 << 20, 0});
    GroupSampler sampler(opened, {{5, 5}}, {}, RandomKey(1), arena);
    for (std::size_t at = 0; at < 8; at += size)
      (void)sampler.sample(std::span(group.requests).subspan(at, size), nullptr).or_throw();
    return opened.relations[0]->stats().bytes_read;
  };
  const std::uint64_t apart = bytes_read(1);
  const std::uint64_t together = bytes_read(8);
  CAPTURE(apart);
  CHECK(together < apart / 2);
}

TEST_CASE("an error of one batch is the group's, and the sampler works on") {
  const TestGraph graph = test::random_graph(4);
  Group group(graph, 5, 20, RandomKey(1));
  const auto expected = expected_hashes(graph, {60, 60}, RandomKey(1), group);
  for (const Held held : {Held::k32, Held::kHidden}) {
    MemoryLedger ledger;
    {
      ThreadArena arena(2);
      const SamplerGraph opened = graph.open(held);
      GroupSampler sampler(opened, {{60, 60}}, kAllParts, RandomKey(1), arena);
      auto bad = group.requests;
      const std::vector<std::uint64_t> twice = {0, 0};
      const std::vector<std::uint64_t> beyond = {100'000};
      bad[4].seeds = beyond;
      bad[2].seeds = twice;
      const auto refused = sampler.sample(bad, &ledger);
      REQUIRE_FALSE(refused);
      CHECK(refused.error().message() == "seed 0 appears twice in mini-batch 2");
      for (const auto& relation : opened.relations)
        dynamic_cast<test::ListTopology&>(*relation).fail_neighbours = held == Held::kHidden;
      if (held == Held::kHidden)
        CHECK(sampler.sample(group.requests, &ledger).error().code() == ErrorCode::kIo);
      for (const auto& relation : opened.relations)
        dynamic_cast<test::ListTopology&>(*relation).fail_neighbours = false;
      // Nothing of a failed group stays charged but workspace.
      for (const auto& entry : ledger.entries())
        CHECK((entry.name == "sampler workspace" || entry.bytes == 0));
      CHECK(hashes(sampler.sample(group.requests, &ledger).or_throw()) == expected);
      CHECK(ledger.used() == sampler.workspace_bytes());
      CHECK(ledger.used() > 0);
      sampler.release();
      CHECK(ledger.used() == 0);
      CHECK(hashes(sampler.sample(group.requests, &ledger).or_throw()) == expected);
      CHECK(hashes(sampler.sample(group.requests, nullptr).or_throw()) == expected);
      CHECK(ledger.used() == 0);
      CHECK(sampler.sample({}, &ledger).or_throw().empty());
    }
    CHECK(ledger.used() == 0);
  }
}

TEST_CASE("a budget too small is an error wherever it strikes a group, and the sampler works on") {
  const TestGraph graph = test::random_graph(4);
  const Group group(graph, 3, 30, RandomKey(1));
  const auto expected = expected_hashes(graph, {60, 60}, RandomKey(1), group);
  MemoryLedger ledger(std::uint64_t{4} << 20);
  ThreadArena arena(2);
  GroupSampler sampler(graph.open(Held::kHidden), {{60, 60}}, kAllParts, RandomKey(1), arena);
  int refused = 0;
  for (std::uint64_t room = 0;; room += 4096) {
    REQUIRE(room < ledger.limit());
    const Charge rest =
        ledger.charge("rest", ledger.available() - std::min(ledger.available(), room)).or_throw();
    const auto batches = sampler.sample(group.requests, &ledger);
    if (batches) {
      CHECK(hashes(batches.value()) == expected);
      break;
    }
    CHECK(batches.error().code() == ErrorCode::kResource);
    ++refused;
  }
  CHECK(refused > 5);
}

TEST_CASE("a damaged page of edges fails the group with its name") {
  const TempDir dir;
  test::write_graph(dir / "x", hub_graph());
  const std::filesystem::path path = dir / "x/edges/t0__r0__t0/neighbours.bin";
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(20'000).put('\x55');
  const Dataset dataset = Dataset::open((dir / "x").string());
  ThreadArena arena(2);
  GroupSampler sampler(
      test::open_graph(dataset, {Placement::kDisk}), {{-1}}, kAllParts, RandomKey(1), arena);
  const std::vector<std::uint64_t> hub{0}, other{50};
  const std::vector<SampleRequest> requests{{.seeds = other}, {.seeds = hub}};
  const auto failed = sampler.sample(requests, nullptr);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code() == ErrorCode::kData);
  CHECK(std::string(failed.error().what()).find(path.string() + " at byte 16384: ") == 0);
  CHECK(sampler.sample(std::span(requests).first(1), nullptr));
}

}  // namespace
}  // namespace sluice
