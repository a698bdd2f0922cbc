// The loader by itself: goes through the mini-batches of an epoch with the features on disk, and
// trains nothing. Without LibTorch.
//
//   example_loader data/sbm
#include <sluice/sluice.h>

#include <cstdio>
#include <memory>

using namespace sluice;

int main(int argc, char** argv) try {
  MemoryLedger ledger(kGiB, "budget");
  const Dataset dataset = Dataset::open(argc > 1 ? argv[1] : "data/sbm", {.ledger = &ledger});
  GraphData data(dataset, {.features = Placement::kDisk}, 0);
  LoaderOptions options;
  options.sampler = builtin_samplers().make("labor", "fanout = [10, 10]");
  options.batch_size = 256;
  Loader loader(data, options, dataset.split("default").train, {}, ledger);
  loader.start({.epoch = 0});
  while (const std::shared_ptr<const Batch> batch = loader.next()) {
    const BatchNodes& nodes = batch->nodes[0];       // of the only node type: ids, times, degrees
    const Array features = batch->features(0);       // f32 [nodes, columns]; empty without
    const Block& nearest = batch->layers.back()[0];  // the seeds' in-edges, of the only relation
    std::printf("%lld seeds, %lld nodes, %lld columns, %lld edges into the seeds\n",
                static_cast<long long>(batch->num_seeds(0)),
                static_cast<long long>(nodes.ids.numel()),
                static_cast<long long>(features.empty() ? 0 : features.size(1)),
                static_cast<long long>(nearest.num_edges()));
  }
  std::printf(
      "peak %s of %s\n", format_bytes(ledger.peak()).c_str(), format_bytes(ledger.limit()).c_str());
} catch (const Error& error) {
  std::fprintf(stderr, "error: %s\n  %s\n", error.what(), error.hint().c_str());
  return static_cast<int>(error.code());
}
