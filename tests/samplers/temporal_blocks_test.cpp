// Blocks of nodes at times against their definition: every row sees what was before its own time,
// and nothing else.
#include "samplers/temporal_neighbor_sampler.h"
#include "samplers/timed_node_table.h"
#include "temporal_support.h"

#include "support/sanitized.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace sluice {
namespace {

using test::Events;
using test::sanitized;

// Relations among two node types, their in-edges in any order.
struct TimedGraph {
  GraphSchema schema;
  std::vector<Events> events;  // by relation

  SamplerGraph open() const {
    SamplerGraph graph{&schema, {}};
    for (std::size_t r = 0; r < events.size(); ++r) {
      const auto& target = *schema.node_type(schema.relations[r].target);
      graph.relations.push_back(nullptr);  // not looked at
      graph.temporal.push_back(
          std::make_shared<TemporalGraph>(test::make_temporal(events[r], target.count)));
    }
    return graph;
  }
};

// Users act on items, each event stored both ways, and users follow users.
TimedGraph random_timed_graph(std::uint64_t seed) {
  const RandomKey key = RandomKey(seed).with("timed graph");
  TimedGraph graph;
  graph.schema.nodes = {{.name = "user", .count = 9}, {.name = "item", .count = 6}};
  const auto relation = [&](const char* source, const char* name, const char* target) {
    graph.schema.relations.push_back({.source = source, .name = name, .target = target});
    graph.events.emplace_back();
  };
  relation("user", "acts", "item");
  relation("item", "acted", "user");
  relation("user", "follows", "user");
  for (std::uint64_t i = 0; i < 80; ++i) {
    const auto time = static_cast<std::int64_t>(key.below(25, 4 * i));
    const std::uint64_t user = key.below(9, 4 * i + 1), item = key.below(6, 4 * i + 2);
    graph.events[0].push_back({user, item, time, i});
    graph.events[1].push_back({item, user, time, i});
    graph.events[2].push_back({key.below(9, 4 * i + 3), user, time, i});
  }
  return graph;
}

// Seeds of a type, distinct as (node, time, event).
struct TimedSeeds {
  std::vector<TimedNode> keys;
  std::vector<std::uint64_t> ids, events;
  std::vector<std::int64_t> times;
};

TimedSeeds seeds_of(const TimedGraph& graph, std::size_t type, RandomKey key, bool by_event) {
  TimedSeeds seeds;
  for (std::uint64_t i = 0; i < 12; ++i) {
    TimedNode one{key.below(graph.schema.nodes[type].count, 3 * i),
                  static_cast<std::int64_t>(key.below(30, 3 * i + 1)),
                  by_event ? key.below(80, 3 * i + 2) : 0};
    if (std::ranges::find(seeds.keys, one) != seeds.keys.end()) continue;
    seeds.keys.push_back(one);
    seeds.ids.push_back(one.node);
    seeds.times.push_back(one.time);
    seeds.events.push_back(one.event);
  }
  return seeds;
}

QueryBatch query_batch(const std::vector<TimedSeeds>& seeds, bool by_event) {
  QueryBatch batch;
  for (const TimedSeeds& of_type : seeds) {
    batch.seeds.push_back(test::make_array(of_type.ids));
    batch.seed_times.push_back(test::make_array(of_type.times));
    if (by_event) batch.seed_events.push_back(test::make_array(of_type.events));
    for (std::size_t i = 0; i < of_type.keys.size(); ++i) {
      const TemporalCut own{of_type.times[i], of_type.events[i]};
      if (!batch.cut ||
          std::pair(own.time, own.event) < std::pair(batch.cut->time, batch.cut->event))
        batch.cut = own;
    }
  }
  return batch;
}

struct EventKey {
  std::uint64_t source;
  std::int64_t time;
  std::uint64_t id;
  auto operator<=>(const EventKey&) const = default;
};

// Those that a row may see, in (time, id) order.
std::vector<EventKey> visible_to(const Events& events,
                                 const TimedNode& row,
                                 bool is_seed,
                                 const TemporalSamplerOptions& options,
                                 const TemporalCut& cut) {
  std::vector<EventKey> found;
  for (const TemporalEvent& event : events) {
    if (event.target != row.node) continue;
    bool seen = event.time < row.time;
    if (options.visibility == TemporalVisibility::kEventOrder)
      seen = std::pair(event.time, event.id) < std::pair(row.time, row.event);
    if (options.visibility == TemporalVisibility::kBatchLag && is_seed)
      seen = std::pair(event.time, event.id) < std::pair(cut.time, cut.event) &&
             (row.time >= cut.time || event.time < row.time);
    if (options.visibility == TemporalVisibility::kInclusive) seen = event.time <= row.time;
    if (options.window != 0 && event.time < row.time - options.window) seen = false;
    if (seen) found.push_back({event.source, event.time, event.id});
  }
  std::ranges::sort(found, {}, [](const EventKey& key) { return std::pair(key.time, key.id); });
  return found;
}

void check_batch(const TimedGraph& graph,
                 const std::vector<TimedSeeds>& seeds,
                 const TemporalSamplerOptions& options,
                 const QueryBatch& asked,
                 const Batch& batch) {
  const bool by_event = options.needs_events();
  // What each row is: of seeds as asked, of others as the first edge that led there says.
  std::vector<std::vector<TimedNode>> rows(seeds.size());
  for (std::size_t type = 0; type < seeds.size(); ++type) rows[type] = seeds[type].keys;
  for (std::size_t layer = batch.layers.size(); layer-- > 0;) {
    const std::vector<std::vector<TimedNode>> before = rows;
    for (std::size_t r = 0; r < batch.layers[layer].size(); ++r) {
      const Block& block = batch.layers[layer][r];
      const auto offsets = block.offsets.as<std::int64_t>();
      const std::vector<TimedNode>& targets = before[block.target_type];
      std::vector<TimedNode>& sources = rows[block.source_type];
      REQUIRE(block.num_targets == static_cast<std::int64_t>(targets.size()));
      for (std::size_t t = 0; t < targets.size(); ++t) {
        const bool is_seed = t < seeds[block.target_type].keys.size();
        const std::vector<EventKey> all =
            visible_to(graph.events[r], targets[t], is_seed, options, *asked.cut);
        const auto count = static_cast<std::size_t>(options.count[batch.layers.size() - 1 - layer]);
        std::vector<EventKey> got;
        for (auto e = offsets[t]; e < offsets[t + 1]; ++e) {
          const auto edge = static_cast<std::size_t>(e);
          const auto row = static_cast<std::size_t>(block.neighbours.as<std::int32_t>()[edge]);
          const std::uint64_t id = block.edge_ids.as<std::uint64_t>()[edge];
          const std::int64_t time = targets[t].time - block.deltas.as<std::int64_t>()[edge];
          const auto nodes = batch.nodes[block.source_type].ids.as<std::uint64_t>();
          const TimedNode source{nodes[row], time, by_event ? id : 0};
          if (row == sources.size()) sources.push_back(source);
          REQUIRE(row < sources.size());
          CHECK(sources[row] == source);
          CHECK(batch.nodes[block.source_type].times.as<std::int64_t>()[row] == time);
          got.push_back({source.node, time, id});
        }
        CHECK(got.size() == std::min(count, all.size()));
        CHECK(std::set(got.begin(), got.end()).size() == got.size());
        if (options.strategy == TemporalStrategy::kRecent) {
          const std::vector<EventKey> last(all.end() - static_cast<std::ptrdiff_t>(got.size()),
                                           all.end());
          CHECK(got == last);
        }
        for (const EventKey& event : got) CHECK(std::ranges::find(all, event) != all.end());
      }
    }
    for (const Block& block : batch.layers[layer])
      CHECK(block.num_sources == static_cast<std::int64_t>(rows[block.source_type].size()));
    for (std::size_t type = 0; type < rows.size(); ++type)
      CHECK(batch.nodes[type].size_at[layer] == static_cast<std::int64_t>(rows[type].size()));
  }
  for (std::size_t type = 0; type < rows.size(); ++type) {
    REQUIRE(batch.nodes[type].ids.numel() == static_cast<std::int64_t>(rows[type].size()));
    for (std::size_t i = 0; i < rows[type].size(); ++i) {
      std::int64_t before = 0;  // in-edges of all relations, whatever the options
      std::vector<std::int64_t> apart;
      for (std::size_t r = 0; r < graph.events.size(); ++r) {
        if (graph.schema.relations[r].target != graph.schema.nodes[type].name) continue;
        const bool inclusive = options.visibility == TemporalVisibility::kInclusive;
        apart.push_back(-before);
        for (const TemporalEvent& event : graph.events[r]) {
          const bool seen =
              event.time < rows[type][i].time || (inclusive && event.time == rows[type][i].time);
          before += event.target == rows[type][i].node && seen ? 1 : 0;
        }
        apart.back() += before;
      }
      for (std::size_t r = 0; r < apart.size(); ++r)
        CHECK(batch.nodes[type].relation_degrees.as<std::int64_t>()[i * apart.size() + r] ==
              apart[r]);
      CHECK(batch.nodes[type].degrees.as<std::int64_t>()[i] == before);
    }
  }
}

constexpr BlockParts kWithAll{
    .transpose = true, .edge_ids = true, .degrees = true, .relation_degrees = true};

}  // namespace

