#include "prep/convert/range_store.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace sluice {
namespace {

// Records in a segment: whole cache lines of them, so that a line never belongs to two segments.
std::uint64_t capacity_of(const RangeStoreOptions& options) {
  const auto bytes = static_cast<std::uint64_t>(options.record.bytes);
  const std::uint64_t unit = std::lcm<std::uint64_t>(64, bytes);
  return options.segment_bytes / unit * unit / bytes;
}

}  // namespace

RangeStore::RangeStore(const RangeStoreOptions& options, MemoryLedger* ledger)
    : options_(options),
      ledger_(ledger),
      capacity_(capacity_of(options)),
      pool_(ledger, options.segment_bytes, options.memory_bytes),
      ranges_(options.num_ranges) {
  // Lists of segments: 16 bytes for each, with what a vector grows ahead.
  if (ledger != nullptr)
    charge_ = ledger->charge("edges", options.num_ranges * sizeof(Range)).or_throw();
}

// A segment; while memory has none, full ones are written out.
std::byte* RangeStore::take() {
  if (std::byte* const segment = pool_.take()) return segment;
  spill_full();
  do {
    if (std::byte* const segment = pool_.take()) return segment;
  } while (spill_->wait_for_one());
  throw no_room();
}

// All that is in memory is being written to, and one segment more is needed.
Error RangeStore::no_room() const {
  const std::uint64_t needed = 2 * options_.num_ranges * options_.segment_bytes;
  if (ledger_ != nullptr) {
    auto charge = ledger_->charge("edges", std::max(needed, ledger_->available() + 1));
    if (!charge) return std::move(charge).error();
  }
  return Error(ErrorCode::kResource,
               fmt::format("edges in {} target ranges need {} to be sorted in",
                           options_.num_ranges,
                           format_bytes(needed)),
               "raise the memory budget");
}

void RangeStore::spill_full() {
  if (!spill_) {
    spill_ = std::make_unique<SpillFile>(options_.spill_folder,
                                         options_.segment_bytes,
                                         [this](std::byte* segment) { pool_.give(segment); });
  }
  for (Range& range : ranges_) {
    const std::uint64_t full = range.count / capacity_ - range.slots.size();
    for (std::uint64_t i = 0; i < full; ++i)
      range.slots.push_back(spill_->write(range.segments[i]));
    range.segments.erase(range.segments.begin(),
                         range.segments.begin() + static_cast<std::ptrdiff_t>(full));
  }
}

void RangeStore::reserve(std::span<const std::uint64_t> more) {
  // Once there is not room for all, what is full is written out while more comes in.
  if (spill_) spill_full();
  for (std::uint64_t r = 0; r < ranges_.size(); ++r) {
    Range& range = ranges_[r];
    const std::uint64_t needed = (range.count + more[r] + capacity_ - 1) / capacity_;
    while (range.slots.size() + range.segments.size() < needed) range.segments.push_back(take());
  }
}

std::byte* RangeStore::place(std::uint64_t range,
                             std::uint64_t index,
                             std::uint64_t& follow) const {
  const Range& at = ranges_[range];
  const std::uint64_t within = index % capacity_;
  follow = capacity_ - within;
  const std::uint64_t segment = index / capacity_ - at.slots.size();
  if (segment >= at.segments.size()) return nullptr;  // nothing is to lie there
  return at.segments[segment] + within * static_cast<std::uint64_t>(options_.record.bytes);
}

void RangeStore::commit(std::span<const std::uint64_t> more) {
  for (std::uint64_t r = 0; r < ranges_.size(); ++r) {
    ranges_[r].count += more[r];
    total_ += more[r];
  }
}

void RangeStore::finish() {
  if (spill_) spill_->wait_for_all();
  pool_.set_keep(SegmentPool::Keep::kNothing);
}

std::uint64_t RangeStore::spilled_bytes() const noexcept {
  return spill_ ? spill_->slots() * options_.segment_bytes : 0;
}

std::uint64_t RangeStore::spilled_bytes(std::uint64_t range) const {
  return ranges_[range].slots.size() * options_.segment_bytes;
}

void RangeStore::load(std::uint64_t first,
                      std::uint64_t last,
                      const std::shared_ptr<AlignedBuffer>& to) {
  if (!spill_) return;
  std::vector<std::uint64_t> slots;
  for (std::uint64_t range = first; range < last; ++range)
    slots.insert(slots.end(), ranges_[range].slots.begin(), ranges_[range].slots.end());
  spill_->read_again(slots, to);
}

void RangeStore::load_segments(std::uint64_t range,
                               std::uint64_t first,
                               std::uint64_t count,
                               const std::shared_ptr<AlignedBuffer>& to) {
  spill_->read(std::span(ranges_[range].slots).subspan(first, count), to);
}

void RangeStore::loaded_runs(const std::byte* loaded,
                             std::uint64_t segments,
                             std::vector<RecordRun>& out) const {
  for (std::uint64_t i = 0; i < segments; ++i)
    out.push_back({loaded + i * options_.segment_bytes, capacity_});
}

void RangeStore::runs(std::uint64_t range,
                      const std::byte* loaded,
                      std::vector<RecordRun>& out) const {
  loaded_runs(loaded, ranges_[range].slots.size(), out);
  memory_runs(range, out);
}

void RangeStore::memory_runs(std::uint64_t range, std::vector<RecordRun>& out) const {
  const Range& from = ranges_[range];
  std::uint64_t left = from.count - from.slots.size() * capacity_;
  for (const std::byte* segment : from.segments) {
    if (left == 0) break;
    out.push_back({segment, std::min(left, capacity_)});
    left -= out.back().count;
  }
}

void RangeStore::release(std::uint64_t range) {
  for (std::byte* segment : ranges_[range].segments) pool_.give(segment);
  ranges_[range].segments.clear();
}

}  // namespace sluice
