#include "prep/spool/edge_id_buckets.h"

#include "core/interrupt.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kLeastBytes = std::uint64_t{2} << 20;
constexpr std::uint64_t kFixedBytes = std::uint64_t{1} << 20;  // kSome ids and values, two files
constexpr std::uint64_t kBucketBytes = 64;                     // what is known of a bucket
constexpr std::uint64_t kLeastAtOnce = 64;                     // values: less is no read worth it
constexpr std::uint64_t kMostOfRun = 0xffff'ffff;              // as places in a run take 4 bytes
constexpr std::uint64_t kRunEdgeBytes = sizeof(std::uint64_t) + sizeof(std::uint32_t);
constexpr unsigned kMostShift = 32;

std::uint64_t pieces_of(std::uint64_t count, std::uint64_t size) {
  return (count + size - 1) / size;
}

// Half is for what there is most of: ids of a run, values of a bucket, values on their way out. The
// other half is for what is known of buckets and runs.
std::optional<IdBucketPlan> plan_within(std::uint64_t bytes,
                                        std::uint64_t edges,
                                        std::uint64_t values,
                                        std::size_t width) {
  const std::uint64_t half = (bytes - kFixedBytes) / 2;
  IdBucketPlan plan;
  plan.bytes = bytes;
  plan.shift = std::min(kMostShift, static_cast<unsigned>(std::bit_width(half / width)) - 1);
  plan.buckets = std::max<std::uint64_t>(1, pieces_of(values, std::uint64_t{1} << plan.shift));
  plan.run = std::min(half / kRunEdgeBytes, kMostOfRun);
  plan.at_once = std::min(half / width / plan.buckets, edges);
  const std::uint64_t of_bucket =
      kBucketBytes + pieces_of(edges, plan.run) * sizeof(std::uint32_t);  // an end in each run
  const bool fits =
      plan.at_once >= std::min(edges, kLeastAtOnce) && plan.buckets * of_bucket <= half;
  return fits ? std::optional(plan) : std::nullopt;
}

}  // namespace

IdBucketPlan IdBucketPlan::make(std::uint64_t edges,
                                std::uint64_t values,
                                std::size_t width,
                                std::uint64_t memory_bytes) {
  for (std::uint64_t bytes = std::max(kLeastBytes, memory_bytes);; bytes += bytes / 2)
    if (const auto plan = plan_within(bytes, edges, values, width)) return *plan;
}

EdgeIdBuckets::EdgeIdBuckets(const IdBucketPlan& plan,
                             ValueCursor& ids,
                             std::uint64_t edges,
                             const std::filesystem::path& folder)
    : plan_(plan), list_(folder, sizeof(std::uint32_t)) {
  ends_.reserve(pieces_of(edges, plan.run) * plan.buckets);
  take(ids, edges);
  some_.resize(IdBucketPlan::kSome);
}

void EdgeIdBuckets::take(ValueCursor& ids, std::uint64_t edges) {
  std::vector<std::uint64_t> run;
  std::vector<std::uint32_t> parted, ends(plan_.buckets);
  const std::uint64_t within = (std::uint64_t{1} << plan_.shift) - 1;
  for (std::uint64_t left = edges; left != 0; left -= run.size()) {
    throw_if_interrupted();
    run.resize(std::min(left, plan_.run));
    parted.resize(run.size());
    std::fill(ends.begin(), ends.end(), 0);
    for (std::uint64_t& id : run) {
      id = *ids.next();
      ++ends[id >> plan_.shift];
    }
    std::uint32_t sum = 0;
    for (std::uint32_t& end : ends) sum += std::exchange(end, sum);  // begins, which become ends
    for (const std::uint64_t id : run)
      parted[ends[id >> plan_.shift]++] = static_cast<std::uint32_t>(id & within);
    list_.append(std::span<const std::uint32_t>(parted));
    ends_.insert(ends_.end(), ends.begin(), ends.end());
  }
}

EdgeIdBuckets::Piece EdgeIdBuckets::piece(std::uint64_t run, std::uint64_t bucket) const {
  const std::uint32_t* const ends = ends_.data() + run * plan_.buckets;
  const std::uint64_t first = run * plan_.run;
  return {first + (bucket == 0 ? 0 : ends[bucket - 1]), first + ends[bucket]};
}

std::uint64_t EdgeIdBuckets::count(std::uint64_t bucket) const {
  std::uint64_t sum = 0;
  for (std::uint64_t run = 0; run < runs(); ++run) {
    const Piece at = piece(run, bucket);
    sum += at.last - at.first;
  }
  return sum;
}

void EdgeIdBuckets::visit(std::uint64_t bucket,
                          const std::function<void(std::span<const std::uint32_t>)>& use) {
  std::size_t filled = 0;
  for (std::uint64_t run = 0; run < runs(); ++run) {
    for (Piece at = piece(run, bucket); at.first != at.last;) {
      const std::size_t more = std::min<std::uint64_t>(at.last - at.first, some_.size() - filled);
      list_.read(at.first, std::span(some_).subspan(filled, more));
      at.first += more;
      filled += more;
      if (filled == some_.size()) use(std::span(some_).first(std::exchange(filled, 0)));
    }
  }
  if (filled != 0) use(std::span(some_).first(filled));
}

}  // namespace sluice
