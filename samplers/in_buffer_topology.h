// InBufferTopology: a topology as seen from the partitions that are in memory: of a node's in-edges
// those whose sources are there, in their order, as if the others did not exist.
//
// ranges() looks through the whole lists of the nodes it is asked for, a bounded piece at a time,
// and keeps what is there: position n is the n-th edge that was kept since begin(). So what is
// drawn is drawn among resident sources: as many as the fanout where there are as many. Memory: 16
// bytes an edge kept. One for each sampler: not thread-safe.
#pragma once

#include <sluice/memory.h>
#include <sluice/samplers/charged_buffer.h>
#include <sluice/topology.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

class InBufferTopology final : public Topology {
 public:
  /// @param each sources of a partition, but the last
  InBufferTopology(std::shared_ptr<Topology> base, std::uint64_t each);

  /// A mini-batch whose resident partitions these are, which are all of them where there are none;
  /// positions given before are void. Scratch is charged to `ledger` as "sampler workspace".
  /// @param here by partition, whether it is there; must stay until the next begin()
  void begin(const std::vector<std::uint8_t>& here, MemoryLedger* ledger);

  std::uint64_t num_sources() const override { return base_->num_sources(); }
  std::uint64_t num_targets() const override { return base_->num_targets(); }
  /// Of all sources.
  std::uint64_t num_edges() const override { return base_->num_edges(); }
  Result<void> ranges(std::span<const std::uint64_t> targets, std::span<EdgeRange> out) override;
  /// Of all sources: degrees are those of the graph.
  Result<void> whole_ranges(std::span<const std::uint64_t> targets,
                            std::span<EdgeRange> out) override {
    return base_->whole_ranges(targets, out);
  }
  Result<void> neighbours(std::span<const std::uint64_t> positions,
                          std::span<std::uint64_t> out) override;
  Result<void> edge_ids(std::span<const std::uint64_t> positions,
                        std::span<std::uint64_t> out) override;
  TopologyStats stats() const override { return base_->stats(); }
  /// Its own.
  std::uint64_t workspace_bytes() const override {
    return workspace_of(lists_, positions_, sources_, asked_);
  }
  Topology& stored() override { return base_->stored(); }

 private:
  // The next edge to be looked at: a list, and how many of its edges are behind.
  struct Place {
    std::size_t list = 0;
    std::uint64_t behind = 0;
  };

  bool is_here(std::uint64_t source) const {
    const std::uint64_t partition = source / each_;
    return here_ == nullptr || here_->empty() || (*here_)[partition] != 0;
  }
  template <class Use>
  Place for_each_stretch(Place place, Use use) const;
  Result<Place> look(Place from, std::span<EdgeRange> out);

  std::shared_ptr<Topology> base_;
  std::uint64_t each_;
  const std::vector<std::uint8_t>* here_ = nullptr;
  MemoryLedger* ledger_ = nullptr;
  std::size_t num_lists_ = 0;
  ChargedBuffer<EdgeRange> lists_;  // where those that are looked through are in the base
  std::size_t kept_ = 0;
  ChargedBuffer<std::uint64_t> positions_, sources_;  // of edges kept: in the base; who is there
  ChargedBuffer<std::uint64_t> asked_;                // positions in the base, of one call
};

}  // namespace sluice
