// Several feature tables a type, and those of edges: each row's values are those of its id, as are
// labels of edges, and the same mini-batches come from memory, from disk, planned, by any cache,
// and from the middle on.
#include "pipeline/loader_support.h"
#include "samplers/random_walk_sampler.h"
#include "support/temp_dir.h"

#include <sluice/error.h>
#include <sluice/sampler.h>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint32_t kDim = 24, kTextDim = 40, kEdgeDim = 12, kEdgeClasses = 300;

SampleOptions several_tables() {
  SampleOptions sample;
  sample.nodes = sanitized<std::uint64_t>(2000, 700);
  sample.edges = 8 * sample.nodes;
  sample.dim = kDim;
  sample.text_dim = kTextDim;
  sample.edge_dim = kEdgeDim;
  sample.edge_classes = kEdgeClasses;
  return sample;
}

struct AskedGroups {
  std::vector<std::string> groups{"text", ""};
  std::vector<std::string> edge_groups{""};
  bool edge_labels = true;
};

// Each value against that of the row's id.
template <class ValueOf>
void check_rows(const Array& features,
                const Array& ids,
                std::uint32_t dim,
                const ValueOf& value_of) {
  REQUIRE(features.shape() == Array::Shape{ids.numel(), dim});
  const auto values = features.as<float>();
  const auto rows = ids.as<std::uint64_t>();
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::uint32_t c = 0; c < dim; ++c)
      wrong += values[i * dim + c] == value_of(rows[i], c) ? 0u : 1u;
  }
  CHECK(wrong == 0);
}

// By ends: an edge's id is its place in sample_edges().
void check_edge_ids(const Batch& batch,
                    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& edges) {
  const auto ids = batch.nodes[0].ids.as<std::uint64_t>();
  for (const auto& layer : batch.layers) {
    const Block& block = layer.at(0);
    const auto offsets = block.offsets.as<std::int64_t>();
    for (std::size_t t = 0; t + 1 < offsets.size(); ++t) {
      for (auto e = static_cast<std::size_t>(offsets[t]);
           e < static_cast<std::size_t>(offsets[t + 1]);
           ++e) {
        const auto& [source, target] = edges.at(block.edge_ids.as<std::uint64_t>()[e]);
        const auto row = static_cast<std::size_t>(block.neighbours.as<std::int32_t>()[e]);
        REQUIRE(source == ids[row]);
        REQUIRE(target == ids[t]);
      }
    }
  }
}

void check_edge_labels(const Block& block) {
  REQUIRE(block.labels.numel() == block.num_edges());
  const auto ids = block.edge_ids.as<std::uint64_t>();
  std::uint64_t wrong = 0;
  for (std::size_t e = 0; e < ids.size(); ++e)
    wrong += block.labels.as<std::int32_t>()[e] != sample_edge_class(ids[e], kEdgeClasses);
  CHECK(wrong == 0);
}

Run deliver_tables(const std::filesystem::path& path,
                   const Setup& setup,
                   const AskedGroups& asked,
                   LoaderStart where = {}) {
  Run run;
  MemoryLedger ledger(setup.ledger_bytes);
  {
    const Dataset dataset = Dataset::open(path.string(), {.ledger = &ledger});
    GraphDataOptions kept = data_options(setup);
    kept.feature_groups = asked.groups;
    kept.edge_feature_groups = asked.edge_groups;
    kept.edge_labels = asked.edge_labels;
    GraphData data(dataset, kept, 0);
    Loader loader(data,
                  setup.loader,
                  dataset.split("default").train,
                  {setup.window_bytes, setup.queue_bytes},
                  ledger);
    const auto edges = sample_edges(several_tables());
    loader.start(where);
    while (const auto batch = loader.next()) {
      run.chain.push_back(loader.stats().batches_xxh3);
      const BatchNodes& nodes = batch->nodes[0];
      REQUIRE(nodes.features.size() == 2);
      check_rows(batch->features(0, 0), nodes.ids, kTextDim, sample_text);
      check_rows(batch->features(0, 1), nodes.ids, kDim, sample_feature);
      CHECK(batch->features(0, 2).empty());
      check_edge_ids(*batch, edges);
      for (const auto& layer : batch->layers) {
        for (const Block& block : layer) {
          if (asked.edge_groups.empty()) {
            CHECK(block.features.empty());
          } else {
            check_rows(block.features.at(0), block.edge_ids, kEdgeDim, sample_edge_feature);
          }
          if (asked.edge_labels) {
            check_edge_labels(block);
          } else {
            CHECK(block.labels.empty());
          }
        }
      }
    }
    run.stats = loader.stats();
  }
  CHECK(ledger.used() == 0);
  return run;
}

}  // namespace

