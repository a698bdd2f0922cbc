// Mini-batches of links through the loader: the same bits wherever data is kept, and no edge that
// is held out or asked for in any block.
#include "pipeline/loader_support.h"
#include "samplers/held_out_edges.h"
#include "support/temp_dir.h"

#include <sluice/edge_rule.h>
#include <sluice/sampler.h>
#include <sluice/samplers/link_queries.h>

#include <set>
#include <utility>

using namespace sluice;
using namespace sluice::test;

namespace {

using LinkEnds = std::pair<std::uint64_t, std::uint64_t>;

struct DeliveredLinks {
  std::vector<std::uint64_t> chain;
  std::uint64_t links = 0;
};

const DrawnEdges& rule() {
  static const DrawnEdges drawn({0.7, 0.1, 0.2}, DrawnEdges::Ends::kEither, RandomKey(4));
  return drawn;
}

void check_link_blocks(const Batch& batch) {
  std::set<LinkEnds> asked;
  const auto seeds = batch.seeds[0].as<std::uint64_t>();
  const auto sources = batch.queries.sources.as<std::int64_t>();
  const auto destinations = batch.queries.destinations.as<std::int64_t>();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::uint64_t from = seeds[static_cast<std::size_t>(sources[i])];
    const std::uint64_t to = seeds[static_cast<std::size_t>(destinations[i])];
    REQUIRE(rule().part(from, to, 0) == Part::kTrain);
    asked.insert({from, to});
    asked.insert({to, from});
  }
  const auto ids = batch.nodes[0].ids.as<std::uint64_t>();
  for (const auto& layer : batch.layers) {
    const Block& block = layer.at(0);
    for (std::size_t t = 0; t < static_cast<std::size_t>(block.num_targets); ++t) {
      for (auto e = block.offsets.as<std::int64_t>()[t];
           e < block.offsets.as<std::int64_t>()[t + 1];
           ++e) {
        const auto row = static_cast<std::size_t>(
            block.neighbours.as<std::int32_t>()[static_cast<std::size_t>(e)]);
        REQUIRE(rule().part(ids[row], ids[t], 0) == Part::kTrain);
        REQUIRE(!asked.contains({ids[row], ids[t]}));
      }
    }
  }
}

DeliveredLinks deliver_links(const std::filesystem::path& path,
                             const Setup& setup,
                             LoaderStart where) {
  DeliveredLinks delivered;
  MemoryLedger ledger(setup.ledger_bytes);
  {
    const Dataset dataset = Dataset::open(path.string(), {.ledger = &ledger});
    GraphDataOptions kept = data_options(setup);
    kept.edge_rules = {std::shared_ptr<const EdgeRule>(std::shared_ptr<void>(), &rule())};
    GraphData data(dataset, kept, LabelsOf{});
    REQUIRE(data.held_out(0) != nullptr);
    LinkQueryOptions asked{.relation = 0, .batch_size = 48, .key = RandomKey(2)};
    asked.negatives = std::make_shared<UniformNegatives>(
        data.graph(), NegativeSamplerOptions{}, RandomKey(3), &ledger);
    asked.exclude = true;
    asked.reverse = 0;
    const auto queries = std::make_shared<LinkQueries>(
        data.schema(), std::make_shared<RelationLinks>(data.graph().relations[0]), asked);
    Loader loader(data, setup.loader, queries, {setup.window_bytes, setup.queue_bytes}, ledger);
    loader.start(where);
    while (const auto batch = loader.next()) {
      delivered.chain.push_back(loader.stats().batches_xxh3);
      delivered.links += static_cast<std::uint64_t>(batch->num_queries());
      check_link_blocks(*batch);
    }
    const auto held = static_cast<std::uint64_t>(data.held_out(0)->positions.numel());
    CHECK(delivered.links + held + where.first_batch * 48 == data.schema().relations[0].edges);
  }
  CHECK(ledger.used() == 0);
  return delivered;
}

}  // namespace

TEST_CASE("links: the same mini-batches from memory, from disk, planned, and from the middle on") {
  const TempDir dir;
  SampleOptions sample;
  sample.nodes = 700;
  sample.edges = sanitized<std::uint64_t>(6000, 2500);
  sample.dim = 40;
  write_sample(dir / "x", sample);
  Setup memory;
  memory.features = Placement::kMemory;
  memory.loader = base_options();
  const DeliveredLinks wanted = deliver_links(dir / "x", memory, {});
  for (const Placement topology : {Placement::kMemory, Placement::kDisk}) {
    for (const bool planned : {false, true}) {
      for (const PlanChoice plan : {PlanChoice::kDirect, PlanChoice::kRepack}) {
        CAPTURE(topology == Placement::kDisk);
        CAPTURE(planned);
        Setup disk = memory;
        disk.features = Placement::kDisk;
        disk.topology = topology;
        disk.plan = plan;
        disk.window_bytes = 2 << 20;
        if (planned) disk.scratch = dir.path().string();
        CHECK(deliver_links(dir / "x", disk, {}).chain == wanted.chain);
      }
    }
  }
  const std::size_t middle = wanted.chain.size() / 2;
  const LoaderStart start{.first_batch = middle, .batches_xxh3 = wanted.chain[middle - 1]};
  const DeliveredLinks later = deliver_links(dir / "x", memory, start);
  REQUIRE(later.chain.size() == wanted.chain.size() - middle);
  CHECK(later.chain.back() == wanted.chain.back());
}
