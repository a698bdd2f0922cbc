// Random temporal multigraphs and a sampler that looks at every event for every query: what the
// real one is held against.
#pragma once

#include "samplers/temporal_append.h"
#include "samplers/temporal_sampler.h"

#include <sluice/no_node.h>
#include <sluice/random.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace sluice::test {

inline constexpr std::int64_t kLeastTime = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kLastTime = std::numeric_limits<std::int64_t>::max();

/// In-edges, in any order.
using Events = std::vector<TemporalEvent>;

inline bool comes_before(const TemporalEvent& a, const TemporalEvent& b) {
  return std::tie(a.time, a.id) < std::tie(b.time, b.id);
}

/// Which arrays a test graph has.
struct Widths {
  bool wide_nodes = false;
  enum class Ids { k32, k64, kPosition } ids = Ids::k32;
};

template <class T>
Array make_array(const std::vector<T>& values) {
  Array array = Array::make(dtype_of<T>, {static_cast<std::int64_t>(values.size())}).or_throw();
  std::copy(values.begin(), values.end(), array.as<T>().begin());
  return array;
}

inline Array make_ids(const std::vector<std::uint64_t>& ids, bool wide) {
  if (wide) return make_array(ids);
  return make_array(std::vector<std::uint32_t>(ids.begin(), ids.end()));
}

inline TemporalArrays make_temporal_arrays(Events events,
                                           std::uint64_t num_nodes,
                                           Widths widths = {}) {
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
    return std::tie(a.target, a.time, a.id) < std::tie(b.target, b.time, b.id);
  });
  std::vector<std::uint64_t> offsets(num_nodes + 1), sources, ids;
  std::vector<std::int64_t> times;
  for (const TemporalEvent& event : events) {
    ++offsets[event.target + 1];
    sources.push_back(event.source);
    ids.push_back(event.id);
    times.push_back(event.time);
  }
  for (std::size_t n = 0; n < num_nodes; ++n) offsets[n + 1] += offsets[n];
  TemporalArrays arrays;
  arrays.offsets = make_array(offsets);
  arrays.neighbours = make_ids(sources, widths.wide_nodes);
  if (widths.ids != Widths::Ids::kPosition)
    arrays.edge_ids = make_ids(ids, widths.ids == Widths::Ids::k64);
  arrays.times = make_array(times);
  return arrays;
}

inline TemporalGraph make_temporal(const Events& events,
                                   std::uint64_t num_nodes,
                                   Widths widths = {}) {
  return TemporalGraph::own(make_temporal_arrays(events, num_nodes, widths)).or_throw();
}

inline TemporalSampler sampler_of(const Events& events,
                                  std::uint64_t num_nodes,
                                  TemporalSamplerOptions options = {},
                                  std::uint64_t seed = 1) {
  return TemporalSampler(make_temporal(events, num_nodes), std::move(options), RandomKey(seed));
}

/// Both directions of each under one id; a self edge once.
inline Events undirected(const Events& events) {
  Events both;
  for (const TemporalEvent& event : events) {
    both.push_back(event);
    if (event.source != event.target)
      both.push_back({event.target, event.source, event.time, event.id});
  }
  return both;
}

/// A time of one of the regimes that break samplers.
inline std::int64_t random_time(RandomKey key, std::uint64_t counter, std::uint64_t regime) {
  const auto small = static_cast<std::int64_t>(key.below(6, counter));
  switch (regime % 8) {
    case 0:
      return small;  // heavy ties
    case 1:
      return (std::int64_t{1} << 31) - 3 + small;
    case 2:
      return (std::int64_t{1} << 53) - 3 + small;
    case 3:
      return -3 + small;
    case 4:
      return kLeastTime + small;
    case 5:
      return kLastTime - small;
    case 6:
      return static_cast<std::int64_t>(key.draw(counter));  // all of int64
    default:
      return static_cast<std::int64_t>(key.below(1000, counter));
  }
}

