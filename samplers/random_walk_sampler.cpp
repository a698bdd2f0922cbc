#include "samplers/random_walk_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice {

void RandomWalkSamplerOptions::describe(Schema& schema) {
  walk.describe(schema);
  schema.field("layers", layers)
      .help("layers of the network, each over the whole subgraph")
      .range(1, 1000);
}

RandomWalkSampler::RandomWalkSampler(SamplerGraph graph,
                                     Options options,
                                     BlockParts parts,
                                     RandomKey key)
    : options_(options), builder_(graph, parts), walker_(std::move(graph), options.walk, key) {
  if (options.layers >= 1) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("a random-walk sampler of {} layers makes no blocks", options.layers),
              "set [sampler] layers to 1 or more");
}

Result<Batch> RandomWalkSampler::sample(const SampleRequest& request, MemoryLedger* ledger) {
  if (ledger != ledger_) induced_ = {};  // charged to the old one
  ledger_ = ledger;
  auto batch = sample_whole(request);
  if (!batch) builder_.reset();
  return batch;
}

Result<Batch> RandomWalkSampler::sample_whole(const SampleRequest& request) {
  if (auto begun = builder_.begin(request, num_layers(), ledger_); !begun)
    return std::move(begun).error();
  auto walks = walker_.walk(request, ledger_);
  if (!walks) return std::move(walks).error();
  if (auto listed = list_visited(walks.value()); !listed) return std::move(listed).error();
  if (auto made = induced_.make_layers(builder_, ledger_); !made) return std::move(made).error();
  return builder_.finish();
}

Result<void> RandomWalkSampler::list_visited(const RandomWalker::Walks& walks) {
  const auto nodes = walks.nodes.as<std::uint64_t>();
  const auto types = walks.types.as<std::int32_t>();
  const auto length = static_cast<std::size_t>(options_.walk.length) + 1;
  std::vector<std::size_t> counts(builder_.tables().size());
  for (std::size_t at = 1; at < length; ++at) {
    std::fill(counts.begin(), counts.end(), 0);
    for (std::size_t i = at; i < types.size(); i += length) {
      if (types[i] >= 0) ++counts[static_cast<std::size_t>(types[i])];
    }
    for (std::size_t type = 0; type < counts.size(); ++type) {
      if (auto room = builder_.tables()[type].reserve(counts[type], ledger_); !room) return room;
    }
    for (std::size_t i = at; i < types.size(); i += length) {
      if (types[i] >= 0) builder_.tables()[static_cast<std::size_t>(types[i])].insert(nodes[i]);
    }
  }
  return {};
}

}  // namespace sluice
