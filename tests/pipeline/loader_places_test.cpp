// The same mini-batches wherever data is kept, whatever reads it, with any window, budget, threads.
#include "loader_support.h"
#include "support/temp_dir.h"

using namespace sluice;
using namespace sluice::test;

TEST_CASE(
    "batches are the same bits wherever data is kept, for any window, budget, engine and threads") {
  const TempDir dir;
  const SampleOptions sample = hundred_columns(kLoaderNodes);
  write_sample(dir / "x", sample);
  Setup setup;
  setup.loader = base_options();
  setup.features = Placement::kMemory;
  const Run reference = deliver(dir / "x", setup);
  REQUIRE(reference.chain.size() == (sample.nodes / 2 + 15) / 16);
  CHECK(reference.stats.bytes_read == 0);

  const std::vector<std::int64_t> windows =
      sanitized<std::vector<std::int64_t>>({0, 1, 4, 32}, {0, 4});
  const std::vector<int> num_threads = sanitized<std::vector<int>>({1, 2, 4}, {2, 4});
  const std::uint64_t little = sanitized(1 << 19, 1 << 18);  // less than the table
  for (const IoChoice io : {IoChoice::kAuto, IoChoice::kPread}) {
    for (const Placement topology : {Placement::kMemory, Placement::kDisk}) {
      for (const std::int64_t window : windows) {
        for (const int threads : num_threads) {
          for (const std::uint64_t window_bytes : {little, std::uint64_t{32} << 20}) {
            CAPTURE(window);
            CAPTURE(threads);
            CAPTURE(window_bytes);
            Setup other = setup;
            other.features = Placement::kDisk;
            other.topology = topology;
            other.topology_cache_bytes = window == 1 ? 0 : 100'000;
            other.io = io;
            other.window_bytes = window_bytes;
            other.queue_bytes = threads == 2 ? 0 : 1;
            other.loader.window = window;
            other.loader.data_threads = threads;
            const Run run = deliver(dir / "x", other);
            REQUIRE(run.chain == reference.chain);
            CHECK(run.stats.bytes_read > 0);
            CHECK(run.stats.bytes_useful == reference.stats.bytes_useful);
          }
        }
      }
    }
  }
}

TEST_CASE("features of every dtype give the same batches from disk as from memory") {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kI8}) {
    CAPTURE(to_string(dtype));
    const TempDir dir;
    SampleOptions sample;
    sample.dtype = dtype;
    sample.dim = 100;
    write_sample(dir / "x", sample);
    Setup setup;
    setup.loader = base_options();
    setup.features = Placement::kMemory;
    const Run reference = deliver(dir / "x", setup);
    setup.features = Placement::kDisk;
    for (const IoChoice io : {IoChoice::kAuto, IoChoice::kPread}) {
      for (const std::int64_t window : {0, 1, 8}) {
        for (const int threads : {1, 3}) {
          CAPTURE(window);
          CAPTURE(threads);
          setup.io = io;
          setup.loader.window = window;
          setup.loader.data_threads = threads;
          const Run run = deliver(dir / "x", setup);
          REQUIRE(run.chain == reference.chain);
          CHECK(run.stats.bytes_read > 0);
          CHECK(run.stats.bytes_useful == reference.stats.bytes_useful);
        }
      }
    }
  }
}
