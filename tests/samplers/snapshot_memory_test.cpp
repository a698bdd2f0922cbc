// What a cache takes and refuses, and that it survives failures.
#include "snapshot_support.h"

#include "support/expect_error.h"
#include "support/sanitized.h"

#include <doctest/doctest.h>

namespace sluice {
namespace {

using test::Held;
using test::TestGraph;

using test::kModes;

std::uint64_t charged(const MemoryLedger& ledger, const std::string& name) {
  for (const MemoryLedger::Entry& entry : ledger.entries())
    if (entry.name == name) return entry.bytes;
  return 0;
}

TEST_CASE("numbers and nodes of a hot set are each other's inverse") {
  for (const std::uint64_t nodes : {1u, 63u, 64u, 511u, 512u, 513u, 5000u}) {
    for (const std::uint64_t one_of : {1u, 2u, 100u, 1000u}) {
      std::vector<std::uint64_t> hot;
      for (std::uint64_t n = 0; n < nodes; ++n)
        if (RandomKey(one_of).below(one_of, n) == 0) hot.push_back(n);
      MemoryLedger ledger;
      const HotSet set = HotSet::make(nodes, hot, &ledger).or_throw();
      const HotSet grown = set.grown(3 * nodes, &ledger).or_throw();
      REQUIRE(set.size() == hot.size());
      REQUIRE(set.bytes() == HotSet::bytes_of(nodes));
      REQUIRE(ledger.used() >= set.bytes() + grown.bytes());
      std::uint32_t number = 0;
      for (std::uint64_t n = 0; n < 3 * nodes; ++n) {
        const bool is_hot = number < hot.size() && hot[number] == n;
        REQUIRE(grown.find(n) == (is_hot ? number : HotSet::kNone));
        if (n < nodes) REQUIRE(set.find(n) == grown.find(n));
        if (!is_hot) continue;
        REQUIRE(set.node(number) == n);
        REQUIRE(grown.node(number++) == n);
      }
    }
  }
}

TEST_CASE("what it takes is what it was given, and is charged") {
  for (std::uint64_t seed = 0; seed < test::sanitized(20u, 5u); ++seed) {
    const TestGraph graph = test::random_graph(seed);
    const SamplerGraph opened = graph.open(Held::kHidden);
    for (const SnapshotMode mode : kModes) {
      for (const double hot : {0.05, 0.3, 1.0}) {
        MemoryLedger ledger;
        {
          const auto cached =
              test::snapshot_of(opened, {.mode = mode, .hot = hot}, {5}, RandomKey(seed), &ledger);
          const SnapshotStats stats = cached->stats();
          // Each of a relation's seven arrays is charged to the next 64 bytes.
          const std::uint64_t padding = charged(ledger, "snapshot") - stats.ram_bytes;
          CHECK(padding <= 7 * 63 * opened.relations.size());
          CHECK(static_cast<double>(stats.ram_bytes) <=
                hot * static_cast<double>(SnapshotGraph::bytes_of(opened)));
        }
        CHECK(ledger.used() == 0);
      }
    }
  }
}

TEST_CASE("a cache larger than the graph, and records without a bound, are refused") {
  const TestGraph graph = test::random_graph(3);
  const SamplerGraph opened = graph.open(Held::kHidden);
  const auto made = [&](SnapshotOptions options, std::vector<std::int64_t> fanout) {
    return SnapshotGraph::make(opened, options, {.fanout = fanout}, nullptr);
  };
  SnapshotOptions options{.mode = SnapshotMode::kFull};
  options.bytes.bytes = SnapshotGraph::bytes_of(opened);
  CHECK(made(options, {5}));
  ++options.bytes.bytes;
  const auto larger = made(options, {5});
  REQUIRE(!larger);
  CHECK(larger.error().code() == ErrorCode::kUsage);
  CHECK(larger.error().message().find("snapshot.bytes asks for") == 0);
  CHECK(larger.error().hint().find("storage.topology = \"memory\"") != std::string::npos);
  // Of relations in memory whole lists take nothing, whatever was asked for.
  --options.bytes.bytes;
  const auto none = SnapshotGraph::make(graph.open(Held::k32), options, {.fanout = {5}}, nullptr);
  REQUIRE(none);
  CHECK(none.value()->stats().ram_bytes == 0);
  CHECK(made({.mode = SnapshotMode::kFull}, {5, -1}));
  for (const SnapshotOptions& wrong :
       {SnapshotOptions{.mode = SnapshotMode::kFull, .hot = -1},
        SnapshotOptions{.mode = SnapshotMode::kFull, .hot = 1.5},
        SnapshotOptions{.mode = SnapshotMode::kRefresh, .alpha = 0},
        SnapshotOptions{.mode = SnapshotMode::kRefresh, .period = 0},
        SnapshotOptions{.mode = SnapshotMode::kOnTheFly, .gamma = 7}}) {
    const auto refused = made(wrong, {5});
    REQUIRE(!refused);
    CHECK(refused.error().code() == ErrorCode::kUsage);
  }
  const auto unbounded = made({.mode = SnapshotMode::kRefresh}, {5, -1});
  REQUIRE(!unbounded);
  CHECK(unbounded.error().code() == ErrorCode::kUsage);
  CHECK(unbounded.error().hint().find("\"full\"") != std::string::npos);
}

TEST_CASE("a budget too small refuses the cache, and is never exceeded where it does not") {
  TestGraph graph = test::make_graph({2000});
  test::add_relation(graph, 0, 0, test::random_lists(2000, 2000, RandomKey(1)));
  const SamplerGraph opened = graph.open(Held::kHidden);
  const test::Requests requests(graph, 12, 100, RandomKey(1));
  for (const SnapshotMode mode : kModes) {
    const SnapshotOptions options{.mode = mode, .hot = 0.4, .period = 3};
    std::vector<std::uint64_t> expected;
    int refused = 0, failed = 0, done = 0;
    for (std::uint64_t limit = 64 << 10; done < 3; limit += 64 << 10) {
      MemoryLedger ledger(limit, "[memory] host");
      auto made =
          SnapshotGraph::make(opened, options, {.fanout = {8, 4}, .key = RandomKey(1)}, &ledger);
      if (!made) {
        ++refused;
        CHECK(made.error().code() == ErrorCode::kResource);
        CHECK(made.error().message().find("the snapshot cache does not fit the budget") == 0);
        CHECK(made.error().hint().find("snapshot.hot") != std::string::npos);
        CHECK(ledger.used() == 0);
        continue;
      }
      ThreadArena arena(2);
      GroupSampler sampler(made.value()->graph(), {{8, 4}}, test::kAllParts, RandomKey(1), arena);
      const auto batches = sampler.sample(requests.list, &ledger);
      CHECK(ledger.peak() <= limit);
      if (!batches) {
        ++failed;
        continue;
      }
      ++done;
      std::vector<std::uint64_t> hashes;
      for (const Batch& batch : batches.value()) hashes.push_back(hash_batch(batch));
      if (expected.empty()) expected = hashes;
      CHECK(hashes == expected);  // whatever the budget
    }
    CHECK(refused > 0);
    CHECK(failed > 0);
  }
}

TEST_CASE("after a failed read the next one gives what it would have") {
  const TestGraph graph = test::random_graph(4);
  const test::Requests requests(graph, 12, 30, RandomKey(1));
  const std::vector<std::int64_t> fanout = {7, 7};
  for (const SnapshotMode mode : kModes) {
    const SnapshotOptions options{.mode = mode, .hot = 0.8, .alpha = 1.5, .period = 3};
    const auto expected = test::group_hashes(
        test::snapshot_of(graph.open(Held::kHidden), options, fanout, RandomKey(1))->graph(),
        fanout,
        RandomKey(1),
        requests.list,
        1,
        1);
    const SamplerGraph opened = graph.open(Held::kHidden);
    const auto cached = test::snapshot_of(opened, options, fanout, RandomKey(1));
    ThreadArena arena(2);
    GroupSampler sampler(cached->graph(), {fanout}, test::kAllParts, RandomKey(1), arena);
    const auto set_failing = [&](bool failing) {
      for (const auto& relation : opened.relations)
        dynamic_cast<test::ListTopology&>(*relation).fail_neighbours = failing;
    };
    for (std::size_t i = 0; i < requests.list.size(); ++i) {
      const auto one = std::span(requests.list).subspan(i, 1);
      set_failing(i % 2 == 0);
      if (auto batches = sampler.sample(one, nullptr); !batches)
        CHECK(batches.error().code() == ErrorCode::kIo);
      set_failing(false);
      if (i % 4 == 2) continue;  // this one not at all: its wanted records are of a past period
      CHECK(hash_batch(sampler.sample(one, nullptr).or_throw()[0]) == expected[i]);
    }
  }
}

TEST_CASE("off is no cache; names and defaults of the keys") {
  SnapshotOptions options;
  CHECK(!options.approximate());
  Config::parse(
      "mode = \"on_the_fly\"\nhot = 0.2\nbytes = \"3MiB\"\nalpha = 3\nperiod = 7\n"
      "gamma = 0.5\nhotness = \"look_ahead\"\n",
      "x.toml")
      .bind_to(options);
  CHECK(options.mode == SnapshotMode::kOnTheFly);
  CHECK(options.approximate());
  CHECK(options.bytes.bytes == 3 * kMiB);
  CHECK(options.hotness == SnapshotHotness::kLookAhead);
  const Error error =
      test::expect_error([&] { Config::parse("gamma = 0\n", "x.toml").bind_to(options); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(error.message().find("gamma") != std::string::npos);
}

}  // namespace
}  // namespace sluice
