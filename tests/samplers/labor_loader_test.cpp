// Samplers that share draws, through the whole pipeline: what is delivered depends on options and
// seed alone.
#include "pipeline/loader_support.h"
#include "support/temp_dir.h"

#include "samplers/labor_sampler.h"

namespace sluice {
namespace {

using test::deliver;
using test::Run;
using test::sanitized;
using test::Setup;
using test::TempDir;

struct LaborData {
  TempDir dir;
  std::filesystem::path path = dir / "x";
  LaborData() {
    test::SampleOptions sample;
    sample.nodes = sanitized<std::uint64_t>(3000, 800);
    sample.edges = 20 * sample.nodes;
    test::write_sample(path, sample);
  }
};

template <class Kind>
std::shared_ptr<const SamplerMethod> method(typename Kind::Options options) {
  return std::make_shared<SamplerKind<Kind>>(std::move(options));
}

TEST_CASE("mini-batches from disk are those from memory, for any window, plan, threads and start") {
  const LaborData data;
  using Count = SharedDraws::Count;
  const std::vector<std::shared_ptr<const SamplerMethod>> methods = {
      method<LaborSampler>({.fanout = {5, 3}}),
      method<LaborSampler>({.fanout = {5, 3}, .count = Count::kPoisson, .dependence = 4}),
      method<LaborSampler>(
          {.fanout = {5, 3}, .share_layers = true, .hub_degree = 25, .dependence = 1000}),
      method<NeighborSampler>({.fanout = {5, 3}, .dependence = 4})};
  std::vector<std::uint64_t> ends;
  for (const auto& sampler : methods) {
    Setup memory;
    memory.features = Placement::kMemory;
    memory.loader = test::base_options();
    memory.loader.sampler = sampler;
    memory.loader.data_threads = 1;
    const Run expected = deliver(data.path, memory);
    ends.push_back(expected.chain.back());

    Setup disk = memory;
    disk.features = disk.topology = Placement::kDisk;
    disk.topology_cache_bytes = 0;
    disk.loader.data_threads = 2;
    CHECK(deliver(data.path, disk).chain == expected.chain);
    disk.window_bytes = 8 << 20;
    disk.io = IoChoice::kPread;
    disk.topology_cache_bytes = 1 << 20;
    CHECK(deliver(data.path, disk).chain == expected.chain);
    const TempDir scratch;
    Setup planned = disk;
    planned.scratch = scratch.path().string();
    CHECK(deliver(data.path, planned).chain == expected.chain);
    Setup kept = disk;  // whole lists of hot nodes
    kept.snapshot = {.mode = SnapshotMode::kFull, .hot = 0.3};
    const Run snapshot = deliver(data.path, kept);
    CHECK(snapshot.chain == expected.chain);
    CHECK(snapshot.stats.snapshot.hits > 0);

    const std::size_t half = expected.chain.size() / 2;
    const LoaderStart middle{
        .epoch = 0, .first_batch = half + 1, .batches_xxh3 = expected.chain[half]};
    CHECK(deliver(data.path, disk, middle).chain.back() == expected.chain.back());
  }
  std::ranges::sort(ends);
  CHECK(std::ranges::unique(ends).empty());
}

TEST_CASE("snapshots that hold parts of lists are refused") {
  const LaborData data;
  Setup setup;
  setup.loader = test::base_options();
  setup.loader.sampler = method<LaborSampler>({.fanout = {5, 3}});
  setup.topology = Placement::kDisk;
  setup.snapshot = {.mode = SnapshotMode::kRefresh, .hot = 0.3, .alpha = 1, .period = 6};
  CHECK_THROWS_AS(deliver(data.path, setup), Error);
}

}  // namespace
}  // namespace sluice
