#include "samplers/snapshot/snapshot_topology.h"

#include <sluice/graph_schema.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr std::size_t kAhead = 32;

}  // namespace

SnapshotTopology::SnapshotTopology(std::shared_ptr<Topology> inner, const Setup& setup)
    : inner_(std::move(inner)), setup_(setup), draws_(setup.options, setup.key), now_(tag_of(0)) {}

Result<std::shared_ptr<SnapshotTopology>> SnapshotTopology::make(
    std::shared_ptr<Topology> inner, const Setup& setup, std::span<const std::uint64_t> hot) {
  std::shared_ptr<SnapshotTopology> made(new SnapshotTopology(std::move(inner), setup));
  auto set = HotSet::make(made->num_targets(), hot, setup.ledger);
  if (!set) return std::move(set).error();
  auto starts = made->layout(*made->inner_, set.value());
  if (!starts) return std::move(starts).error();
  auto records = SnapshotRecords::make(
      std::move(starts).value(), node_id_dtype(made->num_sources()), setup.ledger);
  if (!records) return std::move(records).error();
  const WriteLock lock(made->mutex_);
  made->hot_ = std::move(set).value();
  made->records_ = std::move(records).value();
  if (setup.options.mode == SnapshotMode::kFull) return made;
  if (auto room = made->draws_.reserve(setup.slots, setup.ledger); !room)
    return std::move(room).error();
  for (auto* buffer : {&made->now_drawn_, &made->before_drawn_}) {
    if (auto room = buffer->ensure(setup.slots, setup.ledger); !room)
      return std::move(room).error();
  }
  return made;
}

std::uint64_t SnapshotTopology::record_size(const Setup& setup, std::uint64_t degree) {
  return setup.options.mode == SnapshotMode::kFull ? degree : std::min(setup.slots, degree);
}

// Where each record's entries begin. A record that has no room has no entries, and its node is
// asked of the topology behind.
Result<Array> SnapshotTopology::layout(Topology& topology, const HotSet& hot) {
  const auto size = static_cast<std::int64_t>(hot.size());
  auto made = Array::make(DType::kU64, {size + 1}, setup_.ledger, "snapshot");
  if (!made) return made;
  const std::uint64_t fixed = hot.bytes() + SnapshotRecords::bytes_of(hot.size());
  const std::uint64_t room = setup_.capacity - std::min(setup_.capacity, fixed);
  const std::uint64_t most = room / size_of(node_id_dtype(topology.num_sources()));
  const auto starts = made.value().as<std::uint64_t>();
  std::uint64_t sum = 0;
  for (std::uint32_t record = 0; record < hot.size(); ++record) {
    starts[record] = sum;
    const std::uint64_t node = hot.node(record);
    EdgeRange range;
    if (auto found = topology.ranges({&node, 1}, {&range, 1}); !found)
      return std::move(found).error();
    const std::uint64_t edges = record_size(setup_, range.degree());
    if (sum + edges <= most) sum += edges;
  }
  starts[hot.size()] = sum;
  return made;
}

Result<void> SnapshotTopology::whole_ranges(std::span<const std::uint64_t> targets,
                                            std::span<EdgeRange> out) {
  return inner_->ranges(targets, out);
}

Result<void> SnapshotTopology::ranges(std::span<const std::uint64_t> targets,
                                      std::span<EdgeRange> out) {
  if (auto found = inner_->ranges(targets, out); !found) return found;
  const ReadLock lock(mutex_);
  if (hot_.size() == 0) return {};
  const std::uint64_t edges = num_edges();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (i + kAhead < targets.size()) hot_.prefetch(targets[i + kAhead]);
    const std::uint32_t record = hot_.find(targets[i]);
    if (record == HotSet::kNone) continue;
    const EdgeRange entries = records_.entries(record);
    if (entries.degree() == 0) continue;
    out[i] = {edges + entries.begin, edges + entries.end};
    if (!valid(record)) records_.want(record);
  }
  return {};
}

