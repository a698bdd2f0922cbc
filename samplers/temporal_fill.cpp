#include "samplers/temporal_fill.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

namespace sluice {
namespace {

// Queries that go through the steps together: about as many misses as a core keeps in flight, and
// some.
constexpr std::size_t kGroup = 32;

// Edge ids of a graph that stores none.
struct PositionIds {
  std::uint64_t operator[](std::uint64_t position) const { return position; }
};

template <class T>
void prefetch_row(const T* data, std::uint64_t first, std::size_t count) {
  __builtin_prefetch(data + first);
  __builtin_prefetch(data + first + count - 1);
}
void prefetch_row(PositionIds, std::uint64_t, std::size_t) {}

template <class T>
void prefetch_one(const T* data, std::uint64_t position) {
  __builtin_prefetch(data + position);
}
void prefetch_one(PositionIds, std::uint64_t) {}

std::int64_t minus_saturating(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < b ? std::numeric_limits<std::int64_t>::min()
               : std::numeric_limits<std::int64_t>::max();
}

template <class Neighbour, class EdgeIds>
class Filler {
 public:
  Filler(const TemporalView& view,
         const Neighbour* neighbours,
         EdgeIds edge_ids,
         const TemporalHopRule& rule,
         const TemporalQueries& queries,
         const TemporalRows& out,
         PositionChooser& chooser)
      : offsets_(view.offsets.data()),
        num_nodes_(view.num_nodes()),
        times_(view.times.data()),
        neighbours_(neighbours),
        edge_ids_(edge_ids),
        rule_(rule),
        queries_(queries),
        out_(out),
        chooser_(chooser),
        ordered_(rule.by_event || rule.cut.has_value()) {}

  void run(std::size_t begin, std::size_t end) {
    request_offsets(begin, std::min(begin + kGroup, end));
    for (std::size_t at = begin; at < end; at += kGroup) {
      first_ = at;
      lanes_ = std::min(kGroup, end - at);
      request_offsets(at + lanes_, std::min(at + lanes_ + kGroup, end));
      locate();
      if (ordered_) {
        find_ends<true>();
      } else {
        find_ends<false>();
      }
      if (rule_.window > 0) drop_before_window();
      if (rule_.strategy == TemporalStrategy::kRecent) {
        take_recent();
      } else {
        take_uniform();
      }
    }
  }

 private:
  using Lanes = std::array<std::uint64_t, kGroup>;

  void request_offsets(std::size_t begin, std::size_t end) const {
    for (std::size_t q = begin; q < end; ++q) {
      if (queries_.nodes[q] < num_nodes_) __builtin_prefetch(offsets_ + queries_.nodes[q]);
    }
  }

  // The node's whole list, and the bound that visible events are below.
  void locate() {
    for (std::size_t i = 0; i < lanes_; ++i) {
      const std::uint64_t node = queries_.nodes[first_ + i];
      const bool known = node < num_nodes_;
      begin_[i] = known ? offsets_[node] : 0;
      end_[i] = begin_[i];
      length_[i] = known ? offsets_[node + 1] - begin_[i] : 0;
      bound_time_[i] = queries_.times[first_ + i];
      bound_id_[i] = rule_.by_event ? queries_.event_ids[first_ + i] : 0;
      if (rule_.cut && bound_time_[i] >= rule_.cut->time) {
        bound_time_[i] = rule_.cut->time;
        bound_id_[i] = rule_.cut->event;
      }
    }
  }

