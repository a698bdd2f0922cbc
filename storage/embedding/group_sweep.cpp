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
  half_ = 0;
  written_.clear();
  plan();
  // Groups are visited in their order: what is written now lies before all that is read meanwhile.
  while (!visits_.empty() || !written_.empty()) {
    store_.exchange(fetched_, written_);
    for (const Visit& each : visits_) visit(each);
    list_written();
    half_ = 1 - half_;
    plan();
  }
}

// The groups that half of the staging buffer holds, from write_ and read_ on.
void GroupSweep::plan() {
  visits_.clear();
  fetched_.clear();
  std::size_t write = write_, read = read_;
  const std::uint64_t begin = half_ * half_bytes();
  std::uint64_t used = begin;
  while ((write < writes_.size() || read < reads_.size()) && visits_.size() < kMostVisits) {
    Visit next = next_visit(write, read);
    if (next.staged && !find_place(next, begin, used)) break;
    write = next.writes_end;
    read = next.reads_end;
    stage_gap(next);
    visits_.push_back(next);
  }
  for (const Visit& each : visits_)
    if (each.fetched) fetched_.push_back({each.group, each.place});
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

std::uint64_t GroupSweep::half_bytes() const {
  const std::uint64_t bytes = store_.layout().group_bytes;
  return store_.staging().size() / 2 / bytes * bytes;
}

const GroupSweep::Visit* GroupSweep::last_staged() const {
  const auto before = std::find_if(
      visits_.rbegin(), visits_.rend(), [](const Visit& other) { return other.staged; });
  return before == visits_.rend() ? nullptr : &*before;
}

// Behind the group staged before: as far as on the disk, so that both are one request, or at once.
bool GroupSweep::find_place(Visit& visit, std::uint64_t begin, std::uint64_t& used) const {
  const std::uint64_t bytes = store_.layout().group_bytes;
  const std::uint64_t end = begin + half_bytes();
  visit.place = used;
  const Visit* before = last_staged();
  if (before != nullptr && before->fetched && visit.fetched) {
    const std::uint64_t gap = (visit.group - before->group - 1) * bytes;
    if (gap <= kMostGap && used + gap + bytes <= end) visit.place = used + gap;
  }
  if (visit.place + bytes > end) return false;
  used = visit.place + bytes;
  return true;
}

// The groups of a short gap that is read through are visited too, where they may be written with
// those around them.
void GroupSweep::stage_gap(const Visit& next) {
  if (writes_.empty() || !next.staged) return;
  const Visit* found = last_staged();
  if (found == nullptr || !found->fetched || !next.fetched) return;
  const Visit before = *found;
  const std::uint64_t bytes = store_.layout().group_bytes;
  const std::uint64_t gap = next.group - before.group - 1;
  if (gap == 0 || gap * bytes > kMostWriteGap) return;
  if (next.place - before.place != (gap + 1) * bytes) return;
  for (std::uint64_t i = 1; i <= gap; ++i) {
    const std::uint64_t group = before.group + i;
    if (!store_.rewritable_beside(group, before.group)) continue;
    // It has no rows of its own: those before it are done when it is visited.
    visits_.push_back({group,
                       before.place + i * bytes,
                       before.writes_end,
                       before.reads_end,
                       false,
                       false,
                       true,
                       true});
  }
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

// What is to be written, and short gaps in it.
void GroupSweep::list_written() {
  written_.clear();
  std::size_t end_of_last = visits_.size();  // behind the last that is written
  for (std::size_t i = 0; i < visits_.size(); ++i) {
    if (!visits_[i].written) continue;
    if (end_of_last < i) list_gap(end_of_last - 1, i);
    written_.push_back({visits_[i].group, visits_[i].place});
    end_of_last = i + 1;
  }
}

// The visits between two that are written, if all groups between them are there and may be.
void GroupSweep::list_gap(std::size_t first, std::size_t last) {
  const std::uint64_t bytes = store_.layout().group_bytes;
  const std::uint64_t gap = visits_[last].group - visits_[first].group - 1;
  if (gap != last - first - 1 || gap * bytes > kMostWriteGap) return;
  if (!store_.same_side_written(visits_[first].group, visits_[last].group)) return;
  for (std::size_t i = first; i < last; ++i)
    if (visits_[i + 1].place != visits_[i].place + bytes) return;
  for (std::size_t i = first + 1; i < last; ++i)
    if (!visits_[i].fetched || !store_.rewritable_beside(visits_[i].group, visits_[first].group))
      return;
  for (std::size_t i = first + 1; i < last; ++i)
    written_.push_back({visits_[i].group, visits_[i].place});
}

}  // namespace sluice
