#include "samplers/pair_history.h"

#include <sluice/no_node.h>

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr const char* kHistoryName = "pair history";

bool is_before(const PairEvent& event, const TemporalCut& bound) {
  return std::tie(event.time, event.id) < std::tie(bound.time, bound.event);
}

std::span<const PairEvent> below(std::span<const PairEvent> list, const TemporalCut& bound) {
  const auto end = std::ranges::partition_point(
      list, [&](const PairEvent& event) { return is_before(event, bound); });
  return list.first(static_cast<std::size_t>(end - list.begin()));
}

std::span<PairEvent> events_in(Array& array) {
  return {static_cast<PairEvent*>(array.data()), array.bytes() / sizeof(PairEvent)};
}

Result<Array> make_events(std::uint64_t count, MemoryLedger* ledger) {
  return Array::make(
      DType::kU8, {static_cast<std::int64_t>(count * sizeof(PairEvent))}, ledger, kHistoryName);
}

Result<Array> make_offsets(std::uint64_t nodes, MemoryLedger* ledger) {
  auto made =
      Array::make(DType::kU64, {static_cast<std::int64_t>(nodes + 1)}, ledger, kHistoryName);
  if (made) std::ranges::fill(made.value().as<std::uint64_t>(), 0);
  return made;
}

}  // namespace

Result<PairHistory> PairHistory::make(const TemporalGraph& graph,
                                      std::uint64_t num_sources,
                                      ThreadArena& arena,
                                      MemoryLedger* ledger) {
  const TemporalView& view = graph.view();
  const std::uint64_t events = view.num_edges();
  PairHistory history;
  history.one_type_ = view.one_type;
  for (auto [array, nodes] : {std::pair{&history.source_offsets_, num_sources},
                              std::pair{&history.destination_offsets_, view.num_nodes()}}) {
    auto made = make_offsets(nodes, ledger);
    if (!made) return std::move(made).error();
    *array = std::move(made).value();
  }
  for (Array* array : {&history.from_, &history.pairs_, &history.to_}) {
    auto made = make_events(events, ledger);
    if (!made) return std::move(made).error();
    *array = std::move(made).value();
  }
  const auto offsets = history.source_offsets_.as<std::uint64_t>();
  for (std::uint64_t at = 0; at < events; ++at) {
    const std::uint64_t source = view.neighbour(at);
    if (source >= num_sources)
      return Error(ErrorCode::kData,
                   fmt::format("event {} comes from node {} of {}", at, source, num_sources));
    ++offsets[source + 1];
  }
  for (std::size_t s = 0; s < num_sources; ++s) offsets[s + 1] += offsets[s];
  std::ranges::copy(view.offsets, history.destination_offsets_.as<std::uint64_t>().begin());

  // Destinations come ascending, and each one's events in order: so a source's end up by
  // (destination, time, id). offsets[s] is the next free place of s, and so, in the end, where
  // s + 1 begins.
  const auto pairs = events_in(history.pairs_), to = events_in(history.to_);
  for (std::uint64_t node = 0; node < view.num_nodes(); ++node) {
    for (std::uint64_t at = view.offsets[node]; at < view.offsets[node + 1]; ++at) {
      const std::uint64_t source = view.neighbour(at);
      to[at] = {view.time(at), view.edge_id(at), source};
      pairs[offsets[source]++] = {view.time(at), view.edge_id(at), node};
    }
  }
  std::copy_backward(offsets.begin(), offsets.end() - 1, offsets.end());
  offsets[0] = 0;

  const auto from = events_in(history.from_);
  std::ranges::copy(pairs, from.begin());
  arena.for_ranges(num_sources, 1 << 12, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) {
      std::ranges::sort(from.subspan(offsets[s], offsets[s + 1] - offsets[s]),
                        [](const PairEvent& a, const PairEvent& b) {
                          return std::tie(a.time, a.id, a.other) < std::tie(b.time, b.id, b.other);
                        });
    }
  });
  return history;
}

