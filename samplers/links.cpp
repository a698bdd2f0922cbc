#include <sluice/samplers/links.h>

#include <algorithm>

namespace sluice {

Result<void> RelationLinks::find(std::span<const std::uint64_t> numbers, const Ends& out) const {
  if (auto found = topology_->neighbours(numbers, out.sources); !found) return found;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    auto target = target_of(numbers[i]);
    if (!target) return std::move(target).error();
    out.targets[i] = target.value();
  }
  std::ranges::fill(out.truth, std::uint8_t{1});
  return out.ids.empty() ? Result<void>() : topology_->edge_ids(numbers, out.ids);
}

// The node whose in-edges the position is among: found by halving, for offsets are in memory.
Result<std::uint64_t> RelationLinks::target_of(std::uint64_t position) const {
  if (const CscView* const csc = topology_->resident()) {
    const auto above = std::ranges::upper_bound(csc->offsets, position);
    return csc->target_of(static_cast<std::size_t>(above - csc->offsets.begin()) - 1);
  }
  std::uint64_t low = 0, high = topology_->num_targets();  // it is in [low, high)
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    EdgeRange range;
    if (auto found = topology_->ranges({&middle, 1}, {&range, 1}); !found)
      return std::move(found).error();
    (range.begin <= position ? low : high) = middle;
  }
  return low;
}

Result<void> ListedLinks::find(std::span<const std::uint64_t> numbers, const Ends& out) const {
  const auto take = [&]<class T>(const Array& from, std::span<T> to) {
    if (to.empty()) return;
    const auto all = from.as<T>();
    std::ranges::transform(numbers, to.begin(), [&](std::uint64_t number) { return all[number]; });
  };
  take(links_.sources, out.sources);
  take(links_.targets, out.targets);
  if (have_ids()) take(links_.ids, out.ids);
  if (have_times()) take(links_.times, out.times);
  if (have_truth()) {
    take(links_.truth, out.truth);
  } else {
    std::ranges::fill(out.truth, std::uint8_t{1});
  }
  return {};
}

}  // namespace sluice
