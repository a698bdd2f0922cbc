// A graph of three relations, each in memory or on disk on its own: the same mini-batches.
#include "pipeline/loader_support.h"
#include "support/graph_dataset.h"
#include "support/temp_dir.h"

#include <sluice/sampler.h>

#include <random>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kUsers = 900, kItems = 1300;
constexpr std::size_t kRelations = 3;

CscArrays drawn_lists(std::mt19937_64& draw,
                      std::uint64_t sources,
                      std::uint64_t targets,
                      std::uint64_t mean) {
  CscArrays csc{{0}, {}, {}};
  for (std::uint64_t target = 0; target < targets; ++target) {
    const std::uint64_t degree = draw() % (2 * mean + 1);
    for (std::uint64_t e = 0; e < degree; ++e) csc.neighbours.push_back(draw() % sources);
    csc.offsets.push_back(csc.neighbours.size());
  }
  return csc;
}

void write_users_and_items(const std::filesystem::path& path) {
  std::mt19937_64 draw(5);
  DatasetWriter writer(path, Overwrite::kRefuse, nullptr);
  writer.schema().nodes = {{.name = "user", .count = kUsers}, {.name = "item", .count = kItems}};
  add_csc(writer,
          {.source = "user", .name = "knows", .target = "user"},
          drawn_lists(draw, kUsers, kUsers, 12));
  add_csc(writer,
          {.source = "item", .name = "bought", .target = "user"},
          drawn_lists(draw, kItems, kUsers, 30));
  add_csc(writer,
          {.source = "user", .name = "buys", .target = "item"},
          drawn_lists(draw, kUsers, kItems, 20));
  writer.commit("test");
}

Array all_users() {
  Array seeds =
      Array::make(DType::kU64, {static_cast<std::int64_t>(kUsers)}, nullptr, "seeds").or_throw();
  for (std::uint64_t i = 0; i < kUsers; ++i) seeds.as<std::uint64_t>()[i] = i;
  return seeds;
}

Run deliver_users(const std::filesystem::path& path,
                  const Setup& setup,
                  const std::vector<Placement>& places) {
  Run run;
  MemoryLedger ledger(setup.ledger_bytes);
  {
    const Dataset dataset = Dataset::open(path.string(), {.ledger = &ledger});
    GraphDataOptions kept = data_options(setup);
    kept.relation_topology = places;
    GraphData data(dataset, kept, 0);
    for (std::size_t r = 0; r < kRelations; ++r) {
      CHECK((data.graph().relations[r]->resident() != nullptr) ==
            (kept.topology_of(r) == Placement::kMemory));
    }
    Loader loader(data, setup.loader, all_users(), {setup.window_bytes, setup.queue_bytes}, ledger);
    loader.start({});
    while (const auto batch = loader.next()) run.chain.push_back(loader.stats().batches_xxh3);
    run.stats = loader.stats();
  }
  CHECK(ledger.used() == 0);
  return run;
}

}  // namespace

TEST_CASE("relations in memory and on disk, in any mixture, give the same mini-batches") {
  const TempDir dir;
  write_users_and_items(dir / "x");
  Setup setup;
  setup.loader = base_options();
  setup.loader.data_threads = 1;
  setup.topology_cache_bytes = 0;
  const Run memory = deliver_users(dir / "x", setup, {});
  CHECK(memory.chain.size() == (kUsers + 15) / 16);
  CHECK(memory.stats.bytes_read == 0);
  setup.topology = Placement::kDisk;
  const Run disk = deliver_users(dir / "x", setup, {});
  CHECK(disk.chain == memory.chain);
  for (unsigned mixture = 1; mixture + 1 < 1u << kRelations; ++mixture) {
    std::vector<Placement> places;
    for (std::size_t r = 0; r < kRelations; ++r)
      places.push_back((mixture >> r & 1) != 0 ? Placement::kMemory : Placement::kDisk);
    for (const int threads : {1, 3}) {
      CAPTURE(mixture);
      CAPTURE(threads);
      setup.loader.data_threads = threads;
      const Run mixed = deliver_users(dir / "x", setup, places);
      CHECK(mixed.chain == memory.chain);
      CHECK(mixed.stats.bytes_read > 0);
      CHECK(mixed.stats.bytes_read < disk.stats.bytes_read);
    }
  }
}

TEST_CASE("pages of edges that are kept are shared out among the relations on disk") {
  const TempDir dir;
  write_users_and_items(dir / "x");
  const auto cache_of = [&](const std::vector<Placement>& places) {
    MemoryLedger ledger(64 << 20);
    const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
    GraphDataOptions kept = data_options({});
    kept.relation_topology = places;
    kept.topology_cache_bytes = 64 << 10;
    const GraphData data(dataset, kept, 0);
    for (const MemoryLedger::Entry& entry : ledger.entries())
      if (entry.name == "topology cache") return entry.bytes;
    return std::uint64_t{0};
  };
  const Placement memory = Placement::kMemory, disk = Placement::kDisk;
  CHECK(cache_of({memory, memory, memory}) == 0);
  // Of pages there are more than that, in the relation that is alone on disk too.
  for (const auto& places : {std::vector{disk, disk, disk}, std::vector{memory, disk, memory}}) {
    CHECK(cache_of(places) > (40 << 10));
    CHECK(cache_of(places) <= (72 << 10));  // blocks come in sizes an eighth apart
  }
}