TEST_CASE("temporal blocks: each row's edges are events of before its own time, over relations") {
  for (const auto visibility : {TemporalVisibility::kStrict,
                                TemporalVisibility::kEventOrder,
                                TemporalVisibility::kInclusive}) {
    for (const auto strategy : {TemporalStrategy::kRecent, TemporalStrategy::kUniform}) {
      for (std::uint64_t seed = 0; seed < sanitized<std::uint64_t>(25, 6); ++seed) {
        CAPTURE(seed);
        CAPTURE(std::string(to_string(visibility)));
        const TimedGraph graph = random_timed_graph(seed);
        const TemporalSamplerOptions options{.strategy = strategy,
                                             .count = {3, 2, 2},
                                             .window = seed % 3 == 0 ? 8 : 0,
                                             .visibility = visibility};
        const bool by_event = visibility == TemporalVisibility::kEventOrder;
        const std::vector<TimedSeeds> seeds{seeds_of(graph, 0, RandomKey(seed).with(0), by_event),
                                            seeds_of(graph, 1, RandomKey(seed).with(1), by_event)};
        const QueryBatch asked = query_batch(seeds, by_event);
        MemoryLedger ledger;
        {
          TemporalNeighborSampler sampler(graph.open(), options, kWithAll, RandomKey(seed));
          const SampleRequest request{1, 2, 2, SeedLists(asked), asked.cut};
          const Batch batch = sampler.sample(request, &ledger).or_throw();
          check_batch(graph, seeds, options, asked, batch);
          // The next one leaves no trace of it, nor does a refused one.
          const std::uint64_t hash = hash_batch(batch);
          const std::vector<std::uint64_t> bad{100};
          CHECK(!sampler.sample({.seeds = bad}, &ledger));
          CHECK(hash_batch(sampler.sample(request, &ledger).or_throw()) == hash);
        }
        CHECK(ledger.used() == 0);
      }
    }
  }
}

