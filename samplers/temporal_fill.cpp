#include "samplers/temporal_fill.h"

#include <sluice/no_node.h>

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
  const void* operator+(std::uint64_t) const { return this; }  // nothing is to be read
};

// Events in three arrays.
template <class Neighbour, class EdgeIds>
struct Columns {
  const std::int64_t* times;
  const Neighbour* neighbours;
  EdgeIds edge_ids;

  std::int64_t time(std::uint64_t at) const { return times[at]; }
  std::uint64_t neighbour(std::uint64_t at) const { return neighbours[at]; }
  std::uint64_t edge_id(std::uint64_t at) const { return edge_ids[at]; }
  void request_time(std::uint64_t at) const { __builtin_prefetch(times + at); }
  void request(std::uint64_t at) const {
    __builtin_prefetch(times + at);
    __builtin_prefetch(neighbours + at);
    __builtin_prefetch(edge_ids + at);
  }
  void request_list(std::uint64_t first, std::uint64_t last) const {
    request(first);
    request(last);
  }
};

// Events in one.
template <class Id>
struct Records {
  const TemporalRecord<Id>* records;

  std::int64_t time(std::uint64_t at) const { return records[at].time; }
  std::uint64_t neighbour(std::uint64_t at) const { return records[at].neighbour; }
  std::uint64_t edge_id(std::uint64_t at) const { return records[at].edge_id; }
  void request_time(std::uint64_t at) const { __builtin_prefetch(records + at); }
  void request(std::uint64_t at) const { __builtin_prefetch(records + at); }
  // The first lines; of longer lists the CPU sees the way they go.
  void request_list(std::uint64_t first, std::uint64_t last) const {
    constexpr std::uint64_t kLine = 64 / sizeof(TemporalRecord<Id>);
    for (std::uint64_t at = first; at < std::min(last, first + 4 * kLine); at += kLine)
      __builtin_prefetch(records + at);
    __builtin_prefetch(records + last);
  }
};

std::int64_t minus_saturating(std::int64_t a, std::int64_t b) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < b ? std::numeric_limits<std::int64_t>::min()
               : std::numeric_limits<std::int64_t>::max();
}

template <class Events>
class Filler {
 public:
  Filler(const TemporalView& view,
         const Events& events,
         const TemporalHopRule& rule,
         const TemporalQueries& queries,
         const TemporalRows& out,
         PositionChooser& chooser)
      : offsets_(view.offsets.data()),
        num_nodes_(view.num_nodes()),
        events_(events),
        rule_(rule),
        queries_(queries),
        out_(out),
        chooser_(chooser),
        ordered_(rule.by_event || rule.inclusive || rule.cut.has_value()),
        all_columns_(!out.edge_ids.empty() && !out.times.empty() && !out.deltas.empty()) {}

  // A group's events are on their way while the next one's are looked for.
  void run(std::size_t begin, std::size_t end) {
    request_offsets(begin, std::min(begin + kGroup, end));
    std::size_t turn = 0;
    for (std::size_t at = begin; at < end; at += kGroup) {
      Group& group = groups_[turn];
      group.first = at;
      group.lanes = std::min(kGroup, end - at);
      const std::size_t next = at + group.lanes;
      request_offsets(next, std::min(next + kGroup, end));
      find(group);
      request(group);
      turn = 1 - turn;
      if (at != begin) write(groups_[turn]);
    }
    if (begin != end) write(groups_[1 - turn]);
  }

 private:
  using Lanes = std::array<std::uint64_t, kGroup>;

  // Queries [first, first + lanes), and for each the events that may be taken: [begin, end).
  struct Group {
    std::size_t first = 0;
    std::size_t lanes = 0;
    Lanes begin;
    Lanes end;
  };

  void request_offsets(std::size_t begin, std::size_t end) const {
    for (std::size_t q = begin; q < end; ++q) {
      if (queries_.nodes[q] < num_nodes_) __builtin_prefetch(offsets_ + queries_.nodes[q]);
    }
  }

  void find(Group& group) {
    locate(group);
    if (ordered_) {
      find_ends<true>(group);
    } else {
      find_ends<false>(group);
    }
    if (rule_.window > 0) drop_before_window(group);
    if (rule_.strategy == TemporalStrategy::kRecent) keep_last(group);
  }

