// Neighbours drawn among resident partitions: what topologies show of a few partitions, and what
// samplers draw over them, by the plain edge lists; all partitions are the sampler by itself.
#include "samplers/in_buffer_sampler.h"

#include "batch_checks.h"
#include "samplers/group_sampler.h"
#include "samplers/in_buffer_topology.h"
#include "samplers/labor_sampler.h"
#include "samplers/ladies_sampler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <utility>

namespace sluice {
namespace {

using test::EdgeLists;
using test::Held;
using test::kAllParts;
using test::ListTopology;
using test::TestGraph;

constexpr std::uint32_t kBufferPartitions = 6;

std::uint64_t in_buffer_seed() {
  return std::random_device{}();
}

// Nodes divided into partitions; of several types the last is not.
InBufferNodes divided(const TestGraph& graph) {
  InBufferNodes nodes;
  nodes.types.resize(graph.schema.nodes.size());
  const std::size_t types = nodes.types.size() == 1 ? 1 : nodes.types.size() - 1;
  for (std::size_t type = 0; type < types; ++type) {
    const std::uint64_t count = graph.schema.nodes[type].count;
    nodes.types[type] = {count, (count + kBufferPartitions - 1) / kBufferPartitions};
  }
  return nodes;
}

// Buckets of some links each: 2 mini-batches a bucket.
std::shared_ptr<const BucketTour> tour_over(const InBufferNodes& nodes) {
  BucketTourOptions way;
  way.order = {BucketOrderKind::kBeta, kBufferPartitions, 3, 1};
  way.key = RandomKey(5);
  way.links.assign(std::size_t{kBufferPartitions} * kBufferPartitions, 20);
  way.sources = way.destinations = nodes.types.front();
  way.batch_size = 10;
  return std::make_shared<BucketTour>(std::move(way));
}

bool is_there(const InBufferNodes& nodes,
              std::size_t type,
              std::uint64_t node,
              const BucketStop& at) {
  const NodeDivision& division = nodes.types[type];
  return division.nodes == 0 ||
         std::ranges::count(at.resident, static_cast<std::uint32_t>(node / division.each)) != 0;
}

template <class T>
std::shared_ptr<const SamplerMethod> method_of(typename T::Options options) {
  return std::make_shared<SamplerKind<T>>(std::move(options));
}

std::uint64_t charged_workspace(const MemoryLedger& ledger) {
  for (const MemoryLedger::Entry& entry : ledger.entries())
    if (entry.name == "sampler workspace") return entry.bytes;
  return 0;
}

// (source, edge id) of a range, as the topology tells them.
std::vector<std::pair<std::uint64_t, std::uint64_t>> edges_in(Topology& topology, EdgeRange range) {
  std::vector<std::uint64_t> positions, sources(range.degree()), ids(range.degree());
  for (std::uint64_t p = range.begin; p < range.end; ++p) positions.push_back(p);
  topology.neighbours(positions, sources).or_throw();
  topology.edge_ids(positions, ids).or_throw();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> edges;
  for (std::size_t i = 0; i < sources.size(); ++i) edges.emplace_back(sources[i], ids[i]);
  return edges;
}

// Those of a list whose sources are in partitions that are there.
std::vector<std::pair<std::uint64_t, std::uint64_t>> resident_of(
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& list,
    std::uint64_t each,
    const std::vector<std::uint8_t>& here) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> kept;
  for (const auto& edge : list)
    if (here.empty() || here[edge.first / each] != 0) kept.push_back(edge);
  return kept;
}

}  // namespace

