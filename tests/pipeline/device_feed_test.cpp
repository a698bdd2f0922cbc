// Mini-batches on their way to a GPU: the same bits as on the host, in the right order, through a
// fake device that runs everything late; and bugs planted in that order are found.
#include "pipeline/device_feed_support.h"
#include "pipeline/gpu/transfer_ring.h"
#include "support/sample_dataset.h"

#include <optional>

using namespace sluice;
using namespace sluice::test;

namespace {

void write(const TempDir& dir, DType dtype = DType::kF32) {
  SampleOptions sample;
  sample.nodes = 2000;
  sample.edges = 20'000;
  sample.dim = 50;
  sample.dtype = dtype;
  write_sample(dir / "x", sample);
}

}  // namespace

TEST_CASE("device feed: batches on a GPU are those of the host, whoever gathers their features") {
  const TempDir dir;
  write(dir);
  FeedSetup setup;
  setup.loader = feed_options();
  setup.loader.hash = true;
  const Delivered reference = deliver(dir / "x", setup);
  for (const Placement features : {Placement::kMemory, Placement::kDisk}) {
    for (const bool hash : {true, false}) {
      for (const std::uint64_t seed : {1u, 2u, 4u, 7u}) {
        for (const std::uint64_t window_bytes : {std::uint64_t{1} << 20, std::uint64_t{16} << 20}) {
          CAPTURE(seed);
          CAPTURE(hash);
          CAPTURE(window_bytes);
          FeedSetup there = setup;
          there.device = fake(seed);
          there.features = features;
          there.loader.hash = hash;
          there.window_bytes = window_bytes;
          there.kept = seed % 3;
          there.scratch = seed == 2 ? (dir / "scratch").string() : "";
          if (!there.scratch.empty()) std::filesystem::create_directories(there.scratch);
          const Delivered delivered = deliver(dir / "x", there);
          CHECK(there.device->violations() == std::vector<std::string>{});
          REQUIRE(delivered.batches == reference.batches);
          if (hash) CHECK(delivered.hashes == reference.hashes);
          CHECK(delivered.stats.bytes_to_device > 0);
          CHECK(delivered.stats.bytes_useful == reference.stats.bytes_useful);
        }
      }
    }
  }
}

TEST_CASE("device feed: features of every dtype are gathered and widened to the same bits") {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kI8}) {
    CAPTURE(to_string(dtype));
    const TempDir dir;
    write(dir, dtype);
    FeedSetup setup;
    setup.loader = feed_options();
    const Delivered reference = deliver(dir / "x", setup);
    for (const Placement features : {Placement::kMemory, Placement::kDisk}) {
      setup.features = features;
      LoaderStats stats[2];
      for (const bool hash : {false, true}) {
        setup.device = fake(3);
        setup.loader.hash = hash;
        const Delivered delivered = deliver(dir / "x", setup);
        CHECK(setup.device->violations() == std::vector<std::string>{});
        REQUIRE(delivered.batches == reference.batches);
        stats[hash ? 1 : 0] = delivered.stats;
      }
      // Where the GPU gathers, rows go as they are stored, not four bytes an element.
      CHECK(stats[0].bytes_to_device < stats[1].bytes_to_device);
    }
  }
}

