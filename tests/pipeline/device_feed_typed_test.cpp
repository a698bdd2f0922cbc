// Mini-batches of several node types on their way to a GPU: tables of other widths, a type without
// features, parallel ways between types, degrees by relation, and features that a host would gather
// when they are asked for. The same bits as on the host.
#include "pipeline/device_feed_support.h"
#include "prep/propagate_support.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

FeedSetup typed_feed() {
  FeedSetup setup;
  setup.loader = feed_options();
  setup.loader.batch_size = 4;
  setup.loader.relation_degrees = true;
  return setup;
}

// A drawn graph of three types, and one more relation from b to a.
void write_typed(const std::filesystem::path& target, DType dtype) {
  TypedGraph graph(5);
  graph.edges["b__v__a"] = graph.edges.at("b__w__a");
  graph.edges.at("b__v__a").resize(90);
  graph.write(target, dtype);
}

}  // namespace

TEST_CASE("device feed: several node types and relations come as on the host") {
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    CAPTURE(to_string(dtype));
    const TempDir dir;
    write_typed(dir / "x", dtype);
    FeedSetup setup = typed_feed();
    setup.loader.hash = true;
    const Delivered reference = deliver(dir / "x", setup);
    REQUIRE(reference.batches.size() > 3);
    for (const Placement features : {Placement::kMemory, Placement::kDisk}) {
      setup.features = features;
      for (const bool deferred : {false, true}) {
        CAPTURE(deferred);
        setup.loader.deferred_features = deferred;
        setup.loader.hash = true;
        setup.device = nullptr;
        CHECK(deliver(dir / "x", setup).hashes == reference.hashes);
        for (const bool hash : {true, false}) {
          for (const std::uint64_t seed : {1u, 2u, 3u}) {
            CAPTURE(hash);
            CAPTURE(seed);
            setup.loader.hash = hash;
            setup.device = fake(seed);
            const Delivered delivered = deliver(dir / "x", setup);
            CHECK(setup.device->violations() == std::vector<std::string>{});
            REQUIRE(delivered.batches == reference.batches);
            if (hash) CHECK(delivered.hashes == reference.hashes);
            CHECK(delivered.stats.bytes_to_device > 0);
            CHECK(delivered.stats.bytes_useful == reference.stats.bytes_useful);
          }
        }
      }
    }
  }
}

TEST_CASE("device feed: degrees by relation are among what comes") {
  const TempDir dir;
  write_typed(dir / "x", DType::kF32);
  FeedSetup setup = typed_feed();
  const Delivered with = deliver(dir / "x", setup);
  setup.loader.relation_degrees = false;
  const Delivered without = deliver(dir / "x", setup);
  REQUIRE(with.batches.size() == without.batches.size());
  for (std::size_t i = 0; i < with.batches.size(); ++i)
    CHECK(with.batches[i].size() > without.batches[i].size());
}
