#include "samplers/event_links.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace sluice {
namespace {

Result<Array> event_places(std::uint64_t count, MemoryLedger* ledger) {
  return Array::make(DType::kU64, {static_cast<std::int64_t>(count)}, ledger, "events");
}

// Sorts in stretches of its own, then merges them two by two: the same order with any arena.
void sort_events(std::span<std::uint64_t> order, const TemporalView& view, ThreadArena& arena) {
  const auto earlier = [&](std::uint64_t a, std::uint64_t b) {
    return std::tuple(view.time(a), view.edge_id(a), a) <
           std::tuple(view.time(b), view.edge_id(b), b);
  };
  constexpr std::size_t kStretch = std::size_t{1} << 16;
  const std::size_t size = order.size();
  const auto at = [&](std::size_t place) {
    return order.begin() + static_cast<std::ptrdiff_t>(std::min(place, size));
  };
  arena.for_each((size + kStretch - 1) / kStretch, [&](std::size_t i) {
    std::sort(at(i * kStretch), at((i + 1) * kStretch), earlier);
  });
  for (std::size_t width = kStretch; width < size; width *= 2) {
    arena.for_each((size + 2 * width - 1) / (2 * width), [&](std::size_t i) {
      const std::size_t begin = i * 2 * width;
      std::inplace_merge(at(begin), at(begin + width), at(begin + 2 * width), earlier);
    });
  }
}

}  // namespace

EventLinks::EventLinks(std::shared_ptr<const TemporalGraph> graph, Array order)
    : graph_(std::move(graph)),
      order_(std::move(order)),
      last_(static_cast<std::uint64_t>(order_.numel())) {}

Result<EventLinks> EventLinks::make(std::shared_ptr<const TemporalGraph> graph,
                                    ThreadArena& arena,
                                    MemoryLedger* ledger) {
  const TemporalView& view = graph->view();
  Charge merging;  // std::inplace_merge's buffer
  if (ledger != nullptr) {
    auto charged = ledger->charge("events", view.num_edges() * sizeof(std::uint64_t));
    if (!charged) return std::move(charged).error();
    merging = std::move(charged).value();
  }
  auto order =
      Array::make(DType::kU64, {static_cast<std::int64_t>(view.num_edges())}, ledger, "events");
  if (!order) return std::move(order).error();
  const auto positions = order.value().as<std::uint64_t>();
  std::iota(positions.begin(), positions.end(), std::uint64_t{0});
  sort_events(positions, view, arena);
  return EventLinks(std::move(graph), std::move(order).value());
}

EventLinks EventLinks::range(std::uint64_t first, std::uint64_t last) const {
  EventLinks some = *this;
  some.first_ = first_ + first;
  some.last_ = first_ + last;
  return some;
}

Result<EventLinks> EventLinks::with_ids(std::uint64_t first,
                                        std::uint64_t last,
                                        MemoryLedger* ledger) const {
  const TemporalView& view = graph_->view();
  const auto all = order_.as<std::uint64_t>().subspan(first_, size());
  const auto wanted = [&](std::uint64_t at) {
    return view.edge_id(at) >= first && view.edge_id(at) < last;
  };
  auto order = event_places(static_cast<std::uint64_t>(std::ranges::count_if(all, wanted)), ledger);
  if (!order) return std::move(order).error();
  std::ranges::copy_if(all, order.value().as<std::uint64_t>().begin(), wanted);
  return EventLinks(graph_, std::move(order).value());
}

Result<EventLinks> EventLinks::merged_with(const EventLinks& others, MemoryLedger* ledger) const {
  const TemporalView& view = graph_->view();
  const auto own = order_.as<std::uint64_t>().subspan(first_, size());
  const auto theirs = others.order_.as<std::uint64_t>().subspan(others.first_, others.size());
  auto order = event_places(own.size() + theirs.size(), ledger);
  if (!order) return std::move(order).error();
  std::ranges::merge(own,
                     theirs,
                     order.value().as<std::uint64_t>().begin(),
                     [&](std::uint64_t a, std::uint64_t b) {
                       return std::tuple(view.time(a), view.edge_id(a), a) <
                              std::tuple(view.time(b), view.edge_id(b), b);
                     });
  return EventLinks(graph_, std::move(order).value());
}

std::uint64_t EventLinks::before(std::int64_t time, std::uint64_t id) const {
  const TemporalView& view = graph_->view();
  std::uint64_t low = 0, high = size();
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const std::uint64_t at = position(middle);
    if (std::pair(view.time(at), view.edge_id(at)) < std::pair(time, id)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

Result<void> EventLinks::find(std::span<const std::uint64_t> numbers, const Ends& out) const {
  const TemporalView& view = graph_->view();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint64_t at = position(numbers[i]);
    const auto above = std::ranges::upper_bound(view.offsets, at);
    out.sources[i] = view.neighbour(at);
    out.targets[i] = static_cast<std::uint64_t>(above - view.offsets.begin()) - 1;
    if (!out.ids.empty()) out.ids[i] = view.edge_id(at);
    if (!out.times.empty()) out.times[i] = view.time(at);
  }
  std::ranges::fill(out.truth, std::uint8_t{1});
  return {};
}

}  // namespace sluice
