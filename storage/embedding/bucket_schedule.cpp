#include "storage/embedding/bucket_schedule.h"

#include <algorithm>
#include <cstddef>

namespace sluice {
namespace {

bool touches(const Bucket& bucket, const std::vector<std::uint32_t>& partitions) {
  return std::ranges::binary_search(partitions, bucket.source) ||
         std::ranges::binary_search(partitions, bucket.target);
}

}  // namespace

BucketTimes simulate(const BucketOrder& order, const BucketCosts& costs, SpareSlot spare) {
  BucketTimes times;
  const auto& states = order.states;
  const auto partitions = [](const auto& of) { return static_cast<double>(of.size()); };
  times.seconds = partitions(states.front().loaded) * costs.read_seconds;
  for (std::size_t s = 0; s < states.size(); ++s) {
    const bool last = s + 1 == states.size();
    double leaving = 0, staying = 0;  // computing with and without partitions that go next
    for (const Bucket& bucket : states[s].buckets) {
      const bool goes = !last && touches(bucket, states[s + 1].evicted);
      (goes ? leaving : staying) += costs.compute_seconds(bucket);
    }
    const double compute = leaving + staying;
    times.compute_seconds += compute;
    const double reads = last ? 0 : partitions(states[s + 1].loaded) * costs.read_seconds;
    if (spare == SpareSlot::kOne) {
      // What went before is written while the next is read.
      const double writes = partitions(states[s].evicted) * costs.write_seconds;
      times.seconds += std::max(compute, reads + writes);
    } else {
      const double writes = last ? 0 : partitions(states[s + 1].evicted) * costs.write_seconds;
      times.seconds += leaving + std::max(staying, reads + writes);
    }
  }
  times.seconds += partitions(states.back().resident) * costs.write_seconds;
  return times;
}

BucketPlan choose_bucket_order(std::uint32_t partitions,
                               std::uint32_t slots,
                               const BucketCosts& costs,
                               RandomKey key) {
  const auto plan = [&](BucketOrderKind kind, std::uint32_t trained_in, SpareSlot spare) {
    const BucketOrderOptions options{kind, partitions, trained_in};
    return BucketPlan{options, spare, simulate(make_bucket_order(options, key), costs, spare)};
  };
  const BucketPlan beta = plan(BucketOrderKind::kBeta, slots - 1, SpareSlot::kOne);
  const BucketPlan legend = plan(BucketOrderKind::kLegend, slots, SpareSlot::kNone);
  return legend.times.seconds < beta.times.seconds ? legend : beta;
}

}  // namespace sluice
