// Features that are gathered when somebody asks are those that come with a mini-batch, bit for bit,
// from memory and from disk, dense, sparse and normalised, as often as they are asked for.
#include "pipeline/loader_support.h"
#include "support/temp_dir.h"

#include <sluice/deferred_features.h>  // IWYU pragma: keep

#include <algorithm>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

using Rows = std::vector<float>;

Rows asked_for(const Batch& batch) {
  REQUIRE(batch.deferred != nullptr);
  REQUIRE(batch.features(0).empty());
  const std::int64_t columns = batch.deferred->columns(0, 0), count = batch.nodes[0].ids.numel();
  REQUIRE(columns > 0);
  CHECK(batch.deferred->columns(0, 1) == 0);
  Rows rows(static_cast<std::size_t>(count * columns));
  batch.deferred->gather(0, 0, 0, rows);
  // In two pieces: the same.
  const std::int64_t half = count / 2;
  Rows pieces(rows.size());
  const std::span<float> all(pieces);
  const auto cut = static_cast<std::size_t>(half * columns);
  batch.deferred->gather(0, 0, 0, all.first(cut));
  batch.deferred->gather(0, 0, half, all.subspan(cut));
  CHECK(pieces == rows);
  return rows;
}

void check_same_rows(const std::filesystem::path& path, Setup setup) {
  std::vector<Rows> expected;
  const Run ahead = deliver(path, setup, {}, [&](const Batch& batch) {
    REQUIRE(batch.deferred == nullptr);
    const Array features = batch.features(0);
    const auto values = features.as<float>();
    expected.emplace_back(values.begin(), values.end());
  });
  setup.loader.deferred_features = true;
  std::vector<Rows> got;
  const Run later =
      deliver(path, setup, {}, [&](const Batch& batch) { got.push_back(asked_for(batch)); });
  CHECK(got == expected);
  CHECK(later.chain == ahead.chain);
  CHECK(later.stats.bytes_useful == ahead.stats.bytes_useful);
}

}  // namespace

TEST_CASE("deferred features are those that come with mini-batches, from memory and disk") {
  const TempDir dir;
  SampleOptions dense;
  dense.nodes = kLoaderNodes;
  dense.edges = 8 * dense.nodes;
  dense.dtype = DType::kF16;
  SampleOptions sparse = dense;
  sparse.dtype = DType::kF32;
  sparse.dim = 310;
  sparse.sparse_step = 19;
  sparse.sparse_rows = true;
  write_sample(dir / "dense", dense);
  write_sample(dir / "sparse", sparse);
  for (const char* const name : {"dense", "sparse"}) {
    for (const Placement features : {Placement::kMemory, Placement::kDisk}) {
      INFO(name, (features == Placement::kDisk ? ", disk" : ", memory"));
      Setup setup;
      setup.features = features;
      setup.loader = base_options();
      check_same_rows(dir / name, setup);
      setup.loader.normalize_rows = true;
      check_same_rows(dir / name, setup);
    }
  }
}

TEST_CASE("a blank mini-batch of deferred features has zeros for who asks") {
  const TempDir dir;
  SampleOptions sample;
  sample.nodes = 400;
  sample.edges = 2000;
  write_sample(dir / "data", sample);
  Setup setup;
  setup.loader = base_options();
  setup.loader.deferred_features = true;
  with_loader(dir / "data", setup, [](Loader& loader) {
    const auto batch = loader.blank();
    const Rows rows = asked_for(*batch);
    CHECK(std::ranges::all_of(rows, [](float value) { return value == 0; }));
  });
}
