// A loader over a small dataset, by one way of keeping its data, for tests of the pipeline.
#pragma once

#include "support/cache_kinds.h"
#include "support/sample_dataset.h"
#include "support/sanitized.h"

#include <doctest/doctest.h>
#include <sluice/loader.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sluice::test {

struct Setup {
  Placement features = Placement::kDisk;
  IoChoice io = IoChoice::kAuto;
  std::uint64_t window_bytes = 64 << 20;
  std::uint64_t queue_bytes = 1 << 20;
  std::string cache = "belady";
  PlanChoice plan = PlanChoice::kAuto;
  std::string scratch;
  std::shared_ptr<const DiskProfile> disk;  ///< null: a typical one
  LoaderOptions loader;
  Placement topology = Placement::kMemory;
  std::uint64_t topology_cache_bytes = 1 << 20;
  SnapshotOptions snapshot;
  std::uint64_t ledger_bytes = 512 << 20;
};

inline LoaderOptions base_options() {
  LoaderOptions options;
  options.fanout = {5, 3};
  options.batch_size = 16;
  options.hash = true;
  return options;
}

/// As few as make two of the largest windows.
inline constexpr std::uint64_t kLoaderNodes = sanitized<std::uint64_t>(1500, 900);

/// A table of 1.2 MB, or of 360 kB.
inline SampleOptions hundred_columns(std::uint64_t nodes = sanitized<std::uint64_t>(3000, 900)) {
  SampleOptions sample;
  sample.nodes = nodes;
  sample.edges = 10 * sample.nodes;
  sample.dim = 100;
  return sample;
}

struct Run {
  std::vector<std::uint64_t> chain;  ///< after every batch
  LoaderStats stats;
};

/// Of the data that a setup's loaders stand on.
inline GraphDataOptions data_options(const Setup& setup) {
  GraphDataOptions kept;
  kept.features = setup.features;
  kept.io = setup.io;
  kept.staging_bytes = 1 << 20;
  kept.cache = cache_kind(setup.cache);
  kept.plan = setup.plan;
  kept.scratch = setup.scratch;
  kept.disk = setup.disk;
  kept.topology = setup.topology;
  kept.topology_cache_bytes = setup.topology_cache_bytes;
  kept.snapshot = setup.snapshot;
  return kept;
}

/// Makes the loader of the dataset's training seeds, and what it stands on, and hands it over.
inline void with_loader(const std::filesystem::path& path,
                        const Setup& setup,
                        const std::function<void(Loader& loader)>& use) {
  MemoryLedger ledger(setup.ledger_bytes);
  {
    const Dataset dataset = Dataset::open(path.string(), {.ledger = &ledger});
    GraphData data(dataset, data_options(setup), 0);
    Loader loader(data,
                  setup.loader,
                  dataset.split("default").train,
                  {setup.window_bytes, setup.queue_bytes},
                  ledger);
    use(loader);
  }
  CHECK(ledger.used() == 0);
}

/// Goes through an epoch. @param take is shown each batch
inline Run deliver(const std::filesystem::path& path,
                   const Setup& setup,
                   LoaderStart where = {},
                   const std::function<void(const Batch& batch)>& take = {}) {
  Run run;
  with_loader(path, setup, [&](Loader& loader) {
    loader.start(where);
    while (const auto batch = loader.next()) {
      run.chain.push_back(loader.stats().batches_xxh3);
      if (take) take(*batch);
    }
    run.stats = loader.stats();
  });
  return run;
}

}  // namespace sluice::test
