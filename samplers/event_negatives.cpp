#include "samplers/event_negatives.h"

#include <sluice/no_node.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice {
namespace {

bool by_history(EventNegativeKind kind) {
  return kind == EventNegativeKind::kHistorical || kind == EventNegativeKind::kInductive;
}

bool takes_all(EventNegativeKind kind) {
  return kind == EventNegativeKind::kAll || kind == EventNegativeKind::kEverybody;
}

RandomKey key_of_event(RandomKey key, const AskedEvents& events, std::size_t i) {
  return key.with(events.ids[i]).with(events.sources[i]);
}

}  // namespace

Result<EventNegatives> EventNegatives::make(std::shared_ptr<const TemporalGraph> graph,
                                            std::uint64_t num_sources,
                                            EventNegativeOptions options,
                                            ThreadArena& arena,
                                            MemoryLedger* ledger) {
  EventNegatives made(std::move(graph));
  made.options_ = std::move(options);
  if (auto listed = made.list_candidates(ledger); !listed) return std::move(listed).error();
  for (EventColumns& columns : made.options_.columns) {
    if (takes_all(columns.kind)) columns.count = made.candidates().size();
    const Array& stored = made.options_.stored;
    const bool fits =
        stored.shape().size() == 2 && stored.size(1) == static_cast<std::int64_t>(columns.count);
    if (columns.kind == EventNegativeKind::kStored && !fits)
      return Error(ErrorCode::kUsage,
                   fmt::format("stored negatives are not {} an event", columns.count));
    if (columns.kind == EventNegativeKind::kMixed && !made.mixed_) {
      auto mixed = MixedNegatives::make(
          *made.graph_, num_sources, made.options_.training_end, arena, ledger);
      if (!mixed) return std::move(mixed).error();
      made.mixed_.emplace(std::move(mixed).value());
    }
    if (!by_history(columns.kind) || made.history_) continue;
    auto history = TemporalNegativeSampler::make(
        *made.graph_, num_sources, made.options_.key, 0, arena, ledger);
    if (!history) return std::move(history).error();
    made.history_.emplace(std::move(history).value());
  }
  return made;
}

Result<void> EventNegatives::list_candidates(MemoryLedger* ledger) {
  const auto offsets = graph_->view().offsets;
  const std::size_t nodes = offsets.size() - 1;
  const auto counts = [&](std::size_t node) {
    return options_.candidates == EventCandidates::kNodes || offsets[node] != offsets[node + 1];
  };
  std::int64_t count = 0;
  for (std::size_t node = 0; node < nodes; ++node) count += counts(node) ? 1 : 0;
  auto made = Array::make(DType::kU64, {count}, ledger, "negatives");
  if (!made) return std::move(made).error();
  candidates_ = std::move(made).value();
  auto next = candidates_.as<std::uint64_t>().begin();
  for (std::size_t node = 0; node < nodes; ++node) {
    if (counts(node)) *next++ = node;
  }
  return {};
}

std::size_t EventNegatives::count() const {
  return std::accumulate(
      options_.columns.begin(),
      options_.columns.end(),
      std::size_t{0},
      [](std::size_t sum, const EventColumns& columns) { return sum + columns.count; });
}

Result<void> EventNegatives::draw(std::uint64_t epoch,
                                  const AskedEvents& events,
                                  std::span<std::uint64_t> out) const {
  const std::size_t size = events.sources.size();
  if (events.destinations.size() != size || events.times.size() != size ||
      events.ids.size() != size || events.numbers.size() != size || out.size() != size * count())
    return Error(ErrorCode::kUsage,
                 fmt::format("negatives of events: lists of other sizes than {}", size));
  std::size_t first = 0;
  for (const EventColumns& columns : options_.columns) {
    auto filled = by_history(columns.kind) ? fill_by_history(columns, epoch, events, first, out)
                                           : fill(columns, epoch, events, first, out);
    if (!filled) return filled;
    first += columns.count;
  }
  return {};
}

