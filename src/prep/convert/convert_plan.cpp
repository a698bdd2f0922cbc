#include "prep/convert/converter.h"

#include <algorithm>
#include <bit>

namespace sluice {
namespace {

constexpr std::uint64_t kMaxRanges = 4096;        // lines of that many ranges fit a core's cache
constexpr std::uint64_t kRangeRecords = 1 << 14;  // aimed at: sorts in a core's cache
constexpr std::uint64_t kMinTargets = 64;         // a range
constexpr std::uint64_t kSmallestSegment = 4 << 10;
constexpr std::uint64_t kLargestSegment = 64 << 10;  // more is no faster to read (PEERS: the disk)
constexpr std::uint64_t kSpillSegment = 16 << 10;    // the smallest worth a disk's while
constexpr std::uint64_t kUnknownEdges = std::uint64_t{1} << 40;  // of a stream that does not say

int local_bits_for(std::uint64_t targets, std::uint64_t ranges) {
  int bits = 0;
  while ((std::max<std::uint64_t>(targets, 1) - 1) >> bits >= ranges) ++bits;
  return bits;
}

}  // namespace

ConvertPlan ConvertPlan::make(const ConvertOptions& options, std::uint64_t memory_bytes) {
  const ScatterRules& rules = options.rules;
  const std::uint64_t ways = rules.both_ways ? 2 : 1;
  const std::uint64_t edges = options.expected_edges.value_or(kUnknownEdges);
  ConvertPlan plan;
  plan.store_bytes = memory_bytes / 16 * 9;  // the rest: what is sorted, read and written
  const std::uint64_t wanted = std::clamp<std::uint64_t>(
      std::max(edges * ways / kRangeRecords, rules.num_targets / kRangeRecords), 1, kMaxRanges);
  const std::uint64_t sensible = rules.num_targets / kMinTargets + 1;
  // One segment of each range is always in memory: a quarter of the store is theirs.
  const std::uint64_t fitting = std::max<std::uint64_t>(1, plan.store_bytes / 4 / kSpillSegment);
  const std::uint64_t ranges = std::min({wanted, sensible, fitting});

  const int local_bits = local_bits_for(rules.num_targets, ranges);
  plan.num_ranges = rules.num_targets == 0 ? 0 : ((rules.num_targets - 1) >> local_bits) + 1;
  plan.record = EdgeRecord::make(
      local_bits, rules.num_sources, options.edge_ids ? options.id_bound.value_or(edges) : 0);

  const auto record_bytes = static_cast<std::uint64_t>(plan.record.bytes);
  const std::uint64_t ranges_there = std::max<std::uint64_t>(1, plan.num_ranges);
  const bool fits =
      options.expected_edges && edges * ways * record_bytes < plan.store_bytes / 4 * 3;
  const std::uint64_t aim =
      fits ? edges * ways * record_bytes / ranges_there / 4 : plan.store_bytes / 4 / ranges_there;
  plan.segment_bytes =
      std::bit_floor(std::clamp(aim, fits ? kSmallestSegment : kSpillSegment, kLargestSegment));
  plan.round_edges =
      std::max<std::uint64_t>(1 << 12, plan.store_bytes / (fits ? 1 : 4) / record_bytes / ways);
  if (options.expected_edges && !fits) plan.spill_bytes = edges * ways * record_bytes / 63 * 64;
  return plan;
}

}  // namespace sluice
