// Two loaders of one set of data, of which one's epochs come between the other's, as a validation
// does.
#pragma once

#include "planned_support.h"

#include <cstdint>
#include <filesystem>

namespace sluice::test {

// Two loaders of one set of data, as for training and validation.
struct LoaderPair {
  LoaderPair(const std::filesystem::path& path,
             const Setup& setup,
             std::uint64_t other_window_bytes)
      : dataset(Dataset::open(path.string(), {.ledger = &ledger})),
        data(dataset, data_options(setup), 0),
        loader(data,
               setup.loader,
               dataset.split("default").train,
               {setup.window_bytes, setup.queue_bytes},
               ledger),
        other(data,
              setup.loader,
              dataset.split("default").valid,
              {other_window_bytes, setup.queue_bytes},
              ledger),
        single(data,
               setup.loader,
               seeds_of_one_batch(setup.loader.batch_size),
               {setup.window_bytes, setup.queue_bytes},
               ledger) {}

  Array seeds_of_one_batch(std::int64_t count) {
    Array seeds = Array::make(DType::kU64, {count}, &ledger, "seeds").or_throw();
    std::uint64_t next = 0;
    for (std::uint64_t& seed : seeds.as<std::uint64_t>()) seed = 7 * next++;
    return seeds;
  }

  MemoryLedger ledger{512 << 20};
  Dataset dataset;
  GraphData data;
  Loader loader;
  Loader other;
  Loader single;  // of one mini-batch: not planned, so it looks for its rows in the caches
};

inline LoaderStart with_others_between(std::uint64_t epoch) {
  return {.epoch = epoch, .next_follows = epoch + 1 < kEpochs, .others_between = true};
}

}  // namespace sluice::test