// A draw among all but one: those from it on move down by one.
std::uint64_t EventNegatives::draw_other(RandomKey key,
                                         std::uint64_t number,
                                         std::uint64_t destination) const {
  const auto all = candidates();
  const auto place = std::ranges::lower_bound(all, destination);
  const bool among = place != all.end() && *place == destination;
  const std::size_t others = all.size() - (among ? 1 : 0);
  if (others == 0) return kNoNode;
  const std::uint64_t drawn = key.below(others, number);
  const auto own = static_cast<std::uint64_t>(place - all.begin());
  return all[drawn + (among && drawn >= own ? 1 : 0)];
}

// Whether an event from source to destination is at that time.
bool EventNegatives::meets(std::uint64_t source,
                           std::uint64_t destination,
                           std::int64_t time) const {
  const TemporalView& view = graph_->view();
  std::uint64_t low = view.offsets[destination], high = view.offsets[destination + 1];
  const std::uint64_t end = high;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (view.time(middle) < time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (; low < end && view.time(low) == time; ++low) {
    if (view.neighbour(low) == source) return true;
  }
  return false;
}

Result<void> EventNegatives::fill(const EventColumns& columns,
                                  std::uint64_t epoch,
                                  const AskedEvents& events,
                                  std::size_t first,
                                  std::span<std::uint64_t> out) const {
  const auto all = candidates();
  const std::size_t width = count();
  const RandomKey kind_key = options_.key.with("negatives of events")
                                 .with(static_cast<std::uint64_t>(columns.kind))
                                 .with(epoch);
  for (std::size_t i = 0; i < events.sources.size(); ++i) {
    const RandomKey key = key_of_event(kind_key, events, i);
    const auto row = out.subspan(i * width + first, columns.count);
    if (columns.share < 1 &&
        options_.key.with("share").with(events.ids[i]).uniform(0) >= columns.share) {
      std::ranges::fill(row, kNoNode);
      continue;
    }
    if (columns.kind == EventNegativeKind::kMixed) {
      mixed_->draw(key, {events.sources[i], events.destinations[i], events.times[i]}, all, row);
      continue;
    }
    for (std::size_t n = 0; n < row.size(); ++n) {
      if (columns.kind == EventNegativeKind::kRandom) {
        row[n] = all.empty() ? kNoNode : all[key.below(all.size(), n)];
      } else if (columns.kind == EventNegativeKind::kOther) {
        row[n] = draw_other(key, n, events.destinations[i]);
      } else if (columns.kind == EventNegativeKind::kAll) {
        const bool true_one =
            all[n] == events.destinations[i] || meets(events.sources[i], all[n], events.times[i]);
        row[n] = true_one ? kNoNode : all[n];
      } else if (columns.kind == EventNegativeKind::kEverybody) {
        row[n] = all[n];
      } else {
        row[n] = options_.stored.as<std::uint64_t>()[events.numbers[i] * columns.count + n];
      }
    }
  }
  return {};
}

Result<void> EventNegatives::fill_by_history(const EventColumns& columns,
                                             std::uint64_t epoch,
                                             const AskedEvents& events,
                                             std::size_t first,
                                             std::span<std::uint64_t> out) const {
  TemporalNegativeSampler::Request request;
  request.kind = columns.kind == EventNegativeKind::kHistorical ? TemporalNegativeKind::kHistorical
                                                                : TemporalNegativeKind::kInductive;
  request.training_end = options_.training_end;
  request.epoch = epoch;
  request.sources = events.sources;
  request.destinations = events.destinations;
  request.times = events.times;
  request.count = columns.count;
  std::vector<std::uint64_t> drawn(events.sources.size() * columns.count);
  ThreadArena arena(1);  // mini-batches are made by several threads already
  auto done = history_->draw(request, drawn, arena);
  if (!done) return std::move(done).error();
  const std::size_t width = count();
  for (std::size_t i = 0; i < events.sources.size(); ++i)
    std::copy_n(drawn.begin() + static_cast<std::ptrdiff_t>(i * columns.count),
                columns.count,
                out.begin() + static_cast<std::ptrdiff_t>(i * width + first));
  return {};
}

}  // namespace sluice
