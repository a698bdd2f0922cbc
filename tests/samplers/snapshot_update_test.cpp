// Edges that are appended, changed and deleted under a cache: nothing stale is answered, and what
// still holds stays.
#include "snapshot_support.h"

#include "prep/import_support.h"
#include "prep/update/append.h"
#include "support/sanitized.h"

#include <doctest/doctest.h>

namespace sluice {
namespace {

using test::Held;
using test::sanitized;
using test::TestGraph;

SnapshotOptions options_of(SnapshotMode mode) {
  return {.mode = mode, .hot = 1, .alpha = 1.5, .period = 8, .gamma = 0.3};
}

using test::kModes;

// Its schema outlives what was opened: update() takes topologies of a later graph.
TestGraph with_lists(const TestGraph& graph, std::size_t relation, test::EdgeLists lists) {
  TestGraph other = graph;
  other.edges[relation] = std::move(lists);
  return other;
}

// Some nodes get edges, at the end of their lists; others lose their last one.
test::EdgeLists changed_lists(const test::EdgeLists& lists,
                              std::uint64_t sources,
                              std::uint64_t& edge,
                              RandomKey key) {
  test::EdgeLists out = lists;
  for (std::uint64_t t = 0; t < out.size(); ++t) {
    const std::uint64_t kind = key.below(10, t);
    if (kind == 0 && !out[t].empty()) out[t].pop_back();
    if (kind != 1) continue;
    for (std::uint64_t i = 0; i < 1 + key.below(20, 1000 + t); ++i)
      out[t].push_back({key.below(sources, 2000 + 50 * t + i), 1'000'000 + edge++});
  }
  return out;
}

TEST_CASE("after an update batches are those of a cache made for the later edges") {
  for (std::uint64_t seed = 0; seed < sanitized(30u, 6u); ++seed) {
    CAPTURE(seed);
    const TestGraph graph = test::random_graph(seed);
    TestGraph later = graph;
    std::uint64_t edge = 0;
    for (std::size_t r = 0; r < graph.edges.size(); ++r) {
      const std::uint64_t sources = graph.schema.node_type(graph.schema.relations[r].source)->count;
      later.edges[r] = changed_lists(graph.edges[r], sources, edge, RandomKey(seed).with(r));
    }
    const std::vector<std::int64_t> fanout = {6, 4};
    const RandomKey key(seed);
    const test::Requests requests(graph, 20, 30, key.with("group"));
    const auto all = std::span(requests.list);
    for (const SnapshotMode mode : kModes) {
      const auto hashes = [&](const SnapshotGraph& from, std::span<const SampleRequest> some) {
        return test::group_hashes(from.graph(), fanout, key, some, 3, 2);
      };
      MemoryLedger ledger;
      const auto cached =
          test::snapshot_of(graph.open(Held::kHidden), options_of(mode), fanout, key, &ledger);
      (void)hashes(*cached, all.first(10));
      const std::uint64_t edges_read = cached->stats().edges_read;
      cached->update(later.open(Held::kHidden)).or_throw();

      // The same nodes are hot: they are chosen by the sources of edges, which are hardly others.
      const auto anew = test::snapshot_of(later.open(Held::kHidden), options_of(mode), fanout, key);
      const auto found = hashes(*cached, all.subspan(10));
      if (mode == SnapshotMode::kFull) {
        REQUIRE(found ==
                test::group_hashes(later.open(Held::k32), fanout, key, all.subspan(10), 1, 1));
        // What did not change was not read again.
        const std::uint64_t again = cached->stats().edges_read - edges_read;
        (void)hashes(*anew, all);
        CHECK(again <= anew->stats().edges_read);
      } else if (cached->stats().records == anew->stats().records) {
        REQUIRE(found == hashes(*anew, all.subspan(10)));
      }
    }
  }
}

// `nodes` of `degree` in-edges each; ids count up. Another node, that no edge comes from, has many:
// so the graph is large enough for records of all the rest.
TestGraph regular(std::uint64_t nodes, std::uint64_t degree) {
  TestGraph graph = test::make_graph({nodes + 1});
  test::EdgeLists lists(nodes + 1);
  for (std::uint64_t i = 0; i < nodes * degree; ++i) lists[nodes].push_back({0, 7000 + i});
  for (std::uint64_t t = 0; t < nodes; ++t) {
    for (std::uint64_t i = 0; i < degree; ++i)
      lists[t].push_back({(t + i) % nodes, t * degree + i});
  }
  test::add_relation(graph, 0, 0, lists);
  return graph;
}

struct Rounds {
  explicit Rounds(std::uint64_t nodes) : seeds(nodes) {
    for (std::uint64_t n = 0; n < nodes; ++n) seeds[n] = n;
  }
  Batch sample(const SnapshotGraph& from, std::uint64_t round) {
    ThreadArena arena(1);
    GroupSampler sampler(from.graph(), {{6}}, test::kAllParts, RandomKey(1), arena);
    const SampleRequest request{.round = round, .index = round, .seeds = seeds};
    return std::move(sampler.sample({&request, 1}, nullptr).or_throw()[0]);
  }
  std::vector<std::uint64_t> seeds;
};

TEST_CASE("only records of nodes whose edges changed are read again") {
  const TestGraph graph = regular(50, 40);
  for (const SnapshotMode mode : kModes) {
    CAPTURE(static_cast<int>(mode));
    const auto cached =
        test::snapshot_of(graph.open(Held::kHidden), options_of(mode), {6}, RandomKey(1));
    Rounds rounds(50);
    (void)rounds.sample(*cached, 0);
    const SnapshotStats before = cached->stats();
    CHECK(before.filled == 50);
    test::EdgeLists lists = graph.edges[0];
    lists[7].push_back({3, 99'000});  // one more
    lists[9].clear();                 // none any more
    lists[11][5].first = 30;          // another one in place of one: only the caller knows
    const TestGraph later = with_lists(graph, 0, lists);
    const std::vector<std::vector<std::uint64_t>> told(1, std::vector<std::uint64_t>{11});
    cached->update(later.open(Held::kHidden), told).or_throw();
    const Batch batch = rounds.sample(*cached, 1);
    const SnapshotStats after = cached->stats();
    CHECK(after.invalidated == 3);
    CHECK(after.filled - before.filled == 2);
    const auto degrees = batch.nodes[0].degrees.as<std::int64_t>();
    CHECK(degrees[7] == 41);
    CHECK(degrees[9] == 0);
    const auto offsets = batch.layers[0][0].offsets.as<std::int64_t>();
    CHECK(offsets[10] == offsets[9]);
    // Of what an earlier generation had nothing is left: every edge is one of the later ones.
    const auto rows = batch.layers[0][0].neighbours.as<std::int32_t>();
    const auto ids = batch.layers[0][0].edge_ids.as<std::uint64_t>();
    for (std::size_t t = 0; t < 50; ++t) {
      for (auto e = static_cast<std::size_t>(offsets[t]);
           e < static_cast<std::size_t>(offsets[t + 1]);
           ++e) {
        const std::pair<std::uint64_t, std::uint64_t> drawn{
            batch.nodes[0].ids.as<std::uint64_t>()[static_cast<std::size_t>(rows[e])], ids[e]};
        REQUIRE(std::ranges::count(lists[t], drawn) == 1);
      }
    }
  }
}

TEST_CASE("records that were dropped are drawn as before, and nodes may be added") {
  for (const SnapshotMode mode : kModes) {
    const TestGraph graph = regular(50, 40);
    auto cached = test::snapshot_of(graph.open(Held::kHidden), options_of(mode), {6}, RandomKey(1));
    Rounds rounds(50);
    const auto expected = hash_batch(rounds.sample(*cached, 3));
    auto& topology = dynamic_cast<SnapshotTopology&>(*cached->graph().relations[0]);
    const std::vector<std::uint64_t> some{4, 5, 49};
    topology.invalidate(some);
    CHECK(cached->stats().invalidated == 3);
    CHECK(hash_batch(rounds.sample(*cached, 3)) == expected);

    TestGraph later = graph;
    later.schema.nodes[0].count = 1000;
    later.edges[0].resize(1000);
    for (std::uint64_t i = 0; i < 10; ++i) later.edges[0][999].push_back({i, 5000 + i});
    cached->update(later.open(Held::kHidden)).or_throw();
    CHECK(cached->stats().invalidated == 3);
    Rounds more(1000);
    const auto offsets_of = [](const Batch& batch) {
      return batch.layers[0][0].offsets.as<std::int64_t>()[1000];
    };
    CHECK(offsets_of(more.sample(*cached, 4)) == 52 * 6);
    const auto fewer = cached->update(graph.open(Held::kHidden));
    REQUIRE(!fewer);
    CHECK(fewer.error().code() == ErrorCode::kUsage);
  }
}

TEST_CASE("a list that has no room any more is asked of the topology behind") {
  const TestGraph graph = regular(50, 40);
  SnapshotOptions options = options_of(SnapshotMode::kFull);
  const SamplerGraph opened = graph.open(Held::kHidden);
  options.bytes.bytes = SnapshotGraph::bytes_of(opened) / 2;
  const auto cached = test::snapshot_of(opened, options, {6}, RandomKey(1));
  Rounds rounds(50);
  (void)rounds.sample(*cached, 0);
  test::EdgeLists lists = graph.edges[0];
  for (std::uint64_t t = 0; t < 50; ++t) {
    for (std::uint64_t i = 0; i < 400; ++i) lists[t].push_back({i % 50, 10'000 + 400 * t + i});
  }
  const TestGraph later = with_lists(graph, 0, lists);
  cached->update(later.open(Held::kHidden)).or_throw();
  CHECK(cached->stats().ram_bytes <= options.bytes.bytes);
  const test::Requests requests(later, 10, 50, RandomKey(3));
  CHECK(test::group_hashes(cached->graph(), {6}, RandomKey(1), requests.list, 3, 2) ==
        test::group_hashes(later.open(Held::k32), {6}, RandomKey(1), requests.list, 1, 1));
}

// "src,dst" of edges between n0 ... n199.
std::string csv(std::uint64_t first, std::uint64_t last) {
  const RandomKey key = RandomKey(8).with("csv");
  std::string text = "src,dst\n";
  for (std::uint64_t i = 0; i < 200; ++i)
    if (first == 0) text += fmt::format("n{},n{}\n", i, (i + 1) % 200);
  for (std::uint64_t i = first; i < last; ++i)
    text += fmt::format("n{},n{}\n", key.below(200, 2 * i), key.below(200, 2 * i + 1));
  return text;
}

TEST_CASE("a dataset that gets a tenth more edges while it is sampled") {
  test::ImportFolder folder;
  folder.write("base.csv", csv(0, 4000));
  folder.write("more.csv", csv(4000, 4400));
  folder.run("[[nodes]]\nids = \"string\"\n[[edges]]\nfile = \"base.csv\"\n");
  const auto open = [&](Placement placement) {
    const Dataset dataset = Dataset::open(folder.out().string());
    const auto schema = std::make_shared<GraphSchema>(dataset.schema());
    const std::string key = schema->relations[0].key();
    return std::pair(schema,
                     SamplerGraph{schema.get(), {dataset.topology(key, {.placement = placement})}});
  };
  const auto [schema, base] = open(Placement::kDisk);
  const SnapshotOptions options = {.mode = SnapshotMode::kFull, .hot = 0.5};
  const auto cached = test::snapshot_of(base, options, {5, 5}, RandomKey(1));
  TestGraph nodes = test::make_graph({200});
  const test::Requests requests(nodes, 20, 20, RandomKey(2));
  const auto hashes = [&](const SamplerGraph& graph) {
    return test::group_hashes(graph, {5, 5}, RandomKey(1), requests.list, 4, 2);
  };
  CHECK(hashes(cached->graph()) == hashes(open(Placement::kMemory).second));

  MemoryLedger ledger;
  ThreadArena arena(2);
  const auto log = make_silent_logger();
  PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
  const TableFormats formats = table_formats();
  GraphSpec spec(formats);
  Config::parse("[[edges]]\nfile = \"more.csv\"\n", "append.toml").bind_to(spec);
  append_to_dataset(folder.out(), std::move(spec), formats, folder.dir / "raw", "test", context);
  // From the log they are read in memory; compacted, from disk.
  const auto [in_log, appended] = open(Placement::kMemory);
  cached->update(appended).or_throw();
  CHECK(cached->stats().invalidated > 0);
  CHECK(hashes(cached->graph()) == hashes(appended));
  compact_dataset(folder.out(), "test", context);
  const auto [folded, compacted] = open(Placement::kDisk);
  const std::uint64_t invalidated = cached->stats().invalidated;
  cached->update(compacted).or_throw();
  CHECK(cached->stats().invalidated == invalidated);  // the same edges
  CHECK(hashes(cached->graph()) == hashes(open(Placement::kMemory).second));
}

}  // namespace
}  // namespace sluice
