// InBufferSampler: mini-batches of training by partitions, whose neighbours are drawn among the
// nodes of partitions that are in memory (in-buffer sampling: Marius and MariusGNN, Waleffe et al.,
// EuroSys 2023).
//
// Another sampler draws, over topologies that show edges from resident sources alone
// (InBufferTopology). Types of nodes that are not divided are read whole. Approximate: a node's
// neighbours elsewhere are not seen, so its mean is of others from state to state; nodes with no
// resident neighbour have none. A mini-batch is a function of (seed, epoch, index) still: which
// partitions are there is the tour's to say. Evaluation has no use of it.
//
// Cost: the whole lists of the nodes that draw are looked at, 16 bytes kept an edge among resident
// nodes.
#pragma once

#include "samplers/bucket_tour.h"

#include <sluice/sampler.h>

#include <memory>
#include <string_view>
#include <vector>

namespace sluice {

/// How nodes are divided, and which of them are there when.
struct InBufferNodes {
  std::vector<NodeDivision> types;  ///< by node type; of 0 nodes: it is not divided
  /// Null: all partitions are there, as a run is measured: mini-batches are those of the sampler
  /// by itself then.
  std::shared_ptr<const BucketTour> tour = nullptr;
};

class InBufferMethod final : public SamplerMethod {
 public:
  /// Whether a sampler may draw in the buffer: it looks at Topology::ranges() alone, and no
  /// snapshot cache stands before these.
  static bool serves(const SamplerMethod& method);

  /// @param method must be one that it serves
  InBufferMethod(std::shared_ptr<const SamplerMethod> method, InBufferNodes nodes);

  std::size_t num_layers() const override { return method_->num_layers(); }
  std::string_view visibility() const override { return method_->visibility(); }
  std::unique_ptr<Sampler> make(const SamplerGraph& graph,
                                const BlockParts& parts,
                                RandomKey key) const override;

 private:
  std::shared_ptr<const SamplerMethod> method_;
  std::shared_ptr<const InBufferNodes> nodes_;  // samplers share them
};

}  // namespace sluice
