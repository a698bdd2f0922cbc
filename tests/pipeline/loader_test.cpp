// What a loader's mini-batches hold, and what it does when it is stopped, refused or disturbed.
#include "planned_support.h"
#include "support/blocks.h"
#include "support/expect_error.h"
#include "support/sanitized.h"
#include "support/stored_rows.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/loader.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <ios>
#include <set>
#include <string>
#include <thread>

using namespace sluice;
using namespace sluice::test;

namespace {

// Against one made from the block's lists of sources.
void check_transpose(const Block& block) {
  const auto offsets = block.offsets.as<std::int64_t>();
  const auto rows = block.neighbours.as<std::int32_t>();
  std::vector<std::vector<std::int32_t>> lists;
  for (std::size_t t = 0; t + 1 < offsets.size(); ++t)
    lists.emplace_back(rows.begin() + offsets[t], rows.begin() + offsets[t + 1]);
  const Block expected = testing::make_block(block.num_sources, lists);
  for (const auto array :
       {&Block::transposed_offsets, &Block::transposed_targets, &Block::transposed_edges}) {
    REQUIRE((block.*array).shape() == (expected.*array).shape());
    REQUIRE(std::ranges::equal((block.*array).raw(), (expected.*array).raw()));
  }
}

}  // namespace

TEST_CASE("blocks are delivered with their transposes, wherever they were kept, where asked for") {
  const TempDir dir;
  write_sample(dir / "x", following_table());
  std::uint64_t edges = 0;
  const auto check = [&](const Batch& batch) {
    for (const auto& layer : batch.layers) {
      for (const Block& block : layer) {
        check_transpose(block);
        edges += static_cast<std::uint64_t>(block.num_edges());
      }
    }
  };
  Setup setup = following(dir);
  const Run planned = deliver(dir / "x", setup, {}, check);
  CHECK(planned.stats.windows_packed > 0);
  setup.features = Placement::kMemory;
  CHECK(deliver(dir / "x", setup, {}, check).chain == planned.chain);
  CHECK(edges > 0);
  setup.loader.transpose = false;
  const auto check_none = [](const Batch& batch) {
    for (const auto& layer : batch.layers) {
      for (const Block& block : layer) {
        CHECK(block.transposed_offsets.shape().empty());
        CHECK(block.transposed_targets.shape().empty());
        CHECK(block.transposed_edges.shape().empty());
      }
    }
  };
  CHECK(deliver(dir / "x", setup, {}, check_none).chain == planned.chain);
}

TEST_CASE("what a batch holds is what was stored, widened") {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kI8}) {
    CAPTURE(to_string(dtype));
    const TempDir dir;
    SampleOptions sample;
    sample.dtype = dtype;
    sample.dim = 37;
    write_sample(dir / "x", sample);
    MemoryLedger ledger(256 << 20);
    const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
    const auto store = dataset.features("node", {Placement::kMemory});
    GraphData data(dataset, {}, 0);
    Loader loader(data, base_options(), dataset.split("default").train, {}, ledger);
    loader.start({});
    const auto batch = loader.next();
    const auto ids = batch->nodes[0].ids.as<std::uint64_t>();
    const auto x = batch->features(0).as<float>();
    REQUIRE(x.size() == ids.size() * sample.dim);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto expected = stored_values(dtype, store->resident_row(ids[i]), sample.dim);
      for (std::size_t c = 0; c < sample.dim; ++c)
        REQUIRE(x[i * sample.dim + c] == static_cast<float>(expected[c]));
    }
  }
}

TEST_CASE(
    "another seed or epoch gives other batches; an epoch begun in its middle gives the same rest") {
  const TempDir dir;
  write_sample(dir / "x");
  Setup setup;
  setup.loader = base_options();
  const Run first = deliver(dir / "x", setup);
  const Run second = deliver(dir / "x", setup, {.epoch = 1});
  CHECK(first.chain[0] != second.chain[0]);
  Setup reseeded = setup;
  reseeded.loader.seed = 2;
  CHECK(deliver(dir / "x", reseeded).chain[0] != first.chain[0]);
  const Run rest =
      deliver(dir / "x", setup, {.epoch = 0, .first_batch = 10, .batches_xxh3 = first.chain[9]});
  CHECK(std::vector(first.chain.begin() + 10, first.chain.end()) == rest.chain);
}

TEST_CASE("a batch holds what it says: features, labels, and every seed of the epoch once") {
  const TempDir dir;
  SampleOptions sample;
  sample.dim = 7;
  write_sample(dir / "x", sample);
  MemoryLedger ledger(256 << 20);
  const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
  GraphData data(dataset, {}, 0);
  const Array labels = dataset.labels("node");
  const Split split = dataset.split("default");
  Loader loader(data, base_options(), split.train, {}, ledger);
  loader.start({.epoch = 3});
  std::set<std::uint64_t> seen;
  while (const auto batch = loader.next()) {
    const auto ids = batch->nodes[0].ids.as<std::uint64_t>();
    const auto x = batch->features(0).as<float>();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      for (std::uint32_t c = 0; c < 7; ++c) REQUIRE(x[i * 7 + c] == sample_feature(ids[i], c));
    }
    const auto seeds = batch->seeds[0].as<std::uint64_t>();
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      CHECK(batch->labels.as<std::int32_t>()[i] == labels.as<std::int32_t>()[seeds[i]]);
      CHECK(seen.insert(seeds[i]).second);
    }
  }
  CHECK(seen.size() == 500);
}