TEST_CASE("feature tables: the same mini-batches wherever rows and edges are kept") {
  const TempDir dir;
  write_sample(dir / "x", several_tables());
  Setup memory;
  memory.loader = base_options();
  memory.loader.batch_size = 50;
  memory.features = Placement::kMemory;
  const Run expected = deliver_tables(dir / "x", memory, {});
  CHECK(expected.chain.size() > 5);
  struct Way {
    std::string cache;
    PlanChoice plan;
    bool planned;
    Placement topology;
    std::uint64_t window_bytes;
  };
  for (const Way& way : {Way{"belady", PlanChoice::kAuto, false, Placement::kMemory, 8 << 20},
                         Way{"lru", PlanChoice::kDirect, false, Placement::kDisk, 1 << 20},
                         Way{"degree", PlanChoice::kSweep, false, Placement::kMemory, 1 << 20},
                         Way{"ranked", PlanChoice::kDirect, false, Placement::kMemory, 2 << 20},
                         Way{"ranked", PlanChoice::kRepack, true, Placement::kDisk, 2 << 20},
                         Way{"proportional", PlanChoice::kAuto, true, Placement::kMemory, 2 << 20},
                         Way{"none", PlanChoice::kAuto, false, Placement::kMemory, 1 << 20},
                         Way{"belady", PlanChoice::kAuto, true, Placement::kMemory, 1 << 20},
                         Way{"belady", PlanChoice::kRepack, true, Placement::kDisk, 1 << 20},
                         Way{"clock", PlanChoice::kRepack, true, Placement::kMemory, 2 << 20}}) {
    CAPTURE(way.cache);
    CAPTURE(static_cast<int>(way.plan));
    CAPTURE(way.planned);
    Setup disk = memory;
    disk.features = Placement::kDisk;
    disk.topology = way.topology;
    disk.cache = way.cache;
    disk.plan = way.plan;
    disk.window_bytes = way.window_bytes;
    if (way.planned) disk.scratch = dir.path().string();
    const Run run = deliver_tables(dir / "x", disk, {});
    CHECK(run.chain == expected.chain);
    CHECK(run.stats.bytes_read > 0);
    LoaderStart middle;
    middle.first_batch = 3;
    middle.batches_xxh3 = expected.chain[2];
    const Run rest = deliver_tables(dir / "x", disk, {}, middle);
    CHECK(rest.chain == std::vector(expected.chain.begin() + 3, expected.chain.end()));
  }
}

TEST_CASE("feature tables: edges come in turns with their features, and by other samplers") {
  const TempDir dir;
  write_sample(dir / "x", several_tables());
  Setup memory;
  memory.loader = base_options();
  memory.features = Placement::kMemory;
  memory.loader.sampler =
      std::make_shared<SamplerKind<RandomWalkSampler>>(RandomWalkSampler::Options{});
  memory.loader.fanout = {};
  Setup disk = memory;
  disk.features = disk.topology = Placement::kDisk;
  disk.scratch = dir.path().string();
  disk.window_bytes = 2 << 20;
  CHECK(deliver_tables(dir / "x", memory, {}).chain == deliver_tables(dir / "x", disk, {}).chain);
}

TEST_CASE(
    "feature tables: labels of edges come without features of edges, and the other way round") {
  const TempDir dir;
  write_sample(dir / "x", several_tables());
  Setup disk;
  disk.loader = base_options();
  disk.topology = Placement::kDisk;
  disk.scratch = dir.path().string();
  CHECK(deliver_tables(dir / "x", disk, {.edge_groups = {}}).chain.size() > 1);
  CHECK(deliver_tables(dir / "x", disk, {.edge_labels = false}).chain.size() > 1);
}

TEST_CASE("feature tables: a group that nobody has is refused, by name") {
  const TempDir dir;
  write_sample(dir / "x", several_tables());
  const auto message_for = [&](const AskedGroups& asked) -> std::string {
    try {
      deliver_tables(dir / "x", {}, asked);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kUsage);
      return error.message();
    }
    return {};
  };
  CHECK(message_for({{"texts"}, {}, {}}) == "no node type of the dataset has features 'texts'");
  CHECK(message_for({{""}, {"text"}, {}}) == "no relation of the dataset has features 'text'");
}
