#include "samplers/temporal_negative_sampler.h"

#include <sluice/no_node.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <tuple>
#include <utility>

namespace sluice {
namespace {

constexpr std::size_t kGrain = 256;
constexpr std::uint64_t kAttempts = 16;

template <class T>
Result<std::span<T>> make(Array& array, std::size_t count, MemoryLedger* ledger) {
  const auto bytes = static_cast<std::int64_t>(count * sizeof(T));
  auto made = Array::make(DType::kU8, {bytes}, ledger, "negatives");
  if (!made) return std::move(made).error();
  array = std::move(made).value();
  return std::span<T>(static_cast<T*>(array.data()), count);
}

template <class T>
std::span<const T> view_of(const Array& array) {
  return {static_cast<const T*>(array.data()), array.bytes() / sizeof(T)};
}

// Calls visit(source, destination, time) for the first event of each pair, destinations ascending:
// a list is in time order, so a source's event is its first with the list's node if it was not seen
// there before. `last` holds each source's latest destination.
template <class Visit>
void visit_first_events(const TemporalView& view,
                        std::span<std::uint64_t> last,
                        const Visit& visit) {
  std::fill(last.begin(), last.end(), kNoNode);
  for (std::uint64_t node = 0; node < view.num_nodes(); ++node) {
    for (std::uint64_t at = view.offsets[node]; at < view.offsets[node + 1]; ++at) {
      const std::uint64_t source = view.neighbour(at);
      if (std::exchange(last[source], node) != node) visit(source, node, view.time(at));
    }
  }
}

}  // namespace

Result<TemporalNegativeSampler> TemporalNegativeSampler::make(TemporalGraph graph,
                                                              std::uint64_t num_sources,
                                                              RandomKey key,
                                                              std::uint64_t relation,
                                                              ThreadArena& arena,
                                                              MemoryLedger* ledger) {
  TemporalNegativeSampler sampler(std::move(graph));
  sampler.key_ = key.with("temporal negatives").with(relation);
  if (auto made = sampler.index_meetings(num_sources, arena, ledger); !made)
    return std::move(made).error();
  if (auto made = sampler.list_destinations(ledger); !made) return std::move(made).error();
  return sampler;
}

Result<void> TemporalNegativeSampler::index_meetings(std::uint64_t num_sources,
                                                     ThreadArena& arena,
                                                     MemoryLedger* ledger) {
  const TemporalView& view = graph_.view();
  for (std::uint64_t at = 0; at < view.num_edges(); ++at) {
    if (view.neighbour(at) < num_sources) continue;
    return Error(
        ErrorCode::kData,
        fmt::format("event {} comes from node {} of {}", at, view.neighbour(at), num_sources));
  }
  Array last_memory;
  auto last = sluice::make<std::uint64_t>(last_memory, num_sources, ledger);
  if (!last) return std::move(last).error();
  auto made_offsets = sluice::make<std::uint64_t>(offsets_, num_sources + 1, ledger);
  if (!made_offsets) return std::move(made_offsets).error();
  const std::span<std::uint64_t> offsets = made_offsets.value();
  std::fill(offsets.begin(), offsets.end(), 0);
  visit_first_events(view, last.value(), [&](std::uint64_t source, std::uint64_t, std::int64_t) {
    ++offsets[source + 1];
  });
  for (std::size_t s = 0; s < num_sources; ++s) offsets[s + 1] += offsets[s];

  auto made = sluice::make<Meeting>(meetings_, offsets[num_sources], ledger);
  if (!made) return std::move(made).error();
  const std::span<Meeting> meetings = made.value();
  // offsets[s] is the next free place of s, and so, in the end, where s + 1 begins.
  visit_first_events(
      view, last.value(), [&](std::uint64_t source, std::uint64_t destination, std::int64_t time) {
        meetings[offsets[source]++] = {time, destination};
      });
  std::copy_backward(offsets.begin(), offsets.end() - 1, offsets.end());
  offsets[0] = 0;
  arena.for_ranges(num_sources, 1 << 12, [&](std::size_t begin, std::size_t end) {
    for (std::size_t s = begin; s < end; ++s) {
      const auto list = meetings.subspan(offsets[s], offsets[s + 1] - offsets[s]);
      std::sort(list.begin(), list.end(), [](const Meeting& a, const Meeting& b) {
        return std::tie(a.time, a.destination) < std::tie(b.time, b.destination);
      });
    }
  });
  return {};
}

Result<void> TemporalNegativeSampler::list_destinations(MemoryLedger* ledger) {
  const auto offsets = graph_.view().offsets;
  const auto has_events = [&](std::size_t node) { return offsets[node] != offsets[node + 1]; };
  std::size_t count = 0;
  for (std::size_t n = 0; n + 1 < offsets.size(); ++n) count += has_events(n) ? 1u : 0u;
  auto made = sluice::make<std::uint64_t>(destinations_, count, ledger);
  if (!made) return std::move(made).error();
  auto next = made.value().begin();
  for (std::size_t n = 0; n + 1 < offsets.size(); ++n) {
    if (has_events(n)) *next++ = n;
  }
  return {};
}

// Whom the source had met in the time that the kind takes, in the order of the first time.
std::span<const TemporalNegativeSampler::Meeting> TemporalNegativeSampler::candidates(
    const Request& request, const Event& event) const {
  const auto offsets = view_of<std::uint64_t>(offsets_);
  if (event.source >= offsets.size() - 1) return {};
  const auto list = view_of<Meeting>(meetings_).subspan(
      offsets[event.source], offsets[event.source + 1] - offsets[event.source]);
  const auto before = [&](std::int64_t time) {
    const auto place = std::ranges::lower_bound(list, time, {}, &Meeting::time);
    return static_cast<std::size_t>(place - list.begin());
  };
  if (request.kind == TemporalNegativeKind::kHistorical)
    return list.first(before(std::min(event.time, request.training_end)));
  const std::size_t end = before(event.time);
  const std::size_t begin = std::min(end, before(request.training_end));
  return list.subspan(begin, end - begin);
}

// Whether it is not the event's own destination, nor another of its source at its time.
bool TemporalNegativeSampler::allowed(const Event& event, std::uint64_t destination) const {
  if (destination == event.destination) return false;
  const TemporalView& view = graph_.view();
  std::uint64_t at = view.offsets[destination];
  const std::uint64_t end = view.offsets[destination + 1];
  for (std::uint64_t length = end - at; length != 0;) {  // the first event at the time or later
    const std::uint64_t half = length / 2;
    const bool right = view.time(at + half) < event.time;
    at = right ? at + half + 1 : at;
    length = right ? length - half - 1 : half;
  }
  for (; at < end && view.time(at) == event.time; ++at) {
    if (view.neighbour(at) == event.source) return false;
  }
  return true;
}

// One of at(0) ... at(size - 1) that is allowed, each equally likely; kNoNode where none is. Most
// are, so that a few draws find one; else all are looked at.
template <class At>
std::uint64_t TemporalNegativeSampler::draw_allowed(const Event& event,
                                                    std::size_t size,
                                                    RandomKey key,
                                                    At at) const {
  if (size == 0) return kNoNode;
  for (std::uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
    const std::uint64_t drawn = at(key.below(size, attempt));
    if (allowed(event, drawn)) return drawn;
  }
  std::uint64_t num_allowed = 0;
  for (std::size_t i = 0; i < size; ++i) num_allowed += allowed(event, at(i)) ? 1u : 0u;
  if (num_allowed == 0) return kNoNode;
  std::uint64_t skip = key.below(num_allowed, kAttempts);
  for (std::size_t i = 0;; ++i) {
    if (allowed(event, at(i)) && skip-- == 0) return at(i);
  }
}

Result<TemporalNegativeSampler::Report> TemporalNegativeSampler::draw(const Request& request,
                                                                      std::span<std::uint64_t> out,
                                                                      ThreadArena& arena) const {
  const std::size_t events = request.sources.size();
  if (request.destinations.size() != events || request.times.size() != events ||
      out.size() != events * request.count) {
    return Error(ErrorCode::kUsage,
                 fmt::format("temporal negatives: {} sources, {} destinations, {} times and room "
                             "for {} negatives, {} an event",
                             events,
                             request.destinations.size(),
                             request.times.size(),
                             out.size(),
                             request.count));
  }
  const RandomKey kind_key =
      key_.with(static_cast<std::uint64_t>(request.kind)).with(request.epoch);
  const auto anybody = view_of<std::uint64_t>(destinations_);
  std::atomic<std::uint64_t> random = 0, none = 0;
  arena.for_ranges(events, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Event event{request.sources[i], request.destinations[i], request.times[i]};
      const auto met = candidates(request, event);
      const RandomKey key = kind_key.with(event.source)
                                .with(event.destination)
                                .with(static_cast<std::uint64_t>(event.time));
      for (std::size_t n = 0; n < request.count; ++n) {
        std::uint64_t& negative = out[i * request.count + n];
        negative = draw_allowed(
            event, met.size(), key.with(n), [met](std::size_t at) { return met[at].destination; });
        if (negative != kNoNode) continue;
        negative = draw_allowed(
            event, anybody.size(), key.with(n).with("anybody"), [anybody](std::size_t at) {
              return anybody[at];
            });
        (negative == kNoNode ? none : random) += 1;
      }
    }
  });
  return Report{random, none};
}

}  // namespace sluice
