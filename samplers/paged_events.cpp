#include "samplers/paged_events.h"

#include "samplers/temporal_fill.h"

#include <sluice/no_node.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr std::size_t kChunkQueries = 512;
constexpr std::size_t kChunkEvents = std::size_t{1} << 15;  // of rows; a longer row is one chunk
constexpr std::size_t kTiesAtOnce = std::size_t{1} << 15;

}  // namespace

Result<std::shared_ptr<const PagedEvents>> PagedEvents::open(const Dataset& dataset,
                                                             std::string_view key,
                                                             std::shared_ptr<Topology> topology,
                                                             const TopologyOptions& options) try {
  std::shared_ptr<PagedTimes> times = dataset.paged_times(key, *topology, options);
  const RelationSchema& relation = *dataset.schema().relation(key);
  return std::shared_ptr<const PagedEvents>(new PagedEvents(std::move(topology),
                                                            std::move(times),
                                                            relation.has_edge_ids,
                                                            relation.source == relation.target));
} catch (const Error& error) {
  return error;
}

// The list of each node; empty for what is no node.
Result<void> PagedEvents::find_lists(std::span<const std::uint64_t> nodes,
                                     std::span<EdgeRange> lists) const {
  std::vector<std::uint64_t> known;
  for (const std::uint64_t node : nodes)
    if (node < topology_->num_targets()) known.push_back(node);
  std::vector<EdgeRange> ranges(known.size());
  if (auto found = topology_->ranges(known, ranges); !found) return found;
  std::size_t next = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    lists[i] = nodes[i] < topology_->num_targets() ? ranges[next++] : EdgeRange{};
  return {};
}

// The place of each ask. Where events of its very time are before it or not by their ids, these are
// read; they lie on one page.
Result<void> PagedEvents::find(std::span<const PagedTimes::Ask> asks,
                               std::span<std::uint64_t> places) const {
  std::vector<PagedTimes::Found> found(asks.size());
  if (auto searched = times_->search(asks, found); !searched) return searched;
  std::vector<std::uint64_t> positions, ids;
  std::vector<std::size_t> tied;
  const auto decide = [&]() -> Result<void> {
    ids.resize(positions.size());
    if (auto read = topology_->edge_ids(positions, ids); !read) return read;
    std::size_t at = 0;
    for (const std::size_t i : tied) {
      const std::size_t count = found[i].last - found[i].first;
      const auto list = std::span(ids).subspan(at, count);
      const auto before = std::ranges::lower_bound(list, asks[i].id) - list.begin();
      places[i] = found[i].first + static_cast<std::uint64_t>(before);
      at += count;
    }
    positions.clear();
    tied.clear();
    return {};
  };
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const auto [first, last] = found[i];
    places[i] = first;
    if (first == last) continue;
    if (!has_edge_ids_) {
      places[i] = std::clamp(asks[i].id, first, last);
      continue;
    }
    tied.push_back(i);
    for (std::uint64_t at = first; at < last; ++at) positions.push_back(at);
    if (positions.size() < kTiesAtOnce) continue;
    if (auto decided = decide(); !decided) return decided;
  }
  return tied.empty() ? Result<void>() : decide();
}

// Some queries of a call.
class PagedEvents::Chunk {
 public:
  Chunk(const PagedEvents& events,
        const TemporalHopRule& rule,
        const TemporalQueries& queries,
        const TemporalRows& out,
        PositionChooser& chooser)
      : events_(events), rule_(rule), queries_(queries), out_(out), chooser_(chooser) {}

  Result<void> run(std::size_t begin, std::size_t end) {
    begin_ = begin;
    size_ = end - begin;
    if (auto found = find_visible(); !found) return found;
    choose();
    if (auto read = read_events(); !read) return read;
    write();
    return {};
  }

 private:
  std::size_t most() const { return rule_.count; }

  // For each query, the events that may be taken: [lists_[i].begin, lists_[i].end).
  Result<void> find_visible() {
    lists_.resize(size_);
    asks_.resize(size_);
    places_.resize(size_);
    if (auto found = events_.find_lists(queries_.nodes.subspan(begin_, size_), lists_); !found)
      return found;
    for (std::size_t i = 0; i < size_; ++i) {
      const TemporalBound bound = bound_of(rule_, queries_, begin_ + i);
      asks_[i] = {lists_[i].begin, lists_[i].end, bound.time, bound.id};
    }
    if (auto found = events_.find(asks_, places_); !found) return found;
    for (std::size_t i = 0; i < size_; ++i) lists_[i].end = places_[i];
    if (rule_.strategy == TemporalStrategy::kRecent) keep_last();
    return rule_.window > 0 ? drop_before_window() : Result<void>();
  }

  void keep_last() {
    for (EdgeRange& list : lists_)
      list.begin = list.end - std::min<std::uint64_t>(list.degree(), most());
  }

  Result<void> drop_before_window() {
    for (std::size_t i = 0; i < size_; ++i) {
      const std::int64_t least = minus_saturating(queries_.times[begin_ + i], rule_.window);
      asks_[i] = {lists_[i].begin, lists_[i].end, least, 0};
    }
    if (auto found = events_.find(asks_, places_); !found) return found;
    for (std::size_t i = 0; i < size_; ++i) lists_[i].begin = places_[i];
    return {};
  }

