#include "samplers/temporal_source.h"

#include "samplers/temporal_fill.h"

#include <sluice/sampler.h>

namespace sluice {
namespace {

// Events of a node before a time, or up to it: its list ascends.
std::uint64_t events_before(const TemporalView& view,
                            std::uint64_t node,
                            std::int64_t time,
                            TimeTies ties) {
  std::uint64_t low = view.offsets[node], high = view.offsets[node + 1];
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const std::int64_t there = view.time(middle);
    if (there < time || (there == time && ties == TimeTies::kAll)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - view.offsets[node];
}

}  // namespace

Result<void> ResidentEvents::fill(const TemporalHopRule& rule,
                                  const TemporalQueries& queries,
                                  const TemporalRows& out,
                                  std::size_t begin,
                                  std::size_t end,
                                  MemoryLedger* ledger) const {
  PositionChooser chooser;
  if (rule.strategy == TemporalStrategy::kUniform) {
    if (auto room = chooser.reserve(rule.count, ledger); !room) return room;
  }
  fill_temporal_rows(graph_.view(), rule, queries, out, begin, end, chooser);
  return {};
}

Result<void> ResidentEvents::count(std::span<const std::uint64_t> nodes,
                                   std::span<const std::int64_t> times,
                                   TimeTies ties,
                                   std::span<std::int64_t> counts) const {
  for (std::size_t i = 0; i < nodes.size(); ++i)
    counts[i] += static_cast<std::int64_t>(events_before(graph_.view(), nodes[i], times[i], ties));
  return {};
}

std::shared_ptr<const TemporalSource> temporal_source(const SamplerGraph& graph,
                                                      std::size_t relation) {
  if (relation < graph.paged_events.size() && graph.paged_events[relation] != nullptr)
    return graph.paged_events[relation];
  if (relation < graph.temporal.size() && graph.temporal[relation] != nullptr)
    return std::make_shared<ResidentEvents>(*graph.temporal[relation]);
  return nullptr;
}

}  // namespace sluice