Result<PairHistory> PairHistory::steps(ThreadArena& arena, MemoryLedger* ledger) const {
  const std::uint64_t nodes = num_destinations();
  struct Step {
    std::uint64_t target;
    PairEvent event;  // `other` is the former destination
  };
  std::vector<Step> all;
  Charge charge;
  if (ledger != nullptr) {
    auto charged = ledger->charge(kHistoryName, num_events() * sizeof(Step));
    if (!charged) return std::move(charged).error();
    charge = std::move(charged).value();
  }
  all.reserve(num_events());
  for (std::uint64_t source = 0; source < num_sources(); ++source) {
    const auto events = list(source_offsets_, from_, source);
    for (std::size_t i = 1; i < events.size(); ++i)
      all.push_back({events[i].other, {events[i].time, events[i].id, events[i - 1].other}});
  }
  std::ranges::sort(all, [](const Step& a, const Step& b) {
    return std::tie(a.target, a.event.time, a.event.id, a.event.other) <
           std::tie(b.target, b.event.time, b.event.id, b.event.other);
  });
  TemporalArrays arrays;
  arrays.one_type = true;
  auto offsets = make_offsets(nodes, ledger);
  if (!offsets) return std::move(offsets).error();
  arrays.offsets = std::move(offsets).value();
  for (auto [array, dtype] : {std::pair{&arrays.neighbours, DType::kU64},
                              std::pair{&arrays.edge_ids, DType::kU64},
                              std::pair{&arrays.times, DType::kI64}}) {
    auto made = Array::make(dtype, {static_cast<std::int64_t>(all.size())}, ledger, kHistoryName);
    if (!made) return std::move(made).error();
    *array = std::move(made).value();
  }
  const auto begins = arrays.offsets.as<std::uint64_t>();
  for (std::size_t i = 0; i < all.size(); ++i) {
    ++begins[all[i].target + 1];
    arrays.neighbours.as<std::uint64_t>()[i] = all[i].event.other;
    arrays.edge_ids.as<std::uint64_t>()[i] = all[i].event.id;
    arrays.times.as<std::int64_t>()[i] = all[i].event.time;
  }
  for (std::size_t n = 0; n < nodes; ++n) begins[n + 1] += begins[n];
  auto graph = TemporalGraph::own(std::move(arrays));
  if (!graph) return std::move(graph).error();
  return make(graph.value(), nodes, arena, ledger);
}

std::span<const PairEvent> PairHistory::list(const Array& offsets,
                                             const Array& events,
                                             std::uint64_t node) {
  const auto begins = offsets.as<std::uint64_t>();
  if (node >= begins.size() - 1) return {};
  const auto* all = static_cast<const PairEvent*>(events.data());
  return {all + begins[node], begins[node + 1] - begins[node]};
}

std::span<const PairEvent> PairHistory::from(std::uint64_t source, const TemporalCut& bound) const {
  return below(list(source_offsets_, from_, source), bound);
}

std::span<const PairEvent> PairHistory::to(std::uint64_t destination,
                                           const TemporalCut& bound) const {
  return below(list(destination_offsets_, to_, destination), bound);
}

std::span<const PairEvent> PairHistory::between(std::uint64_t source,
                                                std::uint64_t destination,
                                                const TemporalCut& bound) const {
  const auto pairs = std::ranges::equal_range(
      list(source_offsets_, pairs_, source), destination, {}, &PairEvent::other);
  return below({pairs.begin(), pairs.end()}, bound);
}

PairLists PairHistory::of_source(std::uint64_t node,
                                 PairDirection direction,
                                 const TemporalCut& bound) const {
  PairLists lists{from(node, bound), {}};
  if (one_type_ && direction == PairDirection::kEither) lists.second = to(node, bound);
  return lists;
}

PairLists PairHistory::of_destination(std::uint64_t node,
                                      PairDirection direction,
                                      const TemporalCut& bound) const {
  PairLists lists{to(node, bound), {}};
  if (one_type_ && direction == PairDirection::kEither) lists.second = from(node, bound);
  return lists;
}

PairLists PairHistory::of_pair(std::uint64_t source,
                               std::uint64_t destination,
                               PairDirection direction,
                               const TemporalCut& bound) const {
  PairLists lists{between(source, destination, bound), {}};
  if (one_type_ && direction == PairDirection::kEither && source != destination)
    lists.second = between(destination, source, bound);
  return lists;
}

std::optional<std::int64_t> PairLists::last() const {
  std::optional<std::int64_t> time;
  for (const auto& list : {first, second}) {
    if (!list.empty() && (!time || list.back().time > *time)) time = list.back().time;
  }
  return time;
}

void latest_events(const PairLists& lists, std::size_t count, std::vector<PairEvent>& out) {
  out.clear();
  std::size_t first = lists.first.size(), second = lists.second.size();
  while (out.size() < count && (first != 0 || second != 0)) {
    const auto place = [](const PairEvent& event) { return std::tie(event.time, event.id); };
    const bool of_first = second == 0 || (first != 0 && place(lists.first[first - 1]) >=
                                                            place(lists.second[second - 1]));
    const PairEvent& event = of_first ? lists.first[--first] : lists.second[--second];
    const bool again = !out.empty() && out.back().id == event.id && out.back().time == event.time;
    if (!again) out.push_back(event);
  }
}

TemporalCut visible_bound(TemporalVisibility visibility,
                          std::int64_t time,
                          std::uint64_t event,
                          const TemporalCut& cut) {
  switch (visibility) {
    case TemporalVisibility::kStrict:
      return {time, 0};
    case TemporalVisibility::kEventOrder:
      return {time, event};
    case TemporalVisibility::kBatchLag:
      return time < cut.time ? TemporalCut{time, 0} : cut;
    case TemporalVisibility::kInclusive:
      return {time, kNoEdge};
  }
  return {time, 0};
}

}  // namespace sluice
