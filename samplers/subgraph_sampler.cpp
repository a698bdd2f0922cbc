#include "samplers/subgraph_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

std::size_t checked_layers(const SubgraphSamplerOptions& options) {
  for (const std::int64_t fanout : options.fanout) {
    if (fanout >= -1) continue;
    throw Error(ErrorCode::kUsage,
                fmt::format("[sampler] fanout holds {}; -1 means all edges, 0 none", fanout),
                "for example fanout = [10, 10]");
  }
  const std::int64_t layers =
      options.layers != 0 ? options.layers : static_cast<std::int64_t>(options.fanout.size());
  if (layers > 0) return static_cast<std::size_t>(layers);
  throw Error(ErrorCode::kUsage,
              fmt::format("a subgraph sampler of {} layers makes no blocks", layers),
              "set [sampler] layers, or a fanout of one hop or more");
}

}  // namespace

void SubgraphSamplerOptions::describe(Schema& schema) {
  schema.field("fanout", fanout)
      .help(
          "how far subgraphs reach: edges drawn a node and relation, one number a hop, the first "
          "next to the seeds; -1: all, 0: none")
      .range(-1, 0x7fffffff);
  schema.field("layers", layers)
      .help("layers of the network, each over the whole subgraph; 0: as many as hops")
      .range(0, 1000);
}

SubgraphSampler::SubgraphSampler(SamplerGraph graph,
                                 Options options,
                                 BlockParts parts,
                                 RandomKey key)
    : options_(std::move(options)),
      num_layers_(checked_layers(options_)),
      key_(key),
      builder_(std::move(graph), parts) {}

Result<Batch> SubgraphSampler::sample(const SampleRequest& request, MemoryLedger* ledger) {
  if (ledger != ledger_) workspace_ = {};  // charged to the old one
  ledger_ = ledger;
  auto batch = sample_whole(request);
  if (!batch) builder_.reset();
  return batch;
}

Result<Batch> SubgraphSampler::sample_whole(const SampleRequest& request) {
  if (auto begun = builder_.begin(request, num_layers_, ledger_); !begun)
    return std::move(begun).error();
  if (auto listed = list_hops(key_.with(request.epoch).with(request.round)); !listed)
    return std::move(listed).error();
  if (auto made = workspace_.induced.make_layers(builder_, ledger_); !made)
    return std::move(made).error();
  return builder_.finish();
}

Result<void> SubgraphSampler::list_hops(RandomKey round_key) {
  std::vector<Rows> rows(builder_.tables().size());
  for (std::size_t hop = 0; hop < options_.fanout.size(); ++hop) {
    // All nodes draw at each hop, so that a node draws the same whichever seed led to it, and how
    // soon. After a hop of all edges there is nothing more to find from those that it was for.
    const bool found_all = hop != 0 && options_.fanout[hop - 1] == -1;
    for (std::size_t type = 0; type < rows.size(); ++type)
      rows[type] = {found_all ? rows[type].end : 0, builder_.tables()[type].size()};
    for (const SampledRelation& relation : builder_.relations()) {
      auto listed = list_sources(relation,
                                 rows[relation.target_type],
                                 options_.fanout[hop],
                                 round_key.with(hop).with(relation.index));
      if (!listed) return listed;
    }
  }
  return {};
}

Result<void> SubgraphSampler::list_sources(const SampledRelation& relation,
                                           Rows rows,
                                           std::int64_t fanout,
                                           RandomKey key) {
  const std::size_t count = rows.end - rows.begin;
  if (count == 0 || fanout == 0) return {};
  // A copy: the list may move when it grows.
  if (auto room = workspace_.frontier.ensure(count, ledger_); !room) return room;
  const auto frontier = workspace_.frontier.first(count);
  const auto listed = builder_.tables()[relation.target_type].ids().subspan(rows.begin, count);
  std::copy(listed.begin(), listed.end(), frontier.begin());

  EdgeScan& scan = workspace_.scan;
  if (auto begun = scan.begin({relation.topology, frontier, fanout, key}, ledger_); !begun)
    return begun;
  NodeTable& table = builder_.tables()[relation.source_type];
  while (true) {
    auto piece = scan.next();
    if (!piece) return std::move(piece).error();
    if (piece.value().empty()) return {};
    const auto sources = piece.value().sources;
    if (auto room = table.reserve(sources.size(), ledger_); !room) return room;
    for (const std::uint64_t source : sources) table.insert(source);
  }
}

}  // namespace sluice
