// Queries with times through the loader: the same bits wherever features are kept, and nothing in
// any block that was not before the time of who asks.
#include "pipeline/loader_support.h"
#include "samplers/event_links.h"
#include "samplers/held_out_edges.h"
#include "samplers/temporal_neighbor_sampler.h"
#include "support/temp_dir.h"

#include <sluice/sampler.h>
#include <sluice/samplers/link_queries.h>
#include <sluice/samplers/negative_sampler.h>
#include <sluice/samplers/node_queries.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>

using namespace sluice;
using namespace sluice::test;

namespace {

SampleOptions timed_sample() {
  SampleOptions sample;
  sample.nodes = 500;
  sample.edges = sanitized<std::uint64_t>(5000, 2500);
  sample.dim = 40;
  sample.times = true;
  return sample;
}

// Rows are distinct, features are those of the row's node, edges were before their targets' times.
void check_timed_batch(const Batch& batch) {
  const BatchNodes& nodes = batch.nodes.at(0);
  const auto ids = nodes.ids.as<std::uint64_t>();
  const auto times = nodes.times.as<std::int64_t>();
  std::set<std::pair<std::uint64_t, std::int64_t>> rows;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    REQUIRE(rows.insert({ids[i], times[i]}).second);
    REQUIRE(nodes.features[0].as<float>()[40 * i + 7] == sample_feature(ids[i], 7));
  }
  for (const auto& layer : batch.layers) {
    const Block& block = layer.at(0);
    for (std::size_t t = 0; t < static_cast<std::size_t>(block.num_targets); ++t) {
      for (auto e = block.offsets.as<std::int64_t>()[t];
           e < block.offsets.as<std::int64_t>()[t + 1];
           ++e) {
        const auto edge = static_cast<std::size_t>(e);
        const auto row = static_cast<std::size_t>(block.neighbours.as<std::int32_t>()[edge]);
        const std::int64_t delta = block.deltas.as<std::int64_t>()[edge];
        REQUIRE(delta > 0);
        REQUIRE(times[row] == times[t] - delta);
      }
    }
  }
}

// Where times are while edges are on disk.
enum class Times { kInMemory, kWithEdges };

using MakeQueries =
    std::function<std::shared_ptr<const QuerySource>(const GraphData& data, MemoryLedger& ledger)>;

std::vector<std::uint64_t> deliver_timed(const std::filesystem::path& path,
                                         const Setup& setup,
                                         const MakeQueries& make,
                                         LoaderStart where = {},
                                         Times times = Times::kInMemory) {
  std::vector<std::uint64_t> chain;
  MemoryLedger ledger(setup.ledger_bytes);
  {
    const Dataset dataset = Dataset::open(path.string(), {.ledger = &ledger});
    GraphDataOptions kept = data_options(setup);
    kept.edge_times = true;
    kept.paged_times = times == Times::kWithEdges;
    GraphData data(dataset, kept, LabelsOf{});
    const bool paged = kept.paged_times && setup.topology == Placement::kDisk;
    CHECK((data.graph().temporal.at(0) == nullptr) == paged);
    CHECK((data.graph().paged_events.at(0) != nullptr) == paged);
    LoaderOptions options = setup.loader;
    options.fanout = {};
    options.sampler = std::make_shared<SamplerKind<TemporalNeighborSampler>>(
        TemporalSamplerOptions{.strategy = TemporalStrategy::kUniform, .count = {4, 3}});
    Loader loader(
        data, options, make(data, ledger), {setup.window_bytes, setup.queue_bytes}, ledger);
    loader.start(where);
    while (const auto batch = loader.next()) {
      chain.push_back(loader.stats().batches_xxh3);
      check_timed_batch(*batch);
    }
  }
  CHECK(ledger.used() == 0);
  return chain;
}

// @param times where edges are on disk
void check_everywhere(const std::filesystem::path& dir,
                      const MakeQueries& make,
                      Times times = Times::kInMemory) {
  Setup memory;
  memory.features = Placement::kMemory;
  memory.loader = base_options();
  const std::vector<std::uint64_t> wanted = deliver_timed(dir / "x", memory, make);
  CHECK(wanted.size() > 3);
  for (const bool planned : {false, true}) {
    for (const Placement topology : {Placement::kMemory, Placement::kDisk}) {
      CAPTURE(planned);
      CAPTURE(topology == Placement::kDisk);
      Setup disk = memory;
      disk.features = Placement::kDisk;
      disk.topology = topology;
      disk.window_bytes = 2 << 20;
      if (planned) disk.scratch = dir.string();
      CHECK(deliver_timed(dir / "x", disk, make, {}, times) == wanted);
    }
  }
  const std::size_t middle = wanted.size() / 2;
  const LoaderStart start{.first_batch = middle, .batches_xxh3 = wanted[middle - 1]};
  const std::vector<std::uint64_t> later = deliver_timed(dir / "x", memory, make, start);
  REQUIRE(later.size() == wanted.size() - middle);
  CHECK(later.back() == wanted.back());
}

}  // namespace

TEST_CASE("timed links: in the order of time, with negatives, the same from everywhere") {
  const TempDir dir;
  write_sample(dir / "x", timed_sample());
  check_everywhere(dir.path(), [](const GraphData& data, MemoryLedger& ledger) {
    ThreadArena arena(2);
    const EventLinks all = EventLinks::make(data.graph().temporal.at(0), arena, &ledger).or_throw();
    LinkQueryOptions asked{.relation = 0, .batch_size = 200, .shuffle = Shuffle::kOff};
    asked.negatives = std::make_shared<UniformNegatives>(
        data.graph(), NegativeSamplerOptions{}, RandomKey(3), &ledger);
    return std::make_shared<LinkQueries>(
        data.schema(), std::make_shared<EventLinks>(all.range(all.size() / 2, all.size())), asked);
  });
}

