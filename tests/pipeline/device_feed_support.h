// Mini-batches of an epoch as they come from a device, or from the host, to compare their bytes.
#pragma once

#include "core/batch_fields.h"
#include "device/fake_device.h"
#include "support/cache_kinds.h"
#include "support/temp_dir.h"  // IWYU pragma: export

#include <doctest/doctest.h>
#include <sluice/loader.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace sluice::test {

struct FeedSetup {
  Placement features = Placement::kDisk;
  std::uint64_t window_bytes = 64 << 20;
  std::uint64_t transfer_bytes = 0;
  std::string cache = "belady";
  std::string scratch;
  std::vector<std::string> groups{""}, edge_groups;
  std::size_t kept = 1;          // batches that the consumer keeps alive
  std::size_t refuse_after = 0;  // so many batches the device records no event
  LoaderOptions loader;
  std::shared_ptr<FakeDevice> device;  // null: the host
};

inline LoaderOptions feed_options() {
  LoaderOptions options;
  options.fanout = {5, 3};
  options.batch_size = 16;
  options.degrees = true;
  return options;
}

/// All that a batch holds, one after the other.
inline std::vector<std::byte> content_of(const Batch& batch) {
  std::vector<std::byte> all;
  for_each_array(batch, [&](const Array& array, BatchPart) {
    all.insert(all.end(), array.raw().begin(), array.raw().end());
  });
  return all;
}

struct Delivered {
  std::vector<std::vector<std::byte>> batches;
  std::vector<std::uint64_t> hashes;
  LoaderStats stats;
};

/// An epoch, or the first of it.
inline Delivered deliver(const std::filesystem::path& path,
                         const FeedSetup& setup,
                         std::size_t most = 1000) {
  MemoryLedger ledger(512 << 20), device_ledger(64 << 20, "[memory] gpu");
  Delivered delivered;
  {
    const Dataset dataset = Dataset::open(path.string(), {.ledger = &ledger});
    GraphDataOptions kept;
    kept.features = setup.features;
    kept.staging_bytes = 1 << 20;
    kept.cache = cache_kind(setup.cache);
    kept.scratch = setup.scratch;
    kept.feature_groups = setup.groups;
    kept.edge_feature_groups = setup.edge_groups;
    kept.edge_labels = !setup.edge_groups.empty();
    kept.compute = setup.device;
    kept.compute_ledger = &device_ledger;
    GraphData data(dataset, kept, 0);
    LoaderMemory memory{setup.window_bytes, 1 << 20};
    memory.transfer_bytes = setup.transfer_bytes;
    Loader loader(data, setup.loader, dataset.split("default").train, memory, ledger);
    loader.start({});
    std::deque<std::shared_ptr<const Batch>> alive;
    while (const auto batch = loader.next()) {
      delivered.batches.push_back(content_of(*batch));
      delivered.hashes.push_back(loader.stats().batches_xxh3);
      if (setup.device) {
        CHECK(batch->host->index == batch->index);
        CHECK(batch->on_host().num_queries() == batch->num_queries());
      }
      alive.push_back(batch);
      if (alive.size() > setup.kept) alive.pop_front();
      if (delivered.batches.size() == setup.refuse_after) setup.device->refuse_recordings();
      if (delivered.batches.size() == most) break;
    }
    delivered.stats = loader.stats();
  }
  CHECK(ledger.used() == 0);
  CHECK(device_ledger.used() == 0);
  if (setup.device) {
    CHECK(setup.device->allocated() == 0);
    CHECK(setup.device->pinned() == 0);
  }
  return delivered;
}

/// A device that runs everything late, in an order by the seed.
inline std::shared_ptr<FakeDevice> fake(std::uint64_t seed, Forget forget = Forget::kNothing) {
  FakeDevice::Options options;
  options.seed = seed;
  options.forget = forget;
  return std::make_shared<FakeDevice>(options);
}

}  // namespace sluice::test
