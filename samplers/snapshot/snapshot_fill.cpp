// How records come to hold what they should: the sweep before an answer, and what stays of them
// when edges have changed.
#include "samplers/snapshot/snapshot_topology.h"

#include <sluice/graph_schema.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <utility>

namespace sluice {
namespace {

// Records are read so many edges at a time: 24 bytes of scratch each.
constexpr std::size_t kSweep = std::size_t{1} << 16;

}  // namespace

// Brings the wanted records. After an error they are empty, and wanted still.
Result<void> SnapshotTopology::fill() {
  const auto wanted = records_.wanted();
  if (wanted.empty()) return {};
  const std::uint64_t before = inner_->stats().bytes_read;
  auto filled = fill_wanted(wanted);
  stats_.refresh_bytes += inner_->stats().bytes_read - before;
  if (!filled) {
    // Some entries may be of this period, some of the one before.
    for (const std::uint32_t record : wanted) records_.set_tag(record, SnapshotRecords::kEmpty);
    return filled;
  }
  stats_.filled += wanted.size();
  records_.clear_wanted();
  return {};
}

Result<void> SnapshotTopology::fill_wanted(std::span<const std::uint32_t> wanted) {
  sweep_.count = 0;
  for (const std::uint32_t record : wanted) {
    const std::uint64_t node = hot_.node(record);
    EdgeRange range;
    if (auto found = inner_->ranges({&node, 1}, {&range, 1}); !found) return found;
    if (auto read = read_record(record, range); !read) return read;
    const bool whole = records_.entries(record).degree() == range.degree();
    records_.set_tag(record, whole ? kForever : now_);
  }
  return finish_sweep();
}

// Of a record of an earlier period of this epoch, only the places that hold another edge now.
Result<void> SnapshotTopology::read_record(std::uint32_t record, EdgeRange range) {
  const EdgeRange entries = records_.entries(record);
  const std::uint64_t count = entries.degree();
  if (count == range.degree()) {
    for (std::uint64_t place = 0; place < count; ++place) {
      if (auto added = add_to_sweep(range.begin + place, entries.begin + place); !added)
        return added;
    }
    return {};
  }
  const std::uint64_t node = hot_.node(record);
  const std::uint64_t epoch = epoch_.value_or(0);
  const auto drawn = now_drawn_.first(count);
  const auto before = before_drawn_.first(count);
  draws_.draw(epoch, period_, node, range.degree(), drawn);
  const Tag tag = records_.tag(record);
  const bool some_stay = setup_.options.mode == SnapshotMode::kOnTheFly &&
                         tag != SnapshotRecords::kEmpty && tag >> kPeriodBits == epochs_;
  if (some_stay) {
    const std::uint64_t period = (tag & ((Tag{1} << kPeriodBits) - 1)) - 1;
    draws_.draw(epoch, period, node, range.degree(), before);
  }
  for (std::uint64_t place = 0; place < count; ++place) {
    if (some_stay && before[place] == drawn[place]) continue;
    if (auto added = add_to_sweep(range.begin + drawn[place], entries.begin + place); !added)
      return added;
  }
  return {};
}

Result<void> SnapshotTopology::add_to_sweep(std::uint64_t position, std::uint64_t entry) {
  for (auto* buffer : {&sweep_.positions, &sweep_.entries}) {
    if (auto room = buffer->grow(sweep_.count + 1, sweep_.count, setup_.ledger); !room) return room;
  }
  sweep_.positions.data()[sweep_.count] = position;
  sweep_.entries.data()[sweep_.count] = entry;
  return ++sweep_.count == kSweep ? finish_sweep() : Result<void>{};
}

Result<void> SnapshotTopology::finish_sweep() {
  const std::size_t count = std::exchange(sweep_.count, 0);
  if (count == 0) return {};
  if (auto room = sweep_.sources.ensure(count, setup_.ledger); !room) return room;
  const auto sources = sweep_.sources.first(count);
  if (auto found = inner_->neighbours(sweep_.positions.first(count), sources); !found) return found;
  for (std::size_t i = 0; i < count; ++i) records_.set(sweep_.entries.data()[i], sources[i]);
  stats_.edges_read += count;
  return {};
}

void SnapshotTopology::drop(std::uint32_t record) {
  if (records_.tag(record) == SnapshotRecords::kEmpty) return;
  records_.set_tag(record, SnapshotRecords::kEmpty);
  ++stats_.invalidated;
}

void SnapshotTopology::invalidate(std::span<const std::uint64_t> nodes) {
  const WriteLock lock(mutex_);
  for (const std::uint64_t node : nodes) {
    const std::uint32_t record = node < hot_.num_nodes() ? hot_.find(node) : HotSet::kNone;
    if (record != HotSet::kNone) drop(record);
  }
}

Result<void> SnapshotTopology::drop_changed(Topology& newer,
                                            std::span<const std::uint64_t> changed) {
  for (const std::uint64_t node : changed) {
    const std::uint32_t record = node < hot_.num_nodes() ? hot_.find(node) : HotSet::kNone;
    if (record != HotSet::kNone) drop(record);
  }
  for (std::uint32_t record = 0; record < hot_.size(); ++record) {
    const std::uint64_t node = hot_.node(record);
    EdgeRange was, is;
    if (auto found = inner_->ranges({&node, 1}, {&was, 1}); !found) return found;
    if (auto found = newer.ranges({&node, 1}, {&is, 1}); !found) return found;
    if (was.degree() != is.degree()) drop(record);
  }
  return {};
}

// Takes over what is filled and has its size still. Both number the same nodes.
void SnapshotTopology::copy_valid(const SnapshotRecords& from, SnapshotRecords& to) const {
  for (std::uint32_t record = 0; record < from.size(); ++record) {
    const EdgeRange old = from.entries(record);
    const EdgeRange now = to.entries(record);
    if (from.tag(record) == SnapshotRecords::kEmpty || old.degree() != now.degree()) continue;
    for (std::uint64_t place = 0; place < now.degree(); ++place)
      to.set(now.begin + place, from.get(old.begin + place));
    to.set_tag(record, from.tag(record));
  }
}

Result<void> SnapshotTopology::update(std::shared_ptr<Topology> newer,
                                      std::span<const std::uint64_t> changed) {
  const WriteLock lock(mutex_);
  if (newer->num_targets() < num_targets() || newer->num_sources() < num_sources()) {
    return Error(ErrorCode::kUsage,
                 fmt::format("a later generation of the relation has {} nodes; there were {}",
                             format_count(newer->num_targets()),
                             format_count(num_targets())),
                 "ids must stay: open it anew, without this snapshot cache");
  }
  if (auto dropped = drop_changed(*newer, changed); !dropped) return dropped;
  records_.clear_wanted();
  auto hot = hot_.grown(newer->num_targets(), setup_.ledger);
  if (!hot) return std::move(hot).error();
  auto starts = layout(*newer, hot.value());
  if (!starts) return std::move(starts).error();
  const DType dtype = node_id_dtype(newer->num_sources());
  auto records = SnapshotRecords::make(starts.value(), dtype, setup_.ledger);
  if (records) {
    copy_valid(records_, records.value());
  } else {
    for (std::uint32_t record = 0; record < records_.size(); ++record) drop(record);
    // Not beside the old ones, then.
    records_ = {};
    records = SnapshotRecords::make(std::move(starts).value(), dtype, setup_.ledger);
  }
  if (!records) {
    hot_ = {};
    return std::move(records).error();
  }
  hot_ = std::move(hot).value();
  records_ = std::move(records).value();
  inner_ = std::move(newer);
  return {};
}

}  // namespace sluice