TEST_CASE("rows can be normalised to a sum of one") {
  const TempDir dir;
  write_sample(dir / "x");
  MemoryLedger ledger(256 << 20);
  const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
  GraphData data(dataset, {}, 0);
  LoaderOptions options = base_options();
  options.normalize_rows = true;
  Loader loader(data, options, dataset.split("default").train, {}, ledger);
  loader.start({});
  const auto batch = loader.next();
  const auto x = batch->features(0).as<float>();
  for (std::int64_t row = 0; row < batch->nodes[0].ids.numel(); ++row) {
    double sum = 0;
    for (std::size_t c = 0; c < 32; ++c) sum += std::abs(x[static_cast<std::size_t>(row) * 32 + c]);
    CHECK(sum == doctest::Approx(1).epsilon(1e-5));
  }
}

TEST_CASE(
    "a damaged page stops the epoch with its name, after the batches before it, and the loader can "
    "start again") {
  const TempDir dir;
  write_sample(dir / "x");
  const std::string file = dir / "x/nodes/node/features.bin";
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(20'000).put('\x55');
  MemoryLedger ledger(256 << 20);
  const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
  GraphData data(dataset, {}, 0);
  Loader loader(data, base_options(), dataset.split("default").train, {}, ledger);
  for (int round = 0; round < 2; ++round) {
    loader.start({});
    const Error error = expect_error([&] {
      while (loader.next()) {
      }
    });
    CHECK(error.code() == ErrorCode::kData);
    CHECK(std::string(error.what()).find(file + " at byte 16384") == 0);
  }
}

TEST_CASE("stopping at any point neither hangs nor leaks, and batches handed out stay valid") {
  const TempDir dir;
  write_sample(dir / "x");
  MemoryLedger ledger(256 << 20);
  {
    const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
    GraphData data(dataset, {}, 0);
    std::shared_ptr<const Batch> kept;
    std::uint64_t before = 0;
    {
      Loader loader(data, base_options(), dataset.split("default").train, {8 << 20, 1}, ledger);
      for (int batches = 0; batches < 12; ++batches) {
        loader.start({.epoch = static_cast<std::uint64_t>(batches)});
        for (int i = 0; i < batches; ++i) kept = loader.next();
        loader.stop();
        CHECK(loader.next() == nullptr);
      }
      before = hash_batch(*kept);
    }
    CHECK(hash_batch(*kept) == before);
  }
  CHECK(ledger.used() == 0);
}

TEST_CASE(
    "an epoch whose planning was stopped leaves nothing that the next start takes for its own") {
  const TempDir dir;
  write_sample(dir / "x", hundred_columns(kLoaderNodes));
  Setup setup;
  setup.loader = base_options();
  setup.window_bytes = sanitized(300'000, 270'000);
  const Run reference = deliver(dir / "x", setup);
  setup.scratch = dir.path().string();
  const std::uint64_t last = reference.chain.size() - 1;
  with_loader(dir / "x", setup, [&](Loader& loader) {
    for (int wait = 0; wait < 40; ++wait) {
      CAPTURE(wait);
      loader.start({});
      std::this_thread::sleep_for(std::chrono::microseconds(100 * wait));
      loader.stop();
      // A single mini-batch is not worth a plan.
      loader.start({.epoch = 0, .first_batch = last, .batches_xxh3 = reference.chain[last - 1]});
      REQUIRE(loader.next() != nullptr);
      CHECK(loader.stats().batches_xxh3 == reference.chain[last]);
      CHECK(loader.next() == nullptr);
    }
  });
}

TEST_CASE("an epoch begins at its end at the latest, planned or not") {
  const TempDir dir;
  write_sample(dir / "x", hundred_columns(kLoaderNodes));
  Setup setup;
  setup.loader = base_options();
  setup.window_bytes = sanitized(300'000, 270'000);
  for (const std::string& scratch : {std::string(), dir.path().string()}) {
    CAPTURE(scratch);
    setup.scratch = scratch;
    with_loader(dir / "x", setup, [&](Loader& loader) {
      const std::uint64_t batches = loader.num_batches();
      loader.start({.epoch = 0, .first_batch = batches});
      CHECK(loader.next() == nullptr);
      for (const std::uint64_t beyond : {batches + 1, std::uint64_t{1} << 40}) {
        const Error error =
            expect_error([&] { loader.start({.epoch = 0, .first_batch = beyond}); });
        CHECK(error.code() == ErrorCode::kUsage);
        CHECK(std::string(error.what()).find(std::to_string(beyond)) != std::string::npos);
      }
      loader.start({});
      CHECK(loader.next() != nullptr);
    });
  }
}

TEST_CASE("a batch that cannot fit its share is refused with the figures") {
  const TempDir dir;
  write_sample(dir / "x");
  Setup setup;
  setup.loader = base_options();
  setup.window_bytes = 6000;
  const Error error = expect_error([&] { deliver(dir / "x", setup); });
  CHECK(error.code() == ErrorCode::kResource);
  CHECK(std::string(error.what()).find("mini-batch 0 of epoch 0 needs ") == 0);
}

TEST_CASE("a probe measures without disturbing what comes") {
  const TempDir dir;
  write_sample(dir / "x");
  Setup setup;
  setup.loader = base_options();
  const Run plain = deliver(dir / "x", setup);
  MemoryLedger ledger(256 << 20);
  const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
  GraphData data(dataset, {}, 0);
  Loader loader(data, setup.loader, dataset.split("default").train, {}, ledger);
  const LoaderProbe probe = loader.probe(4);
  CHECK(probe.batches == 4);
  CHECK(probe.block_bytes > 1000);
  CHECK(probe.feature_bytes % (32 * 4) == 0);
  CHECK(probe.window_bytes > probe.feature_bytes);
  loader.start({});
  (void)loader.next();
  CHECK(loader.stats().batches_xxh3 == plain.chain[0]);
}
