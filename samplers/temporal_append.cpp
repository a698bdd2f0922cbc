#include "samplers/temporal_append.h"

#include <sluice/no_node.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace sluice {
namespace {

using Events = std::span<const TemporalEvent>;

DType width_of(std::uint64_t largest) {
  return largest <= std::numeric_limits<std::uint32_t>::max() ? DType::kU32 : DType::kU64;
}

Error bad_target(const TemporalEvent& event, std::uint64_t num_nodes) {
  return Error(ErrorCode::kUsage,
               fmt::format("event {} goes to node {} of {}", event.id, event.target, num_nodes));
}

Result<void> check(const TemporalView& base, Events events, std::uint64_t num_nodes) {
  if (!base.has_edge_ids() && base.num_edges() != 0) {
    return Error(ErrorCode::kUsage,
                 "events cannot be appended to a relation without edge ids",
                 "import it with edge_ids = true");
  }
  if (num_nodes < base.num_nodes()) {
    return Error(ErrorCode::kUsage,
                 fmt::format("{} nodes after appending, {} before", num_nodes, base.num_nodes()));
  }
  for (const TemporalEvent& event : events) {
    if (event.target >= num_nodes) return bad_target(event, num_nodes);
  }
  return {};
}

// Arrays wide enough for the ids of both.
Result<TemporalArrays> make_arrays(const TemporalView& base,
                                   Events events,
                                   std::uint64_t num_nodes,
                                   MemoryLedger* ledger) {
  const bool wide = !base.records64.empty();
  std::uint64_t node = wide || !base.neighbours64.empty() ? kNoNode : 0;
  std::uint64_t id = wide || !base.edge_ids64.empty() ? kNoEdge : 0;
  for (const TemporalEvent& event : events) {
    node = std::max(node, event.source);
    id = std::max(id, event.id);
  }
  const auto edges = static_cast<std::int64_t>(base.num_edges() + events.size());
  const auto nodes = static_cast<std::int64_t>(num_nodes) + 1;
  TemporalArrays arrays;
  arrays.one_type = base.one_type;
  const auto make = [&](Array& array, DType dtype, std::int64_t count) -> Result<void> {
    auto made = Array::make(dtype, {count}, ledger, "topology");
    if (!made) return std::move(made).error();
    array = std::move(made).value();
    return {};
  };
  if (auto made = make(arrays.offsets, DType::kU64, nodes); !made) return std::move(made).error();
  if (auto made = make(arrays.neighbours, width_of(node), edges); !made)
    return std::move(made).error();
  if (auto made = make(arrays.edge_ids, width_of(id), edges); !made) return std::move(made).error();
  if (auto made = make(arrays.times, DType::kI64, edges); !made) return std::move(made).error();
  return arrays;
}

// Goes through both in the order of (target, time, edge id), the base's first where all agree.
// `take(from_base, index)` is called for each event, `end(node)` behind each list.
template <class Take, class End>
void merge(const TemporalView& base,
           Events events,
           std::uint64_t num_nodes,
           const Take& take,
           const End& end) {
  std::size_t next = 0;
  for (std::uint64_t node = 0; node < num_nodes; ++node) {
    const bool known = node < base.num_nodes();
    std::uint64_t at = known ? base.offsets[node] : 0;
    const std::uint64_t last = known ? base.offsets[node + 1] : 0;
    for (; next < events.size() && events[next].target == node; ++next) {
      const auto key = std::make_pair(events[next].time, events[next].id);
      while (at < last && std::make_pair(base.time(at), base.edge_id(at)) <= key) take(true, at++);
      take(false, next);
    }
    while (at < last) take(true, at++);
    end(node);
  }
}

void put(Array& array, std::size_t at, std::uint64_t value) {
  if (array.dtype() == DType::kU32) {
    static_cast<std::uint32_t*>(array.data())[at] = static_cast<std::uint32_t>(value);
  } else {
    static_cast<std::uint64_t*>(array.data())[at] = value;
  }
}

}  // namespace

Result<TemporalGraph> append_events(const TemporalGraph& base,
                                    std::span<const TemporalEvent> events,
                                    std::uint64_t num_nodes,
                                    MemoryLedger* ledger) {
  const TemporalView& view = base.view();
  if (auto checked = check(view, events, num_nodes); !checked) return std::move(checked).error();
  auto charge = Array::make(DType::kU8,
                            {static_cast<std::int64_t>(events.size() * sizeof(TemporalEvent))},
                            ledger,
                            "topology");  // of the sorted copy
  if (!charge) return std::move(charge).error();
  auto* copy = static_cast<TemporalEvent*>(charge.value().data());
  std::uninitialized_copy(events.begin(), events.end(), copy);
  const std::span<TemporalEvent> sorted(copy, events.size());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tie(a.target, a.time, a.id) < std::tie(b.target, b.time, b.id);
  });

  auto made = make_arrays(view, sorted, num_nodes, ledger);
  if (!made) return std::move(made).error();
  TemporalArrays arrays = std::move(made).value();
  const auto offsets = arrays.offsets.as<std::uint64_t>();
  const auto times = arrays.times.as<std::int64_t>();
  std::size_t to = 0;
  offsets[0] = 0;
  merge(
      view,
      sorted,
      num_nodes,
      [&](bool from_base, std::size_t at) {
        times[to] = from_base ? view.time(at) : sorted[at].time;
        put(arrays.neighbours, to, from_base ? view.neighbour(at) : sorted[at].source);
        put(arrays.edge_ids, to, from_base ? view.edge_id(at) : sorted[at].id);
        ++to;
      },
      [&](std::uint64_t node) { offsets[node + 1] = to; });
  return TemporalGraph::own(std::move(arrays));
}

}  // namespace sluice
