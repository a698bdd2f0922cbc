// What comes of a mini-batch that no window has room for.
#include "pipeline/loader_support.h"
#include "support/temp_dir.h"

#include <sluice/error.h>

#include <algorithm>
#include <numeric>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kBatch = 16;

// A mini-batch of the nodes with fewest in-edges, and one of those with most.
Array few_then_many(const SampleOptions& sample) {
  std::vector<std::uint64_t> degrees(sample.nodes), nodes(sample.nodes);
  for (const auto& [source, target] : sample_edges(sample)) ++degrees[target];
  std::iota(nodes.begin(), nodes.end(), std::uint64_t{0});
  std::ranges::stable_sort(nodes, {}, [&](std::uint64_t node) { return degrees[node]; });
  Array seeds = Array::make(DType::kU64, {2 * kBatch}, nullptr, "seeds").or_throw();
  std::copy_n(nodes.begin(), kBatch, seeds.as<std::uint64_t>().begin());
  std::copy_n(nodes.end() - kBatch, kBatch, seeds.as<std::uint64_t>().begin() + kBatch);
  return seeds;
}

}  // namespace

TEST_CASE("mini-batches before one that no window has room for are delivered") {
  const TempDir dir;
  const SampleOptions sample = hundred_columns();
  write_sample(dir / "x", sample);
  Setup setup;
  setup.loader = base_options();
  setup.loader.batch_size = kBatch;
  setup.loader.shuffle = false;
  setup.loader.fanout = {-1};
  setup.cache = "lru";
  const auto chain_of = [&](bool tight) {
    std::vector<std::uint64_t> chain;
    MemoryLedger ledger(setup.ledger_bytes);
    const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
    GraphData data(dataset, data_options(setup), 0);
    Loader loader(data, setup.loader, few_then_many(sample), {setup.window_bytes, 1}, ledger);
    if (tight) {
      // As a run is tried: what the first takes, and a quarter more.
      const std::uint64_t least = loader.probe(1).window_bytes;
      loader.set_memory({least + least / 4, 1});
    }
    loader.start({});
    try {
      while (const auto batch = loader.next()) chain.push_back(loader.stats().batches_xxh3);
    } catch (const Error& error) {
      CHECK(tight);
      CHECK(error.code() == ErrorCode::kResource);
      CHECK(error.message().find("mini-batch 1 of epoch 0 needs ") == 0);
    }
    return chain;
  };
  const std::vector<std::uint64_t> both = chain_of(false);
  REQUIRE(both.size() == 2);
  CHECK(chain_of(true) == std::vector{both.front()});
}
