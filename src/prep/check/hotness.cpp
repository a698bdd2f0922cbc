#include "prep/check/hotness.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>

namespace sluice {

Hotness measure_hotness(const OrderInput& input) {
  constexpr std::uint64_t kHottest = 10;
  const std::uint64_t count = input.node.count;
  const IdArray degrees = out_degrees(input);
  const IdArray order = sorted_by_key(degrees, &input.context.ledger);
  Hotness hotness;
  hotness.node_type = input.node.name;
  for (std::uint64_t i = 0; i < std::min(kHottest, count); ++i)
    hotness.hottest.push_back({order[i], degrees[order[i]]});

  std::uint64_t row_bytes = 0;
  for (const FeatureSchema& table : input.node.features)
    row_bytes += Manifest::layout_of(table).row_bytes;
  std::uint64_t all = 0;
  for (std::uint64_t node = 0; node < count; ++node) all += degrees[node];
  std::uint64_t covered = 0;
  std::uint64_t at = 0;
  for (const double share : {0.01, 0.05, 0.1, 0.2, 0.5}) {
    const auto rows = static_cast<std::uint64_t>(share * static_cast<double>(count));
    for (; at < rows; ++at) covered += degrees[order[at]];
    const double answered = all == 0 ? 0 : static_cast<double>(covered) / static_cast<double>(all);
    hotness.caches.push_back({share, rows * row_bytes, answered});
  }
  return hotness;
}

std::string to_text(const Hotness& hotness) {
  std::string text = fmt::format("\nhot nodes of '{}', by out-degree:\n", hotness.node_type);
  for (const HotNode& hot : hotness.hottest)
    text += fmt::format("    {:>14}  {:>14}\n", hot.node, format_count(hot.out_degree));
  text += "    a cache of the hottest rows answers:\n";
  for (const HotRowsCache& cache : hotness.caches) {
    text += fmt::format("    {:>5.0f} % of the rows ({}): {:.1f} % of sampled neighbours\n",
                        100 * cache.share,
                        format_bytes(cache.bytes),
                        100 * cache.answered);
  }
  return text;
}

}  // namespace sluice