TEST_CASE("in the buffer: a topology shows edges from resident sources, in their order") {
  const std::uint64_t seed = in_buffer_seed();
  CAPTURE(seed);
  const RandomKey key(seed);
  // Lists longer than what is looked at together, beside short ones.
  EdgeLists lists = test::random_lists(300, 200, key);
  for (const std::size_t hub : {std::size_t{3}, std::size_t{4}, std::size_t{150}})
    for (std::uint64_t e = 0; e < 70'000 + hub; ++e)
      lists[hub].push_back({key.below(300, 1000 + e), 1'000'000 * hub + e});
  const std::uint64_t each = 50;
  for (const Held held : {Held::k32, Held::k64, Held::kHidden}) {
    CAPTURE(static_cast<int>(held));
    const auto base = std::make_shared<ListTopology>(300, lists, held);
    InBufferTopology topology(base, each);
    CHECK(topology.num_edges() == base->num_edges());
    CHECK(topology.resident() == nullptr);
    for (const std::vector<std::uint8_t>& here : {std::vector<std::uint8_t>{0, 1, 0, 0, 1, 1},
                                                  std::vector<std::uint8_t>(6, 0),
                                                  std::vector<std::uint8_t>(6, 1),
                                                  std::vector<std::uint8_t>()}) {
      topology.begin(here, nullptr);
      // Asked for twice in a mini-batch: what was given first holds.
      std::vector<std::vector<std::uint64_t>> asked{{150, 3, 3, 0, 199}, {}};
      for (std::uint64_t target = 0; target < 200; ++target) asked[1].push_back(target);
      std::vector<std::vector<EdgeRange>> ranges;
      for (const auto& targets : asked) {
        ranges.emplace_back(targets.size());
        topology.ranges(targets, ranges.back()).or_throw();
      }
      std::uint64_t different = 0;
      for (std::size_t call = 0; call < asked.size(); ++call)
        for (std::size_t i = 0; i < asked[call].size(); ++i)
          different +=
              edges_in(topology, ranges[call][i]) != resident_of(lists[asked[call][i]], each, here);
      CHECK(different == 0);
      std::vector<EdgeRange> whole(asked[1].size());
      topology.whole_ranges(asked[1], whole).or_throw();
      for (std::size_t i = 0; i < whole.size(); ++i)
        REQUIRE(whole[i].degree() == lists[asked[1][i]].size());
    }
  }
}

TEST_CASE("in the buffer: neighbours are resident, as many as the fanout or all of them") {
  const std::uint64_t seed = in_buffer_seed();
  CAPTURE(seed);
  const std::vector<std::int64_t> fanout{4, -1, 3};
  std::uint64_t elsewhere = 0;  // edges that were not to be had
  for (std::uint64_t round = 0; round < 12; ++round) {
    CAPTURE(round);
    const TestGraph graph = test::random_graph(seed + round);
    InBufferNodes nodes = divided(graph);
    const auto tour = tour_over(nodes);
    nodes.tour = tour;
    for (const auto& method : {method_of<NeighborSampler>({.fanout = fanout}),
                               method_of<LaborSampler>({.fanout = fanout})}) {
      const InBufferMethod drawn(method, nodes);
      const auto sampler = drawn.make(graph.open(round % 2 == 0 ? Held::k32 : Held::kHidden),
                                      kAllParts,
                                      RandomKey(seed).with("draws"));
      for (const std::uint64_t index : {std::uint64_t{0}, tour->num_batches() / 2}) {
        const BucketStop stop = tour->at(1, index);
        const std::vector<std::uint64_t> seeds =
            test::random_seeds(graph, 0, 8, RandomKey(seed).with(index));
        const Batch batch =
            sampler
                ->sample({.epoch = 1, .round = index, .index = index, .seeds = {seeds, 0}}, nullptr)
                .or_throw();
        for (std::size_t layer = 0; layer < batch.layers.size(); ++layer) {
          const std::int64_t most = fanout[batch.layers.size() - 1 - layer];
          for (const Block& block : batch.layers[layer]) {
            test::check_block_form(block);
            test::check_edges_exist(graph, batch, block);
            const auto targets = batch.nodes[block.target_type].ids.as<std::uint64_t>();
            const auto sources = batch.nodes[block.source_type].ids.as<std::uint64_t>();
            const auto rows = test::lists_of(block);
            for (std::size_t t = 0; t < rows.size(); ++t) {
              const auto& list = graph.edges[block.relation][targets[t]];
              const std::ptrdiff_t there = std::ranges::count_if(list, [&](const auto& edge) {
                return is_there(nodes, block.source_type, edge.first, stop);
              });
              elsewhere += list.size() - static_cast<std::size_t>(there);
              REQUIRE(std::ssize(rows[t]) == (most < 0 ? there : std::min(most, there)));
              for (const std::int32_t row : rows[t])
                REQUIRE(is_there(
                    nodes, block.source_type, sources[static_cast<std::size_t>(row)], stop));
            }
          }
        }
        // Degrees are of the whole graph.
        for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
          const auto ids = batch.nodes[type].ids.as<std::uint64_t>();
          const auto degrees = batch.nodes[type].degrees.as<std::int64_t>();
          for (std::size_t i = 0; i < ids.size(); ++i) {
            std::size_t degree = 0;
            for (std::size_t r = 0; r < graph.edges.size(); ++r)
              if (graph.schema.relations[r].target == graph.schema.nodes[type].name)
                degree += graph.edges[r][ids[i]].size();
            REQUIRE(static_cast<std::size_t>(degrees[i]) == degree);
          }
        }
      }
    }
  }
  CHECK(elsewhere > 0);
}

