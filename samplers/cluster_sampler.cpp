#include "samplers/cluster_sampler.h"

#include "samplers/cluster_seed_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice {

void ClusterSamplerOptions::describe(Schema& schema) {
  schema.field("clusters", clusters)
      .help(
          "ranges that each type's ids are cut into: for a node order that keeps neighbours close")
      .range(1, 1e9);
  schema.field("per_batch", per_batch)
      .help("clusters whose seeds make a mini-batch; train.batch_size has no part in it")
      .range(1, 1e9);
  schema.field("layers", layers)
      .help("layers of the network, each over the whole subgraph")
      .range(1, 1000);
}

std::unique_ptr<BatchOrder> ClusterSamplerOptions::make_order(const OrderRequest& request) const {
  const Clusters& of =
      given ? *given : Clusters::even(request.schema, static_cast<std::uint64_t>(clusters));
  return std::make_unique<ClusterSeedOrder>(of,
                                            request.schema,
                                            request.seed_type,
                                            request.seeds,
                                            static_cast<std::uint64_t>(per_batch),
                                            request.shuffle ? Shuffle::kEveryEpoch : Shuffle::kOff,
                                            request.key,
                                            request.ledger);
}

ClusterSampler::ClusterSampler(SamplerGraph graph, Options options, BlockParts parts, RandomKey)
    : builder_(std::move(graph), parts), options_(std::move(options)) {
  if (options_.layers < 1) {
    throw Error(ErrorCode::kUsage,
                fmt::format("a cluster sampler of {} layers makes no blocks", options_.layers),
                "set [sampler] layers to 1 or more");
  }
  if (!options_.given) {
    const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(options_.clusters, 0));
    options_.given = std::make_shared<const Clusters>(Clusters::even(builder_.schema(), count));
  }
  for (std::size_t type = 0; type < builder_.schema().nodes.size(); ++type) {
    if (options_.given->covers(type)) continue;
    throw Error(ErrorCode::kUsage,
                fmt::format("the nodes of type '{}' are in no cluster, so they would be in no "
                            "mini-batch",
                            builder_.schema().nodes[type].name),
                "give clusters of every node type, or use the subgraph sampler");
  }
}

Result<Batch> ClusterSampler::sample(const SampleRequest& request, MemoryLedger* ledger) {
  if (ledger != ledger_) workspace_ = {};  // charged to the old one
  ledger_ = ledger;
  auto batch = sample_whole(request);
  if (!batch) builder_.reset();
  return batch;
}

Result<Batch> ClusterSampler::sample_whole(const SampleRequest& request) {
  if (auto begun = builder_.begin(request, num_layers(), ledger_); !begun)
    return std::move(begun).error();
  if (auto listed = list_clusters(request); !listed) return std::move(listed).error();
  if (auto made = workspace_.induced.make_layers(builder_, ledger_); !made)
    return std::move(made).error();
  return builder_.finish();
}

Result<void> ClusterSampler::list_clusters(const SampleRequest& request) {
  const Clusters& clusters = *options_.given;
  NodeTable& chosen = workspace_.clusters;
  chosen.clear();
  if (auto room = chosen.reserve(request.seeds.total(), ledger_); !room) return room;
  for (std::size_t type = 0; type < request.seeds.num_types(); ++type) {
    for (const std::uint64_t seed : request.seeds.of(type))
      chosen.insert(clusters.cluster_of(type, seed));
  }
  for (std::size_t type = 0; type < builder_.tables().size(); ++type) {
    NodeTable& table = builder_.tables()[type];
    for (const std::uint64_t cluster : chosen.ids()) {
      const std::uint64_t size = clusters.size(type, cluster);
      if (auto room = table.reserve(size, ledger_); !room) return room;
      for (std::uint64_t i = 0; i < size; ++i) table.insert(clusters.member(type, cluster, i));
    }
  }
  return {};
}

}  // namespace sluice