  // Binary searches in step: each probe's line is asked for a round ahead of its use.
  // `before(lane, position)`: the event there belongs before the place sought. From at_ = the first
  // and length_ = how many, at_ becomes the place.
  template <class Before>
  void search(Lanes& at, Before before) {
    std::array<std::uint8_t, kGroup> active;
    std::size_t num_active = 0;
    for (std::size_t i = 0; i < lanes_; ++i) {
      __builtin_prefetch(times_ + at[i] + length_[i] / 2);
      active[num_active] = static_cast<std::uint8_t>(i);
      num_active += length_[i] != 0 ? 1u : 0u;
    }
    while (num_active != 0) {
      std::size_t still_active = 0;
      for (std::size_t a = 0; a < num_active; ++a) {
        const std::size_t i = active[a];
        const std::uint64_t half = length_[i] / 2;
        const std::uint64_t middle = at[i] + half;
        const bool right = before(i, middle);
        at[i] = right ? middle + 1 : at[i];
        length_[i] = right ? length_[i] - half - 1 : half;
        __builtin_prefetch(times_ + at[i] + length_[i] / 2);
        active[still_active] = static_cast<std::uint8_t>(i);
        still_active += length_[i] != 0 ? 1u : 0u;
      }
      num_active = still_active;
    }
  }

  template <bool kOrdered>
  void find_ends() {
    search(end_, [this](std::size_t i, std::uint64_t position) {
      const std::int64_t time = times_[position];
      if constexpr (!kOrdered) return time < bound_time_[i];
      return time < bound_time_[i] ||
             (time == bound_time_[i] && edge_ids_[position] < bound_id_[i]);
    });
  }

  // The window is the query's, whatever bound its events are below. Of a recent row only the last
  // `count` events matter.
  void drop_before_window() {
    std::array<std::int64_t, kGroup> least;
    for (std::size_t i = 0; i < lanes_; ++i) {
      least[i] = minus_saturating(queries_.times[first_ + i], rule_.window);
      if (rule_.strategy == TemporalStrategy::kRecent) keep_last(i);
      length_[i] = end_[i] - begin_[i];
    }
    search(begin_, [this, &least](std::size_t i, std::uint64_t position) {
      return times_[position] < least[i];
    });
  }

  void keep_last(std::size_t i) {
    begin_[i] = end_[i] - std::min<std::uint64_t>(end_[i] - begin_[i], rule_.count);
  }

  std::size_t row_of(std::size_t i) const { return (first_ + i) * rule_.count; }

  void take_recent() {
    for (std::size_t i = 0; i < lanes_; ++i) {
      keep_last(i);
      request(i);
    }
    for (std::size_t i = 0; i < lanes_; ++i) write_list(i);
  }

  // Asks for the lines of [begin_, end_).
  void request(std::size_t i) const {
    const auto count = static_cast<std::size_t>(end_[i] - begin_[i]);
    if (count == 0) return;
    prefetch_row(neighbours_, begin_[i], count);
    if (!out_.edge_ids.empty()) prefetch_row(edge_ids_, begin_[i], count);
    prefetch_row(times_, begin_[i], count);
  }

  // All of [begin_, end_), which are at most rule_.count.
  void write_list(std::size_t i) {
    const std::uint64_t begin = begin_[i];
    write_row(
        i, static_cast<std::size_t>(end_[i] - begin), [begin](std::size_t j) { return begin + j; });
  }

  // The positions are drawn into the row of neighbours, each of which then takes its place.
  void take_uniform() {
    for (std::size_t i = 0; i < lanes_; ++i) {
      const std::uint64_t degree = end_[i] - begin_[i];
      if (degree <= rule_.count) {
        request(i);
        continue;
      }
      const RandomKey key = rule_.key.with(queries_.nodes[first_ + i])
                                .with(static_cast<std::uint64_t>(queries_.times[first_ + i]));
      const auto positions = out_.neighbours.subspan(row_of(i), rule_.count);
      chooser_.choose(begin_[i], degree, key, positions);
      for (const std::uint64_t position : positions) {
        prefetch_one(neighbours_, position);
        if (!out_.edge_ids.empty()) prefetch_one(edge_ids_, position);
        if (!out_.times.empty() || !out_.deltas.empty()) prefetch_one(times_, position);
      }
    }
    for (std::size_t i = 0; i < lanes_; ++i) {
      if (end_[i] - begin_[i] <= rule_.count) {
        write_list(i);
        continue;
      }
      const std::uint64_t* positions = out_.neighbours.data() + row_of(i);
      write_row(i, rule_.count, [positions](std::size_t j) { return positions[j]; });
    }
  }

