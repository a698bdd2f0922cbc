#include "train/node_sweep.h"

#include "budget/memory_ratios.h"
#include "core/interrupt.h"
#include "pipeline/data/graph_data_state.h"

#include <sluice/units.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace sluice {
namespace {

// Nodes of a type in the order of their numbers; labels are not asked for.
class NodesInOrder final : public QuerySource {
 public:
  NodesInOrder(const GraphSchema& schema, std::size_t type, std::uint64_t chunk)
      : types_(schema.nodes.size()), type_(type), count_(schema.nodes[type].count), chunk_(chunk) {}

  std::uint64_t num_batches() const override { return (count_ + chunk_ - 1) / chunk_; }
  std::uint64_t num_queries() const override { return count_; }
  Result<QueryBatch> batch(std::uint64_t epoch,
                           std::uint64_t index,
                           MemoryLedger* ledger) const override {
    const std::uint64_t first = index * chunk_;
    const auto size = static_cast<std::int64_t>(std::min(chunk_, count_ - first));
    Result<Array> ids = Array::make(DType::kU64, {size}, ledger, "batches");
    if (!ids) return std::move(ids).error();
    Result<Array> rows = Array::make(DType::kI64, {size}, ledger, "batches");
    if (!rows) return std::move(rows).error();
    const auto numbers = ids.value().as<std::uint64_t>();
    std::iota(numbers.begin(), numbers.end(), first);
    const auto places = rows.value().as<std::int64_t>();
    std::iota(places.begin(), places.end(), std::int64_t{0});
    QueryBatch asked;
    asked.epoch = epoch;
    asked.round = asked.index = index;
    asked.seeds.resize(types_);
    asked.seeds[type_] = std::move(ids).value();
    asked.queries.type = type_;
    asked.queries.nodes = std::move(rows).value();
    return asked;
  }

 private:
  std::size_t types_, type_;
  std::uint64_t count_, chunk_;
};

LoaderOptions sweep_options(const Parts& parts) {
  const BatchNeeds needs = parts.model->needs();
  LoaderOptions loader;
  loader.seed = parts.options.seed;
  loader.fanout = {};
  loader.transpose = false;
  loader.exact = true;
  loader.degrees = needs.degrees;
  loader.relation_degrees = needs.relation_degrees;
  loader.normalize_rows = parts.options.dataset.normalize == Normalize::kRowL1;
  loader.data_threads = parts.options.train.data_threads;
  loader.trace = parts.trace;
  return loader;
}

}  // namespace

LoaderMemory loader_memory(Loader& loader, const MemoryLedger& ledger) {
  // Of what is left; more is of little use to rows that are read once.
  constexpr std::uint64_t kShare = 8, kMost = 256 * kMiB;
  const LoaderProbe probe = loader.probe(1);
  LoaderMemory memory;
  memory.window_bytes = std::max(memory_ratios::raised(probe.window_bytes),
                                 std::min(kMost, ledger.available() / kShare));
  memory.queue_bytes = memory_ratios::raised(probe.block_bytes + probe.feature_bytes);
  return memory;
}

LoaderStats sweep_nodes(Parts& parts,
                        std::size_t type,
                        std::uint64_t chunk,
                        Progress& bar,
                        const std::function<void(const Batch& batch, std::uint64_t first)>& take) {
  const torch::NoGradGuard no_grad;
  parts.model->eval();
  auto nodes = std::make_shared<NodesInOrder>(parts.dataset.schema(), type, chunk);
  LoaderStats stats;
  {
    Loader loader(parts.data, sweep_options(parts), std::move(nodes), {}, *parts.ledger);
    loader.set_memory(loader_memory(loader, *parts.ledger));
    loader.start({});
    while (const std::shared_ptr<const Batch> batch = loader.next()) {
      throw_if_interrupted();
      parts.rows->begin(*batch, nn::Gradients::kNone);
      take(*batch, batch->index * chunk);
      parts.rows->end();
      bar.add(static_cast<std::uint64_t>(batch->num_queries()));
    }
    stats = loader.stats();
  }
  parts.data.state().caches.clear();
  return stats;
}

}  // namespace sluice