TEST_CASE("device feed: sparse rows come out as dense ones do, whoever spreads them") {
  const TempDir dir;
  SampleOptions sample;
  sample.nodes = 1000;
  sample.edges = 8000;
  sample.dim = 310;
  sample.sparse_step = 19;  // at most 17 of 310 columns
  write_sample(dir / "dense", sample);
  sample.sparse_rows = true;
  write_sample(dir / "sparse", sample);
  {
    const Dataset dataset = Dataset::open((dir / "sparse").string());
    CHECK(dataset.schema().nodes[0].features[0].entries == 17);
    CHECK(dataset.features("node", {Placement::kMemory})->row_bytes() == 4 + 36 + 68);
  }
  FeedSetup setup;
  setup.loader = feed_options();
  const Delivered reference = deliver(dir / "dense", setup);
  for (const Placement features : {Placement::kMemory, Placement::kDisk}) {
    setup.features = features;
    setup.device = nullptr;
    setup.loader.hash = false;
    CHECK(deliver(dir / "sparse", setup).batches == reference.batches);
    LoaderStats stats[2];
    for (const bool hash : {false, true}) {
      setup.device = fake(3);
      setup.loader.hash = hash;
      const Delivered delivered = deliver(dir / "sparse", setup);
      CHECK(setup.device->violations() == std::vector<std::string>{});
      REQUIRE(delivered.batches == reference.batches);
      stats[hash ? 1 : 0] = delivered.stats;
    }
    // Where the GPU gathers, rows go as they are stored.
    CHECK(stats[0].bytes_to_device < stats[1].bytes_to_device);
  }
}

TEST_CASE("device feed: several tables of nodes, and those of edges") {
  const TempDir dir;
  SampleOptions sample;
  sample.nodes = 1000;
  sample.edges = 8000;
  sample.dim = 30;
  sample.text_dim = 9;
  sample.edge_dim = 17;
  sample.edge_classes = 9;
  write_sample(dir / "x", sample);
  FeedSetup setup;
  setup.loader = feed_options();
  setup.groups = {"text", ""};
  setup.edge_groups = {""};
  const Delivered reference = deliver(dir / "x", setup);
  for (const Placement features : {Placement::kMemory, Placement::kDisk}) {
    for (const bool hash : {true, false}) {
      setup.features = features;
      setup.loader.hash = hash;
      setup.device = fake(5);
      CHECK(deliver(dir / "x", setup).batches == reference.batches);
      CHECK(setup.device->violations() == std::vector<std::string>{});
    }
  }
}

TEST_CASE("device feed: slots are made once, and grow for a batch that is larger") {
  const TempDir dir;
  write(dir);
  FeedSetup setup;
  setup.loader = feed_options();
  setup.features = Placement::kMemory;
  const Delivered reference = deliver(dir / "x", setup);
  setup.device = fake(1);
  setup.transfer_bytes = 8 << 20;
  CHECK(deliver(dir / "x", setup).batches == reference.batches);
  CHECK(setup.device->pinnings() == LoaderMemory::kInFlight + 1);  // the slabs, and the table
  setup.device = fake(1);
  setup.transfer_bytes = 0;
  CHECK(deliver(dir / "x", setup).batches == reference.batches);
  CHECK(setup.device->violations() == std::vector<std::string>{});

  const auto device = fake(1);
  {
    const auto ring = std::make_shared<TransferRing>(device, nullptr, nullptr);
    for (const std::uint64_t bytes : {4096u, 4096u, 1u << 20, 1u << 20, 4096u}) {
      for (std::uint64_t slot = 0; slot < LoaderMemory::kInFlight; ++slot) {
        const TransferRing::Lease lease = ring->acquire({bytes, bytes});
        CHECK(lease->slab.size() >= bytes);
        CHECK(lease->memory.size() >= bytes);
      }
    }
    CHECK(device->pinnings() == 2 * LoaderMemory::kInFlight);
  }
  CHECK(device->violations() == std::vector<std::string>{});
}

TEST_CASE("device feed: where pinning is refused the host gathers, and the batches are the same") {
  const TempDir dir;
  write(dir);
  FeedSetup setup;
  setup.loader = feed_options();
  const Delivered reference = deliver(dir / "x", setup);
  FakeDevice::Options refusing;
  refusing.refuse_pinning = true;
  for (const Placement features : {Placement::kMemory, Placement::kDisk}) {
    setup.features = features;
    setup.device = std::make_shared<FakeDevice>(refusing);
    CHECK(deliver(dir / "x", setup).batches == reference.batches);
    CHECK(setup.device->pinnings() == 0);
    CHECK(setup.device->violations() == std::vector<std::string>{});
  }
}

