// Queries of links: each mini-batch asks about some edges, and about other destinations beside
// them. Without LibTorch.
//
//   example_links data/sbm
#include <sluice/sluice.h>

#include <cstdio>
#include <memory>

using namespace sluice;

int main(int argc, char** argv) try {
  MemoryLedger ledger(kGiB, "budget");
  const Dataset dataset = Dataset::open(argc > 1 ? argv[1] : "data/sbm", {.ledger = &ledger});
  GraphData data(dataset, {.features = Placement::kDisk}, LabelsOf{});
  const RandomKey key(1);
  LinkQueryOptions asked;
  asked.batch_size = 1024;
  asked.key = key;
  asked.exclude = true;  // a mini-batch does not see the edges that it asks about
  asked.negatives = std::make_shared<UniformNegatives>(
      data.graph(), NegativeSamplerOptions{.count = 4, .filtered = true}, key, &ledger);
  const auto edges = std::make_shared<RelationLinks>(data.graph().relations[asked.relation]);
  const auto queries = std::make_shared<LinkQueries>(data.schema(), edges, asked);

  Loader loader(data, {.fanout = {10, 5}}, queries, {}, ledger);
  loader.start({});
  while (const std::shared_ptr<const Batch> batch = loader.next()) {
    // Rows among the seeds, which are the distinct nodes that the queries name.
    const Array& sources = batch->queries.sources;
    const Array& negatives = batch->queries.negatives;  // [queries, 4]; -1: none was found
    std::printf("%lld links, %lld negatives each, %lld seeds, %lld nodes\n",
                static_cast<long long>(sources.numel()),
                static_cast<long long>(negatives.size(1)),
                static_cast<long long>(batch->num_seeds(0)),
                static_cast<long long>(batch->nodes[0].ids.numel()));
  }
} catch (const Error& error) {
  std::fprintf(stderr, "error: %s\n  %s\n", error.what(), error.hint().c_str());
  return static_cast<int>(error.code());
}
