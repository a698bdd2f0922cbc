#include "storage/topology/filtered_topology.h"

#include "storage/topology/resident_topology.h"

#include <algorithm>
#include <utility>

namespace sluice {

std::shared_ptr<Topology> without_edges(std::shared_ptr<Topology> base,
                                        Array positions,
                                        MemoryLedger* ledger) {
  if (positions.empty()) return base;
  RemovedPositions removed(std::move(positions));
  if (auto* const resident = dynamic_cast<ResidentTopology*>(base.get())) {
    resident->remove(std::move(removed));
    return base;
  }
  return std::make_shared<FilteredTopology>(std::move(base), std::move(removed), ledger);
}

FilteredTopology::FilteredTopology(std::shared_ptr<Topology> base,
                                   RemovedPositions removed,
                                   MemoryLedger* ledger)
    : base_(std::move(base)), removed_(std::move(removed)), ledger_(ledger) {}

Result<void> FilteredTopology::ranges(std::span<const std::uint64_t> targets,
                                      std::span<EdgeRange> out) {
  if (auto found = base_->ranges(targets, out); !found) return found;
  for (EdgeRange& range : out) {
    range.begin -= removed_.before(range.begin);
    range.end -= removed_.before(range.end);
  }
  return {};
}

Result<Array> FilteredTopology::stored_positions(std::span<const std::uint64_t> positions) const {
  auto made = Array::make(
      DType::kU64, {static_cast<std::int64_t>(positions.size())}, ledger_, "topology staging");
  if (!made) return made;
  std::ranges::transform(positions,
                         made.value().as<std::uint64_t>().begin(),
                         [&](std::uint64_t kept) { return removed_.original(kept); });
  return made;
}

Result<void> FilteredTopology::neighbours(std::span<const std::uint64_t> positions,
                                          std::span<std::uint64_t> out) {
  const auto stored = stored_positions(positions);
  if (!stored) return stored.error();
  return base_->neighbours(stored.value().as<std::uint64_t>(), out);
}

Result<void> FilteredTopology::edge_ids(std::span<const std::uint64_t> positions,
                                        std::span<std::uint64_t> out) {
  const auto stored = stored_positions(positions);
  if (!stored) return stored.error();
  return base_->edge_ids(stored.value().as<std::uint64_t>(), out);
}

}  // namespace sluice