TEST_CASE("device feed: normalised rows are the host's work, and the batches are the same") {
  const TempDir dir;
  write(dir);
  FeedSetup setup;
  setup.loader = feed_options();
  setup.loader.normalize_rows = true;
  const Delivered reference = deliver(dir / "x", setup);
  setup.device = fake(5);
  CHECK(deliver(dir / "x", setup).batches == reference.batches);
  CHECK(setup.device->violations() == std::vector<std::string>{});
}

TEST_CASE("device feed: a run that is stopped in the middle leaves nothing behind") {
  const TempDir dir;
  write(dir);
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    for (const std::size_t most : {1u, 2u, 7u}) {
      CAPTURE(seed);
      CAPTURE(most);
      FeedSetup setup;
      setup.loader = feed_options();
      setup.window_bytes = 1 << 20;
      setup.device = fake(seed);
      CHECK(deliver(dir / "x", setup, most).batches.size() == most);
      CHECK(setup.device->violations() == std::vector<std::string>{});
    }
  }
}

// Not under ThreadSanitizer: a wait that is left out is a race, and it would be found there too.
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("device feed: a wait that is left out is found, whichever it is") {
  const TempDir dir;
  write(dir);
  for (const Forget forget : {Forget::kComputeWaits, Forget::kCopyWaits, Forget::kHostWaits}) {
    for (const bool hash : {true, false}) {
      for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
        CAPTURE(static_cast<int>(forget));
        CAPTURE(seed);
        FeedSetup setup;
        setup.loader = feed_options();
        setup.loader.hash = hash;
        setup.window_bytes = 1 << 20;
        setup.device = fake(seed, forget);
        std::optional<Error> failed;
        try {
          (void)deliver(dir / "x", setup);
        } catch (const Error& error) {
          failed = error;
        }
        CHECK(!setup.device->violations().empty());
        REQUIRE(failed);
        CHECK(failed->message().find("fake device: ") == 0);
      }
    }
  }
}
#endif

TEST_CASE("device feed: an event that fails for the last batch is told at the end") {
  const TempDir dir;
  write(dir);
  FeedSetup setup;
  setup.loader = feed_options();
  setup.kept = 0;
  const std::size_t all = deliver(dir / "x", setup).batches.size();
  setup.refuse_after = all;
  setup.device = fake(1);
  std::optional<Error> failed;
  try {
    (void)deliver(dir / "x", setup);
  } catch (const Error& error) {
    failed = error;
  }
  REQUIRE(failed);
  CHECK(failed->message() == "recording is refused");
}

TEST_CASE("device feed: where a kernel is refused, what was queued before it is waited for") {
  const TempDir dir;
  write(dir);
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    CAPTURE(seed);
    FakeDevice::Options refusing;
    refusing.seed = seed;
    refusing.refuse_kernels = true;
    FeedSetup setup;
    setup.loader = feed_options();
    setup.features = Placement::kMemory;
    setup.device = std::make_shared<FakeDevice>(refusing);
    std::optional<Error> failed;
    try {
      (void)deliver(dir / "x", setup);
    } catch (const Error& error) {
      failed = error;
    }
    REQUIRE(failed);
    CHECK(failed->message() == "the kernel is refused");
    CHECK(setup.device->violations() == std::vector<std::string>{});
    CHECK(setup.device->queued() == 0);
  }
}

TEST_CASE("device feed: a GPU with too little memory is refused with the ledger's table") {
  const TempDir dir;
  write(dir);
  FakeDevice::Options small;
  small.bytes = 100'000;
  FeedSetup setup;
  setup.loader = feed_options();
  setup.device = std::make_shared<FakeDevice>(small);
  std::optional<Error> failed;
  try {
    (void)deliver(dir / "x", setup);
  } catch (const Error& error) {
    failed = error;
  }
  REQUIRE(failed);
  CHECK(failed->code() == ErrorCode::kResource);
}
