// FilteredTopology: a relation on disk without some of its edges. The others are counted as if
// those were not there, so that what samplers draw is what they would draw of the smaller graph in
// memory. Thread-safe as its base is.
#pragma once

#include "storage/topology/removed_positions.h"

#include <sluice/memory.h>
#include <sluice/topology.h>

#include <cstdint>
#include <memory>
#include <span>

namespace sluice {

/// `base` without the edges at `positions` (u64 [n], ascending): itself, made smaller, where it is
/// in RAM, else a FilteredTopology over it. Edge ids stay what they were.
/// @param ledger charged with "topology staging" while positions are looked up; must outlive it
std::shared_ptr<Topology> without_edges(std::shared_ptr<Topology> base,
                                        Array positions,
                                        MemoryLedger* ledger);

class FilteredTopology final : public Topology {
 public:
  FilteredTopology(std::shared_ptr<Topology> base, RemovedPositions removed, MemoryLedger* ledger);

  std::uint64_t num_sources() const override { return base_->num_sources(); }
  std::uint64_t num_targets() const override { return base_->num_targets(); }
  std::uint64_t num_edges() const override { return base_->num_edges() - removed_.all().size(); }
  Result<void> ranges(std::span<const std::uint64_t> targets, std::span<EdgeRange> out) override;
  Result<void> neighbours(std::span<const std::uint64_t> positions,
                          std::span<std::uint64_t> out) override;
  Result<void> edge_ids(std::span<const std::uint64_t> positions,
                        std::span<std::uint64_t> out) override;
  TopologyStats stats() const override { return base_->stats(); }
  Topology& stored() override { return base_->stored(); }

 private:
  Result<Array> stored_positions(std::span<const std::uint64_t> positions) const;

  std::shared_ptr<Topology> base_;
  RemovedPositions removed_;
  MemoryLedger* ledger_;
};

}  // namespace sluice
