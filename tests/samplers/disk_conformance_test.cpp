// Every sampler over a dataset's edges on disk, against the same edges in RAM.
#include "disk_graph.h"
#include "sampler_kinds.h"
#include "sampler_support.h"

#include "support/sanitized.h"
#include "support/temp_dir.h"

#include <sluice/dataset.h>

#include <doctest/doctest.h>

#include <fstream>
#include <ios>

namespace sluice {
namespace {

using test::Held;
using test::TempDir;
using test::TestGraph;

using test::kAllParts;

TEST_CASE("batches from disk are those from RAM, for any engine, cache and buffer") {
  for (std::uint64_t seed = 0; seed < test::sanitized(12u, 4u); ++seed) {
    CAPTURE(seed);
    const TempDir dir;
    const TestGraph graph = test::random_graph(seed);
    test::write_graph(dir / "x", graph);
    const Dataset dataset = Dataset::open((dir / "x").string());
    const std::size_t type = seed % graph.schema.nodes.size();
    const auto seeds = test::random_seeds(graph, type, 20, RandomKey(seed));
    const SampleRequest request{.epoch = 1, .round = 3, .seeds = {seeds, type}};
    for (const test::SamplerKind& kind : test::sampler_kinds()) {
      CAPTURE(kind.name);
      const auto resident = kind.make(graph.open(Held::k32), kAllParts, RandomKey(seed));
      const std::uint64_t expected = hash_batch(resident->sample(request, nullptr).or_throw());
      for (std::uint64_t variant = 0; variant < 4; ++variant) {
        const TopologyOptions options{
            .placement = Placement::kDisk,
            .io = variant % 2 == 0 ? IoChoice::kAuto : IoChoice::kPread,
            .staging_bytes = variant < 2 ? 1u : 1u << 20,
            .cache_bytes = std::vector<std::uint64_t>{0, 9000, 1 << 20}[variant % 3]};
        const auto paged =
            kind.make(test::open_graph(dataset, options), kAllParts, RandomKey(seed));
        CHECK(hash_batch(paged->sample(request, nullptr).or_throw()) == expected);
      }
    }
  }
}

TEST_CASE("a damaged page of edges fails the batch with its name, and only that batch") {
  const TempDir dir;
  TestGraph graph = test::make_graph({5000});
  test::EdgeLists lists(5000);
  for (std::uint64_t node = 0; node < 5000; ++node)
    for (std::uint64_t i = 0; i < 4; ++i) lists[node].push_back({(node + i) % 5000, 4 * node + i});
  test::add_relation(graph, 0, 0, std::move(lists));
  test::write_graph(dir / "x", graph);
  const Dataset dataset = Dataset::open((dir / "x").string());
  const std::filesystem::path path = dir / "x/edges/t0__r0__t0/neighbours.bin";
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(40'000).put('\x55');
  const SamplerGraph opened = test::open_graph(dataset, {Placement::kDisk, {}, 1 << 20, 0});
  const std::vector<std::uint64_t> good = {0, 1}, bad = {2490, 2510};  // 16 bytes of edges a node
  for (const test::SamplerKind& kind : test::sampler_kinds()) {
    CAPTURE(kind.name);
    const auto sampler = kind.make(opened, kAllParts, RandomKey(1));
    const auto failed = sampler->sample({.seeds = bad}, nullptr);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code() == ErrorCode::kData);
    CHECK(std::string(failed.error().what()).find("neighbours.bin") != std::string::npos);
    CHECK(sampler->sample({.seeds = good}, nullptr));
  }
}

}  // namespace
}  // namespace sluice
