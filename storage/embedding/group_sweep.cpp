#include "storage/embedding/group_sweep.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace sluice {
namespace {

constexpr std::size_t kMostVisits = 16384;  // of groups that take no staging, too

}  // namespace

void GroupSweep::run(std::span<const RowMove> writes,
                     std::span<const RowMove> reads,
                     std::size_t lead) {
  floats_ = store_.layout().row_floats();
  deferred_.clear();
  pass(writes, reads, lead);
  const std::vector<RowMove> rest = std::move(deferred_);
  deferred_.clear();
  pass({}, rest, rest.size());
}

void GroupSweep::read(std::span<const RowMove> reads, std::uint32_t floats) {
  floats_ = floats;
  pass({}, reads, reads.size());
}

void GroupSweep::pass(std::span<const RowMove> writes,
                      std::span<const RowMove> reads,
                      std::size_t lead) {
  writes_ = writes;
  reads_ = reads;
  lead_ = lead;
  write_ = read_ = 0;
  while (write_ < writes_.size() || read_ < reads_.size()) {
    plan();
    fetch();
    for (const Visit& each : visits_) visit(each);
    store_written();
  }
}

// The groups that the staging buffer holds at once, from write_ and read_ on.
void GroupSweep::plan() {
  visits_.clear();
  std::size_t write = write_, read = read_;
  std::uint64_t used = 0;
  while ((write < writes_.size() || read < reads_.size()) && visits_.size() < kMostVisits) {
    Visit next = next_visit(write, read);
    if (next.staged && !find_place(next, used)) return;
    write = next.writes_end;
    read = next.reads_end;
    visits_.push_back(next);
  }
}

GroupSweep::Visit GroupSweep::next_visit(std::size_t write, std::size_t read) const {
  const RowLayout& layout = store_.layout();
  const auto group_at = [&](std::span<const RowMove> moves, std::size_t i) {
    return i < moves.size() ? layout.group_of(moves[i].row)
                            : std::numeric_limits<std::uint64_t>::max();
  };
  Visit visit{};
  visit.group = std::min(group_at(writes_, write), group_at(reads_, read));
  visit.writes_end = write;
  visit.reads_end = read;
  while (group_at(writes_, visit.writes_end) == visit.group) ++visit.writes_end;
  while (group_at(reads_, visit.reads_end) == visit.group) ++visit.reads_end;
  visit.written = visit.writes_end != write;
  visit.whole = visit.writes_end - write == layout.rows_of(visit.group);
  visit.fetched = store_.written(visit.group) && !visit.whole;
  visit.staged = visit.written || visit.fetched;
  return visit;
}

// Behind the group staged before: as far as on the disk, so that both are one request, or at once.
bool GroupSweep::find_place(Visit& visit, std::uint64_t& used) const {
  const std::uint64_t bytes = store_.layout().group_bytes;
  const std::uint64_t room = store_.staging().size();
  visit.place = used;
  const auto before = std::find_if(
      visits_.rbegin(), visits_.rend(), [](const Visit& other) { return other.staged; });
  if (before != visits_.rend() && before->fetched && visit.fetched) {
    const std::uint64_t gap = (visit.group - before->group - 1) * bytes;
    if (gap <= kMostGap && used + gap + bytes <= room) visit.place = used + gap;
  }
  if (visit.place + bytes > room) return false;
  used = visit.place + bytes;
  return true;
}

void GroupSweep::fetch() {
  staged_.clear();
  for (const Visit& visit : visits_)
    if (visit.fetched) staged_.push_back({visit.group, visit.place});
  if (!staged_.empty()) store_.read(staged_);
}

void GroupSweep::visit(const Visit& visit) {
  const RowLayout& layout = store_.layout();
  std::byte* staged = store_.staging().data() + visit.place;
  if (visit.staged && !visit.fetched) {
    if (visit.whole) {
      std::memset(staged, 0, layout.group_bytes);
    } else {
      store_.make(visit.group, staged);
    }
  }
  for (; write_ < visit.writes_end; ++write_) {
    const RowMove& from = writes_[write_];
    std::memcpy(staged + layout.offset_in_group(from.row), from.at, layout.row_bytes());
  }
  for (; read_ < visit.reads_end; ++read_) {
    if (read_ >= lead_ && read_ - lead_ >= write_) {
      deferred_.push_back(reads_[read_]);
    } else {
      take(reads_[read_], visit);
    }
  }
}

void GroupSweep::take(const RowMove& read, const Visit& visit) const {
  const RowLayout& layout = store_.layout();
  if (visit.staged) {
    const std::byte* from =
        store_.staging().data() + visit.place + layout.offset_in_group(read.row);
    std::memcpy(read.at, from, sizeof(float) * std::size_t{floats_});
    return;
  }
  store_.initial().fill(read.row, 1, layout.dim, read.at, layout.row_floats());
  if (floats_ > layout.dim) std::fill(read.at + layout.dim, read.at + floats_, 0.0f);
}

void GroupSweep::store_written() {
  staged_.clear();
  for (const Visit& visit : visits_)
    if (visit.written) staged_.push_back({visit.group, visit.place});
  if (!staged_.empty()) store_.write(staged_);
}

}  // namespace sluice