struct RandomTemporal {
  std::uint64_t num_nodes = 0;
  std::uint64_t regime = 0;
  Events events;  ///< in arrival order: ids ascend, times need not
};

/// A few hubs, isolated nodes, duplicates and self edges; every second graph undirected.
inline RandomTemporal random_temporal(std::uint64_t seed) {
  const RandomKey key = RandomKey(seed).with("temporal test graph");
  RandomTemporal graph;
  graph.num_nodes = 1 + key.below(12, 0);
  graph.regime = seed;
  const std::uint64_t events = key.below(120, 1);
  std::uint64_t counter = 2;
  const auto node = [&] {
    const std::uint64_t drawn = key.below(graph.num_nodes, counter++);
    return key.below(3, counter++) == 0 ? 0 : drawn;  // node 0 is a hub
  };
  for (std::uint64_t i = 0; i < events; ++i) {
    if (!graph.events.empty() && key.below(5, counter++) == 0) {
      graph.events.push_back(graph.events.back());  // the same again
    } else {
      const std::uint64_t source = node();
      const std::uint64_t target = key.below(7, counter++) == 0 ? source : node();
      graph.events.push_back({source, target, random_time(key, counter++, graph.regime), 0});
    }
    graph.events.back().id = 3 * i + 1;
  }
  if (seed % 2 == 1) graph.events = undirected(graph.events);
  return graph;
}

/// Queries of nodes that are there, isolated, and unknown, at times of events and beside them.
struct QueryList {
  std::vector<std::uint64_t> nodes;
  std::vector<std::int64_t> times;
  std::vector<std::uint64_t> event_ids;

  void add(std::uint64_t node, std::int64_t time, std::uint64_t event = 0) {
    nodes.push_back(node);
    times.push_back(time);
    event_ids.push_back(event);
  }
  TemporalQueries view() const { return {nodes, times, event_ids}; }
};

inline QueryList random_queries(const RandomTemporal& graph, std::size_t count, RandomKey key) {
  QueryList queries;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t counter = 8 * i;
    std::uint64_t node = key.below(graph.num_nodes + 1, counter++);
    if (node == graph.num_nodes && key.below(2, counter++) == 0) node = kNoNode;
    std::int64_t time = random_time(key, counter++, graph.regime);
    std::uint64_t event = key.below(400, counter++);
    if (!graph.events.empty() && key.below(2, counter++) == 0) {
      const TemporalEvent& of = graph.events[key.below(graph.events.size(), counter++)];
      node = of.target;
      time = of.time;
      event = of.id;
    }
    queries.add(node, time, event);
  }
  return queries;
}

/// The sampler by definition.
class Oracle {
 public:
  Oracle(Events events, TemporalSamplerOptions options, RandomKey key, std::uint64_t relation = 0)
      : events_(std::move(events)),
        options_(std::move(options)),
        key_(key.with("temporal neighbours")),
        relation_(relation) {
    std::stable_sort(events_.begin(), events_.end(), comes_before);
  }

  bool visible(const TemporalEvent& event,
               std::int64_t time,
               std::uint64_t id,
               std::size_t hop,
               const std::optional<TemporalCut>& cut) const {
    // In 128 bits nothing overflows.
    if (options_.window > 0 && __int128{event.time} < __int128{time} - options_.window)
      return false;
    switch (options_.visibility) {
      case TemporalVisibility::kStrict:
        return event.time < time;
      case TemporalVisibility::kEventOrder:
        return event.time < time || (event.time == time && event.id < id);
      case TemporalVisibility::kInclusive:
        return event.time <= time;
      case TemporalVisibility::kBatchLag:
        break;
    }
    if (hop != 0 || !cut || time < cut->time) return event.time < time;
    return event.time < cut->time || (event.time == cut->time && event.id < cut->event);
  }

