// Goes through an epoch of mini-batches, sampled and asked about in ways of its own, from memory
// and from disk: they are the same. Without LibTorch.
#include "repeated_nodes.h"
#include "strided_sampler.h"

#include <sluice/sluice.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

using namespace sluice;

static std::vector<std::uint64_t> hashes(const char* path, Placement where) {
  MemoryLedger ledger(256 * kMiB, "budget");
  const Dataset dataset = Dataset::open(path, {.ledger = &ledger});
  GraphData data(dataset, {.features = where, .topology = where}, 0);
  LoaderOptions options;
  options.sampler = std::make_shared<SamplerKind<StridedSampler>>(StridedOptions{});
  const auto queries =
      std::make_shared<RepeatedNodes>(dataset.split("default").train, 64, RandomKey(1));
  Loader loader(data, options, queries, {.window_bytes = 32 * kMiB}, ledger);
  loader.start({});
  std::vector<std::uint64_t> all;
  while (const std::shared_ptr<const Batch> batch = loader.next()) {
    if (batch->num_seeds(0) < batch->num_queries()) all.push_back(hash_batch(*batch));
  }
  return all;
}

int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  const std::vector<std::uint64_t> memory = hashes(argv[1], Placement::kMemory);
  const std::vector<std::uint64_t> disk = hashes(argv[1], Placement::kDisk);
  std::printf("%zu mini-batches with repeats, %s from disk\n",
              memory.size(),
              memory == disk ? "the same" : "others");
  return !memory.empty() && memory == disk ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "error: %s\n  %s\n", error.what(), error.hint().c_str());
  return static_cast<int>(error.code());
}