TEST_CASE("in the buffer: where all partitions are there it is the sampler by itself") {
  const std::uint64_t seed = in_buffer_seed();
  CAPTURE(seed);
  for (std::uint64_t round = 0; round < 6; ++round) {
    const TestGraph graph = test::random_graph(seed + round);
    for (const auto& method :
         {method_of<NeighborSampler>({.fanout = {5, 3}}),
          method_of<NeighborSampler>({.fanout = {2, -1}, .dependence = 3, .draw_once = true}),
          method_of<LaborSampler>({.fanout = {3, 4}, .hub_degree = 20})}) {
      const InBufferMethod everywhere(method, divided(graph));
      CHECK(everywhere.num_layers() == 2);
      const auto alone = method->make(graph.open(Held::k32), kAllParts, RandomKey(3));
      const auto buffered = everywhere.make(graph.open(Held::k32), kAllParts, RandomKey(3));
      for (std::uint64_t index = 0; index < 3; ++index) {
        const auto seeds = test::random_seeds(graph, 0, 10, RandomKey(seed).with(index));
        const SampleRequest request{
            .epoch = 2, .round = index, .index = index, .seeds = {seeds, 0}};
        CHECK(hash_batch(buffered->sample(request, nullptr).or_throw()) ==
              hash_batch(alone->sample(request, nullptr).or_throw()));
      }
    }
  }
}

TEST_CASE("in the buffer: the same from memory and by the topology's calls, with any threads") {
  const std::uint64_t seed = in_buffer_seed();
  CAPTURE(seed);
  const TestGraph graph = test::random_graph(seed);
  InBufferNodes nodes = divided(graph);
  nodes.tour = tour_over(nodes);
  const auto method =
      std::make_shared<InBufferMethod>(method_of<NeighborSampler>({.fanout = {4, 4}}), nodes);
  std::vector<std::vector<std::uint64_t>> seeds(9);
  std::vector<SampleRequest> requests(seeds.size());
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    const std::uint64_t index = i * nodes.tour->num_batches() / seeds.size();
    seeds[i] = test::random_seeds(graph, 0, 6, RandomKey(seed).with(i));
    requests[i] = {.epoch = 0, .round = index, .index = index, .seeds = {seeds[i], 0}};
  }
  std::vector<std::uint64_t> expected;
  for (const int threads : {1, 3}) {
    for (const Held held : {Held::k32, Held::kHidden}) {
      ThreadArena arena(threads);
      MemoryLedger ledger;
      GroupSampler sampler(graph.open(held), method, kAllParts, RandomKey(4), arena);
      std::vector<std::uint64_t> hashes;
      for (const Batch& batch : sampler.sample(requests, &ledger).or_throw())
        hashes.push_back(hash_batch(batch));
      if (expected.empty()) expected = hashes;
      CHECK(hashes == expected);
      CHECK(sampler.workspace_bytes() == charged_workspace(ledger));
    }
  }
}

TEST_CASE("in the buffer: a failing disk is told, and the sampler stays usable") {
  TestGraph graph = test::make_graph({100});
  test::add_relation(graph, 0, 0, test::random_lists(100, 100, RandomKey(8)));
  InBufferNodes nodes = divided(graph);
  nodes.tour = tour_over(nodes);
  const InBufferMethod method(method_of<NeighborSampler>({.fanout = {3, 3}}), nodes);
  SamplerGraph opened = graph.open(Held::kHidden);
  auto& disk = dynamic_cast<ListTopology&>(*opened.relations[0]);
  const auto sampler = method.make(opened, kAllParts, RandomKey(6));
  std::vector<std::uint64_t> seeds(100);
  for (std::size_t i = 0; i < seeds.size(); ++i) seeds[i] = i;
  const SampleRequest request{.epoch = 0, .round = 1, .index = 1, .seeds = {seeds, 0}};
  const std::uint64_t before = hash_batch(sampler->sample(request, nullptr).or_throw());
  disk.fail_neighbours = true;
  const auto failed = sampler->sample(request, nullptr);
  REQUIRE(!failed);
  CHECK(failed.error().code() == ErrorCode::kIo);
  disk.fail_neighbours = false;
  CHECK(hash_batch(sampler->sample(request, nullptr).or_throw()) == before);
}

TEST_CASE("in the buffer: only samplers that look at ranges alone draw there") {
  CHECK(InBufferMethod::serves(*method_of<NeighborSampler>({.fanout = {3, 3}})));
  CHECK(InBufferMethod::serves(*method_of<LaborSampler>({.fanout = {3, 3}})));
  CHECK_FALSE(
      InBufferMethod::serves(*method_of<NeighborSampler>({.fanout = {3}, .weighted = true})));
  CHECK_FALSE(
      InBufferMethod::serves(*method_of<NeighborSampler>({.fanout = {3}, .replace = true})));
  CHECK_FALSE(InBufferMethod::serves(*method_of<LadiesSampler>({})));
  NeighborSamplerOptions cached;
  cached.snapshot.mode = SnapshotMode::kFull;
  CHECK_FALSE(InBufferMethod::serves(*method_of<NeighborSampler>(cached)));
}

}  // namespace sluice