TEST_CASE(
    "temporal blocks: with a lag, seeds see the mini-batches before, others what was before") {
  for (std::uint64_t seed = 0; seed < sanitized<std::uint64_t>(40, 10); ++seed) {
    CAPTURE(seed);
    const TimedGraph graph = random_timed_graph(seed);
    const TemporalSamplerOptions options{.count = {4, 3},
                                         .visibility = TemporalVisibility::kBatchLag};
    const std::vector<TimedSeeds> seeds{seeds_of(graph, 0, RandomKey(seed).with(0), false),
                                        seeds_of(graph, 1, RandomKey(seed).with(1), false)};
    QueryBatch asked = query_batch(seeds, false);
    asked.cut->event = 40;
    TemporalNeighborSampler sampler(graph.open(), options, kWithAll, RandomKey(seed));
    const SampleRequest request{0, 0, 0, SeedLists(asked), asked.cut};
    check_batch(graph, seeds, options, asked, sampler.sample(request, nullptr).or_throw());
    const auto refused = sampler.sample({.seeds = SeedLists(asked)}, nullptr);
    REQUIRE(!refused);
    CHECK(refused.error().code() == ErrorCode::kUsage);
  }
}

TEST_CASE("temporal blocks: a row's edges do not depend on its mates") {
  const TimedGraph graph = random_timed_graph(3);
  const TemporalSamplerOptions options{.strategy = TemporalStrategy::kUniform, .count = {3}};
  TemporalNeighborSampler sampler(graph.open(), options, kWithAll, RandomKey(5));
  const TimedSeeds all = seeds_of(graph, 0, RandomKey(8), false);
  const auto edges_of = [&](const std::vector<std::size_t>& chosen) {
    TimedSeeds some;
    for (const std::size_t i : chosen) {
      some.keys.push_back(all.keys[i]);
      some.ids.push_back(all.ids[i]);
      some.times.push_back(all.times[i]);
      some.events.push_back(all.events[i]);
    }
    const QueryBatch asked = query_batch({some, {}}, false);
    const Batch batch = sampler.sample({4, 0, 0, SeedLists(asked)}, nullptr).or_throw();
    std::map<std::size_t, std::vector<std::uint64_t>> ids;
    for (const Block& block : batch.layers[0]) {
      if (block.target_type != 0) continue;
      for (std::size_t t = 0; t < chosen.size(); ++t) {
        for (auto e = block.offsets.as<std::int64_t>()[t];
             e < block.offsets.as<std::int64_t>()[t + 1];
             ++e)
          ids[chosen[t]].push_back(1000 * block.relation +
                                   block.edge_ids.as<std::uint64_t>()[static_cast<std::size_t>(e)]);
      }
    }
    return ids;
  };
  std::vector<std::size_t> everyone(all.keys.size());
  for (std::size_t i = 0; i < everyone.size(); ++i) everyone[i] = i;
  auto together = edges_of(everyone);
  for (const std::size_t i : everyone) CHECK(edges_of({i})[i] == together[i]);
}