  // `position(j)` may read the row of neighbours, which is written last.
  template <class Position>
  void write_row(std::size_t i, std::size_t count, Position position) {
    const std::size_t row = row_of(i);
    out_.counts[first_ + i] = static_cast<std::int32_t>(count);
    if (!out_.times.empty()) {
      write_column(
          out_.times.data() + row, count, 0, [&](std::size_t j) { return times_[position(j)]; });
    }
    if (!out_.deltas.empty()) write_deltas(i, count, position);
    if (!out_.edge_ids.empty()) {
      write_column(out_.edge_ids.data() + row, count, kNoEdge, [&](std::size_t j) {
        return static_cast<std::uint64_t>(edge_ids_[position(j)]);
      });
    }
    write_column(out_.neighbours.data() + row, count, kNoNode, [&](std::size_t j) {
      return static_cast<std::uint64_t>(neighbours_[position(j)]);
    });
  }

  // The oldest event, the first, has the largest delta: where that one fits, all do.
  template <class Position>
  void write_deltas(std::size_t i, std::size_t count, Position position) {
    const std::int64_t query = queries_.times[first_ + i];
    std::int64_t* out = out_.deltas.data() + row_of(i);
    std::int64_t oldest = 0;
    if (count != 0 && __builtin_sub_overflow(query, times_[position(0)], &oldest)) {
      write_column(out, count, 0, [&](std::size_t j) {
        return minus_saturating(query, times_[position(j)]);
      });
    } else {
      write_column(out, count, 0, [&](std::size_t j) { return query - times_[position(j)]; });
    }
  }

  template <class T, class Value>
  void write_column(T* out, std::size_t count, std::type_identity_t<T> padding, Value value) {
    for (std::size_t j = 0; j < count; ++j) out[j] = value(j);
    for (std::size_t j = count; j < rule_.count; ++j) out[j] = padding;
  }

  const std::uint64_t* offsets_;
  std::uint64_t num_nodes_;
  const std::int64_t* times_;
  const Neighbour* neighbours_;
  EdgeIds edge_ids_;
  const TemporalHopRule& rule_;
  const TemporalQueries& queries_;
  const TemporalRows& out_;
  PositionChooser& chooser_;
  bool ordered_;  // bounds have an event id

  // Of the group, by lane.
  std::size_t first_ = 0;  // the first one's query
  std::size_t lanes_ = 0;
  Lanes begin_;  // events that may be taken: [begin_, end_)
  Lanes end_;
  Lanes length_;  // of the part that a search still looks in
  std::array<std::int64_t, kGroup> bound_time_;
  Lanes bound_id_;
};

}  // namespace

void fill_temporal_rows(const TemporalView& view,
                        const TemporalHopRule& rule,
                        const TemporalQueries& queries,
                        const TemporalRows& out,
                        std::size_t begin,
                        std::size_t end,
                        PositionChooser& chooser) {
  const auto with_neighbours = [&](const auto* neighbours) {
    const auto with_ids = [&](auto ids) {
      Filler(view, neighbours, ids, rule, queries, out, chooser).run(begin, end);
    };
    if (!view.edge_ids32.empty()) {
      with_ids(view.edge_ids32.data());
    } else if (!view.edge_ids64.empty()) {
      with_ids(view.edge_ids64.data());
    } else {
      with_ids(PositionIds{});
    }
  };
  if (view.neighbours64.empty()) {
    with_neighbours(view.neighbours32.data());
  } else {
    with_neighbours(view.neighbours64.data());
  }
}

}  // namespace sluice
