#include "prep/spool/edge_id_buckets.h"

#include "core/interrupt.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kLeastBytes = std::uint64_t{2} << 20;
constexpr std::uint64_t kFixedBytes = std::uint64_t{1} << 20;  // engines, values on their way out
constexpr std::uint64_t kParts = 8;                            // of a run: each is parted by itself
constexpr std::uint64_t kBucketBytes = 256;  // what is known of one: places of parts, reads
constexpr std::uint64_t kLeastPiece = 1024;  // edges of a bucket in a run: less is no read worth it
constexpr std::uint64_t kMostOfRun = 0xffff'ffff;  // as places in a run take 4 bytes
constexpr std::uint64_t kIdBytes = sizeof(std::uint32_t);
constexpr std::uint64_t kPageIds = kPageBytes / kIdBytes;
constexpr unsigned kMostShift = 32;

std::uint64_t pieces_of(std::uint64_t count, std::uint64_t size) {
  return (count + size - 1) / size;
}

// Half is for a bucket's values, and a quarter for ids and values on their way through it. A run
// has both of these at another time. The last quarter is for what is known of buckets and runs.
std::optional<IdBucketPlan> plan_within(std::uint64_t bytes,
                                        std::uint64_t edges,
                                        std::uint64_t values,
                                        std::size_t width) {
  const std::uint64_t quarter = (bytes - kFixedBytes) / 4;
  // A run's ids and twice the parted ones; or twice its values.
  const std::uint64_t run_edge = 2 * std::max<std::uint64_t>(width, 2 * kIdBytes);
  IdBucketPlan plan;
  plan.bytes = bytes;
  plan.shift = std::min(kMostShift, static_cast<unsigned>(std::bit_width(2 * quarter / width)) - 1);
  plan.buckets = std::max<std::uint64_t>(1, pieces_of(values, std::uint64_t{1} << plan.shift));
  const std::uint64_t around = 2 * 2 * kPageBytes * plan.buckets;  // pages around values
  plan.run = std::min((3 * quarter - std::min(around, 3 * quarter)) / run_edge, kMostOfRun);
  plan.chunk = quarter / (2 * (kIdBytes + width)) / kPageIds * kPageIds;
  if (plan.run / plan.buckets < kLeastPiece) return std::nullopt;
  const std::uint64_t of_bucket = kBucketBytes + plan.runs(edges) * kIdBytes;  // an end in each run
  return plan.buckets * of_bucket <= quarter ? std::optional(plan) : std::nullopt;
}

}  // namespace

IdBucketPlan IdBucketPlan::make(std::uint64_t edges,
                                std::uint64_t values,
                                std::size_t width,
                                std::uint64_t memory_bytes) {
  for (std::uint64_t bytes = std::max(kLeastBytes, memory_bytes);; bytes += bytes / 2)
    if (const auto plan = plan_within(bytes, edges, values, width)) return *plan;
}

std::uint64_t IdBucketPlan::chunk_bytes() const {
  return ScratchPieces::room_for(chunk * kIdBytes);
}

std::uint64_t IdBucketPlan::run_bytes(std::size_t width) const {
  return round_up_to_page(run * width) + 2 * kPageBytes * buckets;
}

EdgeIdBuckets::EdgeIdBuckets(const IdBucketPlan& plan,
                             ValueCursor& ids,
                             std::uint64_t edges,
                             const std::filesystem::path& folder,
                             ThreadArena& arena)
    : plan_(plan), file_(folder, std::min(plan.run, edges) * kIdBytes) {
  ends_.reserve(plan.runs(edges) * plan.buckets);
  take(ids, edges, arena);
  file_.finish();
  reader_.emplace(file_, plan.chunk_bytes());
}