TEST_CASE("temporal blocks: what cannot be sampled is said") {
  const TimedGraph graph = random_timed_graph(1);
  const auto code_of = [&](const Result<Batch>& result) {
    REQUIRE(!result);
    return result.error().code();
  };
  TemporalNeighborSampler sampler(graph.open(), {}, {}, RandomKey(1));
  const std::vector<std::uint64_t> ids{1, 2};
  CHECK(code_of(sampler.sample({.seeds = ids}, nullptr)) == ErrorCode::kUsage);
  TimedSeeds twice;
  twice.keys = {{1, 5, 0}, {1, 5, 0}};
  twice.ids = {1, 1};
  twice.times = {5, 5};
  twice.events = {0, 0};
  QueryBatch asked = query_batch({twice}, false);
  CHECK(code_of(sampler.sample({.seeds = SeedLists(asked)}, nullptr)) == ErrorCode::kData);
  twice.times = {5, 6};  // at two times it is two seeds
  asked = query_batch({twice}, false);
  CHECK(sampler.sample({.seeds = SeedLists(asked)}, nullptr));
  TemporalNeighborSampler by_event(
      graph.open(), {.visibility = TemporalVisibility::kEventOrder}, {}, RandomKey(1));
  CHECK(code_of(by_event.sample({.seeds = SeedLists(asked)}, nullptr)) == ErrorCode::kUsage);
  SamplerGraph without = graph.open();
  without.temporal[1] = nullptr;
  CHECK_THROWS_WITH_AS(TemporalNeighborSampler(without, {}, {}, RandomKey(1)),
                       doctest::Contains("item__acted__user"),
                       Error);
}

TEST_CASE("timed node table: rows in the order of first appearance, through growth and clearing") {
  const RandomKey key = RandomKey(7).with("timed nodes");
  TimedNodeTable table;
  for (int round = 0; round < 3; ++round) {
    table.clear();
    std::vector<TimedNode> listed;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const TimedNode one{key.below(40, 3 * i),
                          static_cast<std::int64_t>(key.below(9, 3 * i + 1)) - 4,
                          key.below(3, 3 * i + 2)};
      REQUIRE(table.reserve(1, nullptr));
      const auto row = static_cast<std::size_t>(table.insert(one));
      if (row == listed.size()) listed.push_back(one);
      REQUIRE(listed.at(row) == one);
    }
    CHECK(table.size() == listed.size());
  }
}

}  // namespace sluice