  // The rows' events, end to end.
  void choose() {
    positions_.clear();
    for (std::size_t i = 0; i < size_; ++i) {
      const EdgeRange list = lists_[i];
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(list.degree(), most()));
      out_.counts[begin_ + i] = static_cast<std::int32_t>(count);
      const std::size_t first = positions_.size();
      positions_.resize(first + count);
      const auto row = std::span(positions_).subspan(first, count);
      if (list.degree() <= most()) {
        for (std::size_t j = 0; j < count; ++j) row[j] = list.begin + j;
      } else {
        const RandomKey key = row_key(rule_, queries_, begin_ + i);
        chooser_.choose(list.begin, list.degree(), key, row);
      }
    }
  }

  Result<void> read_events() {
    const std::size_t count = positions_.size();
    neighbours_.resize(count);
    if (auto read = events_.topology_->neighbours(positions_, neighbours_); !read) return read;
    if (!out_.edge_ids.empty()) {
      ids_.resize(count);
      if (auto read = events_.topology_->edge_ids(positions_, ids_); !read) return read;
    }
    if (out_.times.empty() && out_.deltas.empty()) return {};
    times_.resize(count);
    return events_.times_->times(positions_, times_);
  }

  void write() const {
    std::size_t from = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const std::size_t query = begin_ + i;
      const auto count = static_cast<std::size_t>(out_.counts[query]);
      const std::int64_t now = queries_.times[query];
      put_row(out_.neighbours, query, count, kNoNode, [&](std::size_t j) {
        return neighbours_[from + j];
      });
      put_row(out_.edge_ids, query, count, kNoEdge, [&](std::size_t j) { return ids_[from + j]; });
      put_row(out_.times, query, count, std::int64_t{0}, [&](std::size_t j) {
        return times_[from + j];
      });
      put_row(out_.deltas, query, count, std::int64_t{0}, [&](std::size_t j) {
        return minus_saturating(now, times_[from + j]);
      });
      from += count;
    }
  }

  template <class T, class Value>
  void put_row(
      std::span<T> column, std::size_t query, std::size_t count, T padding, Value value) const {
    if (column.empty()) return;
    const auto row = column.subspan(query * most(), most());
    for (std::size_t j = 0; j < count; ++j) row[j] = value(j);
    std::ranges::fill(row.subspan(count), padding);
  }

  const PagedEvents& events_;
  const TemporalHopRule& rule_;
  const TemporalQueries& queries_;
  const TemporalRows& out_;
  PositionChooser& chooser_;
  std::size_t begin_ = 0, size_ = 0;
  std::vector<EdgeRange> lists_;
  std::vector<PagedTimes::Ask> asks_;
  std::vector<std::uint64_t> places_, positions_, neighbours_, ids_;
  std::vector<std::int64_t> times_;
};

Result<void> PagedEvents::fill(const TemporalHopRule& rule,
                               const TemporalQueries& queries,
                               const TemporalRows& out,
                               std::size_t begin,
                               std::size_t end,
                               MemoryLedger* ledger) const {
  PositionChooser chooser;
  if (rule.strategy == TemporalStrategy::kUniform) {
    if (auto room = chooser.reserve(rule.count, ledger); !room) return room;
  }
  const std::size_t queries_at_once = std::clamp<std::size_t>(
      kChunkEvents / std::max<std::size_t>(rule.count, 1), 1, kChunkQueries);
  Charge scratch;
  if (ledger != nullptr) {
    // Position, neighbour, id and time of each event, and what a look at pages takes.
    constexpr std::uint64_t kEventBytes = 6 * sizeof(std::uint64_t);
    auto charged = ledger->charge("sampler workspace", queries_at_once * rule.count * kEventBytes);
    if (!charged) return std::move(charged).error();
    scratch = std::move(charged).value();
  }
  Chunk chunk(*this, rule, queries, out, chooser);
  for (std::size_t at = begin; at < end; at += queries_at_once) {
    if (auto done = chunk.run(at, std::min(at + queries_at_once, end)); !done) return done;
  }
  return {};
}

Result<void> PagedEvents::count(std::span<const std::uint64_t> nodes,
                                std::span<const std::int64_t> times,
                                TimeTies ties,
                                std::span<std::int64_t> counts) const {
  std::vector<EdgeRange> lists;
  std::vector<PagedTimes::Ask> asks;
  std::vector<std::uint64_t> places;
  for (std::size_t first = 0; first < nodes.size(); first += kChunkQueries) {
    const std::size_t size = std::min(kChunkQueries, nodes.size() - first);
    lists.resize(size);
    asks.resize(size);
    places.resize(size);
    if (auto found = find_lists(nodes.subspan(first, size), lists); !found) return found;
    for (std::size_t i = 0; i < size; ++i)
      asks[i] = {
          lists[i].begin, lists[i].end, times[first + i], ties == TimeTies::kAll ? kNoEdge : 0};
    if (auto found = find(asks, places); !found) return found;
    for (std::size_t i = 0; i < size; ++i)
      counts[first + i] += static_cast<std::int64_t>(places[i] - lists[i].begin);
  }
  return {};
}

}  // namespace sluice