Result<void> SnapshotTopology::neighbours(std::span<const std::uint64_t> positions,
                                          std::span<std::uint64_t> out) {
  const WriteLock lock(mutex_);
  if (auto filled = fill(); !filled) return filled;
  const std::uint64_t edges = num_edges();
  const auto misses = static_cast<std::size_t>(
      std::ranges::count_if(positions, [&](std::uint64_t at) { return at < edges; }));
  if (auto room = behind_.ensure(misses, setup_.ledger); !room) return room;
  const auto behind = behind_.first(misses);
  std::ranges::copy_if(positions, behind.begin(), [&](std::uint64_t at) { return at < edges; });
  const std::uint64_t read_before = inner_->stats().bytes_read;
  if (misses != 0) {
    if (auto found = inner_->neighbours(behind, out.first(misses)); !found) return found;
  }
  // The answers move from the front to where they belong, the last one first.
  std::size_t left = misses;
  for (std::size_t i = positions.size(); i-- > 0;) {
    if (i >= kAhead && positions[i - kAhead] >= edges)
      records_.prefetch(positions[i - kAhead] - edges);
    out[i] = positions[i] < edges ? out[--left] : records_.get(positions[i] - edges);
  }
  const std::size_t hits = positions.size() - misses;
  stats_.hits += hits;
  stats_.misses += misses;
  stats_.miss_bytes += inner_->stats().bytes_read - read_before;
  stats_.age_sum += age_ * static_cast<double>(hits);
  if (hits != 0) stats_.oldest = std::max(stats_.oldest, oldest_);
  return {};
}

Result<void> SnapshotTopology::edge_ids(std::span<const std::uint64_t> positions,
                                        std::span<std::uint64_t> out) {
  const WriteLock lock(mutex_);
  if (auto room = behind_.ensure(positions.size(), setup_.ledger); !room) return room;
  const auto behind = behind_.first(positions.size());
  if (auto found = positions_behind(positions, behind); !found) return found;
  return inner_->edge_ids(behind, out);
}

// Positions of entries as the topology behind has them.
Result<void> SnapshotTopology::positions_behind(std::span<const std::uint64_t> positions,
                                                std::span<std::uint64_t> out) {
  const std::uint64_t edges = num_edges();
  EdgeRange entries;  // of the record that the last one was in: positions of a node come together
  EdgeRange list;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    out[i] = positions[i];
    if (positions[i] < edges) continue;
    const std::uint64_t entry = positions[i] - edges;
    if (entry < entries.begin || entry >= entries.end) {
      const std::uint32_t record = records_.record_of(entry);
      entries = records_.entries(record);
      const std::uint64_t node = hot_.node(record);
      if (auto found = inner_->ranges({&node, 1}, {&list, 1}); !found) return found;
      if (entries.degree() != list.degree())
        draws_.draw(
            epoch_.value_or(0), period_, node, list.degree(), now_drawn_.first(entries.degree()));
    }
    const std::uint64_t place = entry - entries.begin;
    out[i] = list.begin + (entries.degree() == list.degree() ? place : now_drawn_.data()[place]);
  }
  return {};
}

Result<std::uint64_t> SnapshotTopology::begin_round(std::uint64_t epoch, std::uint64_t round) {
  if (!setup_.options.approximate()) return kEveryRound;
  const WriteLock lock(mutex_);
  const auto length = static_cast<std::uint64_t>(setup_.options.period);
  if (epoch_ != epoch) ++epochs_;
  const std::uint64_t period = round / length;
  if (epoch_ != epoch || period != period_) records_.clear_wanted();
  epoch_ = epoch;
  period_ = period;
  now_ = tag_of(period);
  const RecordDraws::Age periods = draws_.age(period, setup_.slots);
  age_ = periods.mean * static_cast<double>(length) + static_cast<double>(round % length);
  oldest_ = periods.most * length + round % length;
  return (period + 1) * length;
}

std::uint64_t SnapshotTopology::workspace_bytes() const {
  const ReadLock lock(mutex_);
  return workspace_of(
      draws_, now_drawn_, before_drawn_, behind_, sweep_.positions, sweep_.entries, sweep_.sources);
}

SnapshotStats SnapshotTopology::snapshot_stats() const {
  const ReadLock lock(mutex_);
  SnapshotStats stats = stats_;
  stats.records = hot_.size();
  stats.ram_bytes = hot_.bytes() + records_.bytes();
  return stats;
}

}  // namespace sluice