  // The node's whole list, and the bound that visible events are below.
  void locate(Group& group) {
    for (std::size_t i = 0; i < group.lanes; ++i) {
      const std::uint64_t node = queries_.nodes[group.first + i];
      const bool known = node < num_nodes_;
      group.begin[i] = known ? offsets_[node] : 0;
      group.end[i] = group.begin[i];
      length_[i] = known ? offsets_[node + 1] - group.begin[i] : 0;
      bound_time_[i] = queries_.times[group.first + i];
      bound_id_[i] = rule_.by_event ? queries_.event_ids[group.first + i] : 0;
      if (rule_.inclusive) bound_id_[i] = kNoEdge;  // above every id
      if (rule_.cut && bound_time_[i] >= rule_.cut->time) {
        bound_time_[i] = rule_.cut->time;
        bound_id_[i] = rule_.cut->event;
      }
    }
  }

  // Binary searches in step: each probe's line is asked for a round ahead of its use.
  // `before(lane, position)`: the event there belongs before the place sought. From at = the first
  // and length_ = how many, `at` becomes the place.
  template <class Before>
  void search(Lanes& at, std::size_t lanes, Before before) {
    std::array<std::uint8_t, kGroup> active;
    std::size_t num_active = 0;
    for (std::size_t i = 0; i < lanes; ++i) {
      events_.request_time(at[i] + length_[i] / 2);
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
        events_.request_time(at[i] + length_[i] / 2);
        active[still_active] = static_cast<std::uint8_t>(i);
        still_active += length_[i] != 0 ? 1u : 0u;
      }
      num_active = still_active;
    }
  }

  template <bool kOrdered>
  void find_ends(Group& group) {
    search(group.end, group.lanes, [this](std::size_t i, std::uint64_t position) {
      const std::int64_t time = events_.time(position);
      if constexpr (!kOrdered) return time < bound_time_[i];
      return time < bound_time_[i] ||
             (time == bound_time_[i] && events_.edge_id(position) < bound_id_[i]);
    });
  }

  // The window is the query's, whatever bound its events are below. Of a recent row only the last
  // `count` events matter.
  void drop_before_window(Group& group) {
    if (rule_.strategy == TemporalStrategy::kRecent) keep_last(group);
    std::array<std::int64_t, kGroup> least;
    for (std::size_t i = 0; i < group.lanes; ++i) {
      least[i] = minus_saturating(queries_.times[group.first + i], rule_.window);
      length_[i] = group.end[i] - group.begin[i];
    }
    search(group.begin, group.lanes, [this, &least](std::size_t i, std::uint64_t position) {
      return events_.time(position) < least[i];
    });
  }

  void keep_last(Group& group) const {
    for (std::size_t i = 0; i < group.lanes; ++i) {
      const std::uint64_t count =
          std::min<std::uint64_t>(group.end[i] - group.begin[i], rule_.count);
      group.begin[i] = group.end[i] - count;
    }
  }

  std::size_t row_of(const Group& group, std::size_t i) const {
    return (group.first + i) * rule_.count;
  }

  // Asks for the events of each row. Where there are more than fit, which can only be in a uniform
  // sample, the positions are drawn into the row of neighbours, and write() puts what is there in
  // their place.
  void request(const Group& group) {
    for (std::size_t i = 0; i < group.lanes; ++i) {
      const std::uint64_t degree = group.end[i] - group.begin[i];
      if (degree == 0) continue;
      if (degree <= rule_.count) {
        events_.request_list(group.begin[i], group.end[i] - 1);
        continue;
      }
      const std::size_t query = group.first + i;
      const RandomKey key = rule_.key.with(queries_.nodes[query])
                                .with(static_cast<std::uint64_t>(queries_.times[query]));
      const auto positions = out_.neighbours.subspan(row_of(group, i), rule_.count);
      chooser_.choose(group.begin[i], degree, key, positions);
      for (const std::uint64_t position : positions) events_.request(position);
    }
  }

  void write(const Group& group) const {
    for (std::size_t i = 0; i < group.lanes; ++i) {
      const std::uint64_t begin = group.begin[i];
      const std::uint64_t degree = group.end[i] - begin;
      if (degree <= rule_.count) {
        const auto count = static_cast<std::size_t>(degree);
        write_row(group.first + i, count, [begin](std::size_t j) { return begin + j; });
      } else {
        const std::uint64_t* positions = out_.neighbours.data() + row_of(group, i);
        write_row(
            group.first + i, rule_.count, [positions](std::size_t j) { return positions[j]; });
      }
    }
  }

  // `position(j)` may read place j of the row of neighbours, which is written last.
  template <class Position>
  void write_row(std::size_t query, std::size_t count, Position position) const {
    out_.counts[query] = static_cast<std::int32_t>(count);
    if (all_columns_) {
      write_whole_row(query, count, position);
    } else {
      write_columns(query, count, position);
    }
  }

  // All columns in one pass: how long a row is cannot be foreseen, and is then asked once.
  template <class Position>
  void write_whole_row(std::size_t query, std::size_t count, Position position) const {
    const std::int64_t now = queries_.times[query];
    const std::size_t row = query * rule_.count;
    std::uint64_t* neighbours = out_.neighbours.data() + row;
    std::uint64_t* edge_ids = out_.edge_ids.data() + row;
    std::int64_t* times = out_.times.data() + row;
    std::int64_t* deltas = out_.deltas.data() + row;
    for (std::size_t j = 0; j < count; ++j) {
      const std::uint64_t at = position(j);
      const std::int64_t time = events_.time(at);
      times[j] = time;
      deltas[j] = minus_saturating(now, time);
      edge_ids[j] = events_.edge_id(at);
      neighbours[j] = events_.neighbour(at);
    }
    for (std::size_t j = count; j < rule_.count; ++j) {
      times[j] = 0;
      deltas[j] = 0;
      edge_ids[j] = kNoEdge;
      neighbours[j] = kNoNode;
    }
  }

  template <class Position>
  void write_columns(std::size_t query, std::size_t count, Position position) const {
    const std::int64_t now = queries_.times[query];
    const std::size_t row = query * rule_.count;
    if (!out_.times.empty()) {
      write_column(out_.times.data() + row, count, 0, [&](std::size_t j) {
        return events_.time(position(j));
      });
    }
    if (!out_.deltas.empty()) {
      write_column(out_.deltas.data() + row, count, 0, [&](std::size_t j) {
        return minus_saturating(now, events_.time(position(j)));
      });
    }
    if (!out_.edge_ids.empty()) {
      write_column(out_.edge_ids.data() + row, count, kNoEdge, [&](std::size_t j) {
        return events_.edge_id(position(j));
      });
    }
    write_column(out_.neighbours.data() + row, count, kNoNode, [&](std::size_t j) {
      return events_.neighbour(position(j));
    });
  }

  template <class T, class Value>
  void write_column(T* out, std::size_t count, std::type_identity_t<T> padding, Value value) const {
    for (std::size_t j = 0; j < count; ++j) out[j] = value(j);
    for (std::size_t j = count; j < rule_.count; ++j) out[j] = padding;
  }

  const std::uint64_t* offsets_;
  std::uint64_t num_nodes_;
  Events events_;
  const TemporalHopRule& rule_;
  const TemporalQueries& queries_;
  const TemporalRows& out_;
  PositionChooser& chooser_;
  bool ordered_;      // bounds have an event id
  bool all_columns_;  // are wanted

  std::array<Group, 2> groups_;
  // Of the group being looked for, by lane.
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
  const auto run = [&](const auto& events) {
    Filler(view, events, rule, queries, out, chooser).run(begin, end);
  };
  const auto run_columns = [&](const auto* neighbours) {
    const std::int64_t* times = view.times.data();
    if (!view.edge_ids32.empty()) {
      run(Columns{times, neighbours, view.edge_ids32.data()});
    } else if (!view.edge_ids64.empty()) {
      run(Columns{times, neighbours, view.edge_ids64.data()});
    } else {
      run(Columns{times, neighbours, PositionIds{}});
    }
  };
  if (!view.records32.empty()) {
    run(Records<std::uint32_t>{view.records32.data()});
  } else if (!view.records64.empty()) {
    run(Records<std::uint64_t>{view.records64.data()});
  } else if (!view.neighbours64.empty()) {
    run_columns(view.neighbours64.data());
  } else {
    run_columns(view.neighbours32.data());
  }
}

}  // namespace sluice