void EdgeIdBuckets::take(ValueCursor& ids, std::uint64_t edges, ThreadArena& arena) {
  std::vector<std::uint64_t> run;
  for (std::uint64_t left = edges; left != 0; left -= run.size()) {
    throw_if_interrupted();
    run.resize(std::min(left, plan_.run));
    for (std::uint64_t& id : run) id = *ids.next();
    part(run, arena);
  }
  next_ = {};
}

// Each part is counted, so that it knows its own places.
void EdgeIdBuckets::part(std::span<const std::uint64_t> run, ThreadArena& arena) {
  const std::uint64_t part = pieces_of(run.size(), kParts);
  const std::uint64_t within = (std::uint64_t{1} << plan_.shift) - 1;
  next_.assign(kParts * plan_.buckets, 0);
  const auto each_id = [&](std::size_t begin, std::size_t end, const auto& use) {
    std::uint32_t* const next = next_.data() + begin / part * plan_.buckets;
    for (std::size_t i = begin; i < end; ++i) use(next[run[i] >> plan_.shift], run[i]);
  };
  arena.for_ranges(run.size(), part, [&](std::size_t begin, std::size_t end) {
    each_id(begin, end, [](std::uint32_t& count, std::uint64_t) { ++count; });
  });
  std::uint32_t sum = 0;
  for (std::uint64_t bucket = 0; bucket < plan_.buckets; ++bucket) {
    for (std::uint64_t at = bucket; at < next_.size(); at += plan_.buckets)
      sum += std::exchange(next_[at], sum);
    ends_.push_back(sum);
  }
  auto* const parted = reinterpret_cast<std::uint32_t*>(file_.place(run.size() * kIdBytes).data());
  arena.for_ranges(run.size(), part, [&](std::size_t begin, std::size_t end) {
    each_id(begin, end, [&](std::uint32_t& place, std::uint64_t id) {
      parted[place++] = static_cast<std::uint32_t>(id & within);
    });
  });
}

std::uint64_t EdgeIdBuckets::first_of(std::uint64_t run, std::uint64_t bucket) const {
  return bucket == 0 ? 0 : ends_[run * plan_.buckets + bucket - 1];
}

std::uint64_t EdgeIdBuckets::count(std::uint64_t run, std::uint64_t bucket) const {
  return ends_[run * plan_.buckets + bucket] - first_of(run, bucket);
}

std::uint64_t EdgeIdBuckets::count(std::uint64_t bucket) const {
  std::uint64_t sum = 0;
  for (std::uint64_t run = 0; run < runs(); ++run) sum += count(run, bucket);
  return sum;
}

// As many ids from `place` on as a buffer has room for; false: there are none.
bool EdgeIdBuckets::begin_chunk(std::uint64_t bucket, Place& place) {
  pieces_.clear();
  std::uint64_t room = plan_.chunk_bytes();
  while (place.run < runs()) {
    const std::uint64_t left = count(place.run, bucket) - place.id;
    if (left == 0) {
      place = {place.run + 1, 0};
      continue;
    }
    if (room < ScratchPieces::room_for(kIdBytes)) break;
    const std::uint64_t most = (room - ScratchPieces::room_for(0)) / kPageBytes * kPageBytes;
    const std::uint64_t some = std::min(left, most / kIdBytes);
    const std::uint64_t first = place.run * plan_.run + first_of(place.run, bucket) + place.id;
    pieces_.push_back({first * kIdBytes, some * kIdBytes});
    room -= ScratchPieces::room_for(some * kIdBytes);
    place.id += some;
  }
  if (!pieces_.empty()) reader_->begin(pieces_);
  return !pieces_.empty();
}

void EdgeIdBuckets::visit(std::uint64_t bucket, const std::function<void(const Pieces&)>& use) {
  Place place{0, 0};
  for (bool more = begin_chunk(bucket, place); more;) {
    const Pieces& ids = reader_->next();
    more = begin_chunk(bucket, place);
    use(ids);
  }
}

void EdgeIdBuckets::end_visits() {
  read_ = reader_->read();
  reader_.reset();
}

}  // namespace sluice
