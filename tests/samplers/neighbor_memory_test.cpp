// The neighbour sampler's memory, failures below it, and a real dataset.
#include "sampler_support.h"

#include "support/sample_dataset.h"
#include "support/temp_dir.h"

#include <sluice/dataset.h>

#include <doctest/doctest.h>

#include <numeric>
#include <optional>

namespace sluice {
namespace {

using test::Held;
using test::TestGraph;

std::uint64_t charged(const MemoryLedger& ledger, std::string_view name) {
  for (const auto& entry : ledger.entries()) {
    if (entry.name == name) return entry.bytes;
  }
  return 0;
}

TEST_CASE("batches and workspace are charged, and all of it is given back") {
  const TestGraph graph = test::random_graph(4);
  MemoryLedger ledger;
  const auto seeds = test::random_seeds(graph, 0, 30, RandomKey(1));
  {
    std::optional<NeighborSampler> sampler(std::in_place,
                                           graph.open(Held::k32),
                                           NeighborSamplerOptions{{60, 60}},
                                           BlockParts{.edge_ids = true, .degrees = true},
                                           RandomKey(1));
    std::optional<Batch> batch = sampler->sample({.seeds = seeds}, &ledger).or_throw();
    const std::uint64_t batch_bytes = charged(ledger, "batches");
    const std::uint64_t workspace_bytes = charged(ledger, "sampler workspace");
    CHECK(batch_bytes > 0);
    CHECK(workspace_bytes > 0);
    CHECK(ledger.used() == batch_bytes + workspace_bytes);
    batch.reset();
    CHECK(ledger.used() == workspace_bytes);
    // The same batch again needs no more workspace.
    batch = sampler->sample({.seeds = seeds}, &ledger).or_throw();
    CHECK(charged(ledger, "sampler workspace") == workspace_bytes);
    sampler.reset();
    CHECK(ledger.used() == batch_bytes);
  }
  CHECK(ledger.used() == 0);
}

TEST_CASE("batches are the same with a slot for each node and with hashed ones") {
  const TestGraph graph = test::random_graph(4);
  const auto seeds = test::random_seeds(graph, 0, 30, RandomKey(1));
  std::vector<std::uint64_t> hashes;
  for (const std::uint64_t bytes : {std::uint64_t{0}, BlockParts{}.table_bytes}) {
    NeighborSampler sampler(graph.open(Held::k32), {{5, 5}}, {.table_bytes = bytes}, RandomKey(1));
    for (std::uint64_t round = 0; round < 3; ++round)
      hashes.push_back(
          hash_batch(sampler.sample({.round = round, .seeds = seeds}, nullptr).or_throw()));
  }
  CHECK(std::equal(hashes.begin(), hashes.begin() + 3, hashes.begin() + 3));
}

TEST_CASE("another ledger takes the workspace over") {
  const TestGraph graph = test::random_graph(4);
  MemoryLedger first, second;
  NeighborSampler sampler(graph.open(Held::k32), {{5, 5}}, {}, RandomKey(1));
  const auto seeds = test::random_seeds(graph, 0, 30, RandomKey(1));
  const std::uint64_t hash = hash_batch(sampler.sample({.seeds = seeds}, &first).or_throw());
  CHECK(hash_batch(sampler.sample({.seeds = seeds}, &second).or_throw()) == hash);
  CHECK(first.used() == 0);
  CHECK(second.used() > 0);
  CHECK(hash_batch(sampler.sample({.seeds = seeds}, nullptr).or_throw()) == hash);
  CHECK(second.used() == 0);
}

TEST_CASE("of edges on disk that lead to few nodes the workspace is of these nodes") {
  // 64 nodes with edges from each of them and again: 2^18 edges are asked for at once.
  constexpr std::uint64_t kNodes = 64;
  TestGraph graph = test::make_graph({kNodes});
  test::EdgeLists lists(kNodes);
  for (std::uint64_t node = 0; node < kNodes; ++node) {
    for (std::uint64_t e = 0; e < 4096; ++e) lists[node].emplace_back(e % kNodes, node * 4096 + e);
  }
  test::add_relation(graph, 0, 0, lists);
  std::vector<std::uint64_t> seeds(kNodes);
  std::iota(seeds.begin(), seeds.end(), 0);
  MemoryLedger ledger;
  NeighborSampler sampler(graph.open(Held::kHidden), {{-1}}, {.table_bytes = 0}, RandomKey(1));
  const Batch batch = sampler.sample({.seeds = seeds}, &ledger).or_throw();
  CHECK(batch.layers[0][0].num_edges() == 4096 * kNodes);
  CHECK(batch.nodes[0].ids.numel() == kNodes);
  // Positions and answers, a quarter more each, and the table: room for all edges took 10 MiB.
  const std::uint64_t asked = 2 * 4096 * kNodes * sizeof(std::uint64_t) * 5 / 4;
  CHECK(charged(ledger, "sampler workspace") < asked + (std::uint64_t{3} << 19));
}

TEST_CASE("a budget too small is an error wherever it strikes, and the sampler works on") {
  const TestGraph graph = test::random_graph(4);
  const auto seeds = test::random_seeds(graph, 0, 30, RandomKey(1));
  const BlockParts parts{.transpose = true, .edge_ids = true, .degrees = true};
  for (const Held held : {Held::k32, Held::kHidden}) {
    MemoryLedger ledger(std::uint64_t{1} << 20);
    NeighborSampler whole(graph.open(held), {{60, 60}}, parts, RandomKey(1));
    const std::uint64_t hash = hash_batch(whole.sample({.seeds = seeds}, nullptr).or_throw());
    NeighborSampler sampler(graph.open(held), {{60, 60}}, parts, RandomKey(1));
    int refused = 0;
    for (std::uint64_t room = 0;; room += 512) {
      REQUIRE(room < ledger.limit());
      const Charge rest =
          ledger.charge("rest", ledger.available() - std::min(ledger.available(), room)).or_throw();
      const auto batch = sampler.sample({.seeds = seeds}, &ledger);
      if (batch) {
        CHECK(hash_batch(batch.value()) == hash);
        break;
      }
      CHECK(batch.error().code() == ErrorCode::kResource);
      CHECK(charged(ledger, "batches") == 0);
      ++refused;
    }
    CHECK(refused > 5);
  }
}

// One node with an unbelievable degree.
class HugeHub final : public Topology {
 public:
  std::uint64_t num_sources() const override { return 1; }
  std::uint64_t num_targets() const override { return 1; }
  std::uint64_t num_edges() const override { return std::uint64_t{1} << 31; }
  Result<void> ranges(std::span<const std::uint64_t>, std::span<EdgeRange> out) override {
    out[0] = {0, num_edges()};
    return {};
  }
  Result<void> neighbours(std::span<const std::uint64_t>, std::span<std::uint64_t> out) override {
    std::fill(out.begin(), out.end(), 0);
    return {};
  }
  Result<void> edge_ids(std::span<const std::uint64_t>, std::span<std::uint64_t>) override {
    return {};
  }
};

TEST_CASE("a block beyond 32-bit edges is refused; a sample of such a node is not") {
  TestGraph graph = test::make_graph({1});
  test::add_relation(graph, 0, 0, test::EdgeLists(1));
  const SamplerGraph opened{&graph.schema, {std::make_shared<HugeHub>()}};
  const std::vector<std::uint64_t> seeds = {0};
  NeighborSampler full(opened, {{-1}}, {}, RandomKey(1));
  const auto refused = full.sample({.seeds = seeds}, nullptr);
  REQUIRE(!refused);
  CHECK(refused.error().code() == ErrorCode::kResource);
  CHECK(refused.error().hint().find("fanout") != std::string::npos);
  NeighborSampler some(opened, {{1000}}, {}, RandomKey(1));
  CHECK(some.sample({.seeds = seeds}, nullptr).or_throw().layers[0][0].num_edges() == 1000);
}

TEST_CASE("a failing disk is passed on") {
  const TestGraph graph = test::random_graph(4);
  const SamplerGraph opened = graph.open(Held::kHidden);
  NeighborSampler sampler(opened, {{60, 60}}, {}, RandomKey(1));
  for (const auto& relation : opened.relations)
    dynamic_cast<test::ListTopology&>(*relation).fail_neighbours = true;
  const auto seeds = test::random_seeds(graph, 0, 30, RandomKey(1));
  const auto failed = sampler.sample({.seeds = seeds}, nullptr);
  REQUIRE(!failed);
  CHECK(failed.error().code() == ErrorCode::kIo);
}

TEST_CASE("a dataset's relation is sampled as its edges say") {
  const test::TempDir dir;
  const test::SampleOptions options{.nodes = 300, .edges = 4000};
  test::write_sample(dir / "data", options);
  const Dataset dataset = Dataset::open((dir / "data").string());
  const SamplerGraph graph{&dataset.schema(), {dataset.topology("node__edge__node")}};
  NeighborSampler sampler(graph, {{-1, 4}}, {.edge_ids = true}, RandomKey(1));
  const Array train = dataset.split("default").train;
  const Batch batch = sampler.sample({.seeds = train.as<std::uint64_t>()}, nullptr).or_throw();
  const auto edges = test::sample_edges(options);  // an edge's id is its number there
  const auto ids = batch.nodes[0].ids.as<std::uint64_t>();
  for (const auto& relations : batch.layers) {
    const Block& block = relations.at(0);
    const auto offsets = block.offsets.as<std::int64_t>();
    for (std::size_t t = 0; t + 1 < offsets.size(); ++t) {
      for (auto e = static_cast<std::size_t>(offsets[t]);
           e < static_cast<std::size_t>(offsets[t + 1]);
           ++e) {
        const auto source = ids[static_cast<std::size_t>(block.neighbours.as<std::int32_t>()[e])];
        REQUIRE(edges[block.edge_ids.as<std::uint64_t>()[e]] == std::pair(source, ids[t]));
      }
    }
  }
  CHECK(batch.layers[1][0].num_edges() >= 0);
}

}  // namespace
}  // namespace sluice