  /// All that a query may see, in order.
  Events all(std::uint64_t node,
             std::int64_t time,
             std::uint64_t id,
             std::size_t hop = 0,
             const std::optional<TemporalCut>& cut = {}) const {
    Events list;
    for (const TemporalEvent& event : events_) {
      if (event.target == node && visible(event, time, id, hop, cut)) list.push_back(event);
    }
    return list;
  }

  Events row(std::uint64_t node,
             std::int64_t time,
             std::uint64_t id,
             std::size_t hop,
             std::uint64_t epoch,
             const std::optional<TemporalCut>& cut) const {
    Events list = all(node, time, id, hop, cut);
    const auto count = static_cast<std::size_t>(options_.count[hop]);
    if (list.size() <= count) return list;
    if (options_.strategy == TemporalStrategy::kRecent)
      return Events(list.end() - static_cast<std::ptrdiff_t>(count), list.end());
    const RandomKey key = key_.with(epoch).with(hop).with(relation_).with(node).with(
        static_cast<std::uint64_t>(time));
    std::vector<std::uint64_t> chosen;  // Floyd, as published
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t last = list.size() - count + i;
      const std::uint64_t drawn = key.below(last + 1, i);
      const bool taken = std::find(chosen.begin(), chosen.end(), drawn) != chosen.end();
      chosen.push_back(taken ? last : drawn);
    }
    std::sort(chosen.begin(), chosen.end());
    Events sampled;
    for (const std::uint64_t place : chosen) sampled.push_back(list[place]);
    return sampled;
  }

  const TemporalSamplerOptions& options() const { return options_; }

 private:
  Events events_;
  TemporalSamplerOptions options_;
  RandomKey key_;
  std::uint64_t relation_;
};

inline std::int64_t expected_delta(std::int64_t query, std::int64_t event) {
  const __int128 delta = __int128{query} - event;
  return delta > kLastTime ? kLastTime : static_cast<std::int64_t>(delta);
}

/// Row i of a hop, whatever its form. Times are the events'; targets are left 0.
inline Events row_of(const TemporalHop& hop, std::size_t i) {
  const auto count = static_cast<std::size_t>(hop.counts.as<std::int32_t>()[i]);
  const std::size_t begin = hop.offsets.empty()
                                ? i * static_cast<std::size_t>(hop.neighbours.size(1))
                                : static_cast<std::size_t>(hop.offsets.as<std::int64_t>()[i]);
  Events row;
  for (std::size_t j = begin; j < begin + count; ++j) {
    row.push_back({hop.neighbours.as<std::uint64_t>()[j],
                   0,
                   hop.times.as<std::int64_t>()[j],
                   hop.edge_ids.as<std::uint64_t>()[j]});
  }
  return row;
}

/// Everything of a sample, for comparisons of bytes.
inline std::vector<std::byte> bytes_of(const TemporalSample& sample) {
  std::vector<std::byte> bytes;
  for (const TemporalHop& hop : sample.hops) {
    for (const Array* array :
         {&hop.counts, &hop.offsets, &hop.neighbours, &hop.edge_ids, &hop.times, &hop.deltas}) {
      const auto raw = array->raw();
      bytes.insert(bytes.end(), raw.begin(), raw.end());
    }
  }
  return bytes;
}

/// One query's row of one hop.
inline Events ask(const TemporalSampler& sampler,
                  std::uint64_t node,
                  std::int64_t time,
                  std::uint64_t event = 0,
                  std::optional<TemporalCut> cut = {}) {
  ThreadArena arena(1);
  QueryList queries;
  queries.add(node, time, event);
  const TemporalSample sample =
      sampler.sample({.queries = queries.view(), .cut = cut}, TemporalForm::kPadded, arena)
          .or_throw();
  return row_of(sample.hops.at(0), 0);
}

inline std::vector<std::uint64_t> ids_of(const Events& row) {
  std::vector<std::uint64_t> ids;
  for (const TemporalEvent& event : row) ids.push_back(event.id);
  return ids;
}

}  // namespace sluice::test