TEST_CASE("timed nodes: each asked about at its own time, the same from everywhere") {
  const TempDir dir;
  write_sample(dir / "x", timed_sample());
  const MakeQueries make = [](const GraphData& data, MemoryLedger& ledger) {
    Array nodes = Array::make(DType::kU64, {200}, &ledger, "seeds").or_throw();
    for (std::size_t i = 0; i < 200; ++i) nodes.as<std::uint64_t>()[i] = 2 * i;
    NodeQueryOptions asked{.nodes = nodes, .batch_size = 32, .key = RandomKey(2)};
    asked.times = data.node_times(0);
    return std::make_shared<NodeQueries>(data.schema(), asked, &ledger);
  };
  check_everywhere(dir.path(), make);
  check_everywhere(dir.path(), make, Times::kWithEdges);
}

TEST_CASE("timed nodes: edges that are held out are in no block, wherever edges are kept") {
  const TempDir dir;
  write_sample(dir / "x", timed_sample());
  const DrawnEdges rule({0.6, 0.2, 0.2}, DrawnEdges::Ends::kOrdered, RandomKey(4));
  for (const Placement topology : {Placement::kMemory, Placement::kDisk}) {
    MemoryLedger ledger;
    const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
    GraphDataOptions kept;
    kept.topology = topology;
    kept.edge_times = true;
    kept.edge_rules = {std::shared_ptr<const EdgeRule>(std::shared_ptr<void>(), &rule)};
    const GraphData data(dataset, kept, LabelsOf{});
    const TemporalView& view = data.graph().temporal.at(0)->view();
    CHECK(view.num_edges() + static_cast<std::uint64_t>(data.held_out(0)->positions.numel()) ==
          data.schema().relations[0].edges);
    const std::vector<std::int64_t> all =
        sample_times(timed_sample().nodes, sample_edges(timed_sample()));
    std::map<std::uint64_t, std::int64_t> time_of;  // by edge id
    const TemporalGraph whole = TemporalGraph::load(dataset, "node__edge__node").or_throw();
    for (std::uint64_t e = 0; e < whole.view().num_edges(); ++e)
      time_of[whole.view().edge_id(e)] = all[e];
    for (std::uint64_t target = 0; target < view.num_nodes(); ++target) {
      for (std::uint64_t e = view.offsets[target]; e < view.offsets[target + 1]; ++e) {
        REQUIRE(rule.part(view.neighbour(e), target, 0) == Part::kTrain);
        REQUIRE(view.time(e) == time_of.at(view.edge_id(e)));
      }
    }
  }
}

TEST_CASE("timed links: batches in time order, a node a seed for each time, rows for its queries") {
  const TempDir dir;
  const SampleOptions sample = timed_sample();
  write_sample(dir / "x", sample);
  MemoryLedger ledger;
  const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
  const auto graph =
      std::make_shared<TemporalGraph>(TemporalGraph::load(dataset, "node__edge__node").or_throw());
  ThreadArena arena(2);
  const auto links =
      std::make_shared<EventLinks>(EventLinks::make(graph, arena, &ledger).or_throw());
  REQUIRE(links->size() == sample.edges);
  for (const bool events : {false, true}) {
    const LinkQueries queries(
        dataset.schema(),
        links,
        {.relation = 0, .batch_size = 300, .shuffle = Shuffle::kOff, .events = events});
    const auto edges = sample_edges(sample);
    std::pair<std::int64_t, std::uint64_t> last{-1, 0};
    std::uint64_t asked = 0;
    for (std::uint64_t index = 0; index < queries.num_batches(); ++index) {
      const QueryBatch batch = queries.batch(0, index, &ledger).or_throw();
      const auto seeds = batch.seeds[0].as<std::uint64_t>();
      const auto times = batch.seed_times[0].as<std::int64_t>();
      const auto at = batch.queries.times.as<std::int64_t>();
      const auto ids = batch.queries.ids.as<std::uint64_t>();
      CHECK(batch.cut->time == at[0]);
      CHECK(batch.cut->event == ids[0]);
      for (std::size_t i = 0; i < at.size(); ++i, ++asked) {
        REQUIRE(last < std::pair(at[i], ids[i]));
        last = {at[i], ids[i]};
        const auto from = static_cast<std::size_t>(batch.queries.sources.as<std::int64_t>()[i]);
        const auto to = static_cast<std::size_t>(batch.queries.destinations.as<std::int64_t>()[i]);
        CHECK(std::pair(seeds[from], seeds[to]) == edges[ids[i]]);
        CHECK(times[from] == at[i]);
        CHECK(times[to] == at[i]);
        if (events) CHECK(batch.seed_events[0].as<std::uint64_t>()[from] == ids[i]);
      }
      std::set<std::tuple<std::uint64_t, std::int64_t, std::uint64_t>> distinct;
      for (std::size_t i = 0; i < seeds.size(); ++i)
        distinct.insert(
            {seeds[i], times[i], events ? batch.seed_events[0].as<std::uint64_t>()[i] : 0});
      CHECK(distinct.size() == seeds.size());
    }
    CHECK(asked == sample.edges);
  }
  const std::uint64_t half = links->before(20);
  const EventLinks early = links->range(0, half);
  std::vector<std::uint64_t> number{half - 1}, source(1), target(1);
  std::vector<std::int64_t> time(1);
  CHECK(early.find(number, {source, target, {}, {}, time}));
  CHECK(time[0] < 20);
}
