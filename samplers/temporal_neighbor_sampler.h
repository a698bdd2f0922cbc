// TemporalNeighborSampler: nodes at times become blocks: hop by hop, events of before each row's
// time, by TemporalSampler, over all relations of the graph.
//
// A hop asks all rows listed so far, the seeds among them again, as NeighborSampler does: so a
// layer's targets are the first rows of its sources. A source is a node at the time of the edge it
// was met by, and what is met from there was before. A block has the differences in time
// (Block::deltas) and a node's row its time (BatchNodes::times). Edges and times are in RAM, or
// on disk (TemporalSource). Method "temporal" of the registry; used by one thread.
#pragma once

#include "samplers/temporal_sampler.h"
#include "samplers/timed_node_table.h"

#include <sluice/sampler.h>
#include <sluice/samplers/charged_buffer.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace sluice {

class TemporalNeighborSampler final : public Sampler {
 public:
  using Options = TemporalSamplerOptions;

  /// @param key of the run's seed. Throws kUsage for options out of range, a relation without
  /// times, and visibility by events where edges have no ids.
  TemporalNeighborSampler(SamplerGraph graph, Options options, BlockParts parts, RandomKey key);

  std::size_t num_layers() const override { return options_.count.size(); }
  Result<Batch> sample(const SampleRequest& request, MemoryLedger* ledger) override;
  std::uint64_t workspace_bytes() const override {
    return workspace_of(tables_,
                        workspace_.counts,
                        workspace_.neighbours,
                        workspace_.edge_ids,
                        workspace_.times,
                        workspace_.deltas);
  }

 private:
  // A relation at one hop. What `lagging` says of seeds is not what holds for rows that were met:
  // these see what was before their own time.
  struct Hop {
    TemporalSampler seeds;
    TemporalSampler met;
  };
  struct Relation {
    std::size_t source_type = 0;
    std::size_t target_type = 0;
    std::shared_ptr<const TemporalSource> events;
    std::vector<Hop> hops;
  };
  // Rows of a hop's answers, as long as its targets times its count.
  struct Workspace {
    ChargedBuffer<std::int32_t> counts;
    ChargedBuffer<std::uint64_t> neighbours;
    ChargedBuffer<std::uint64_t> edge_ids;
    ChargedBuffer<std::int64_t> times;
    ChargedBuffer<std::int64_t> deltas;
  };

  Result<Batch> sample_whole(const SampleRequest& request);
  Result<void> list_seeds(const SampleRequest& request, Batch& batch);
  Result<void> list_seeds(const SampleRequest& request, std::size_t type, Batch& batch);
  Result<void> sample_layer(const SampleRequest& request, std::size_t layer, Batch& batch);
  Result<Block> sample_block(const SampleRequest& request,
                             std::size_t relation,
                             std::size_t hop,
                             std::size_t targets);
  Result<TemporalRows> fill(const SampleRequest& request,
                            const Hop& hop,
                            std::size_t relation,
                            std::size_t targets);
  Result<Block> take(const TemporalRows& rows, std::size_t relation, std::size_t count);
  Result<void> finish(Batch& batch);
  Result<void> count_degrees(std::size_t type, BatchNodes& of_type);
  void note_sizes(Batch& batch, std::size_t boundary) const;

  SamplerGraph graph_;
  Options options_;
  BlockParts parts_;
  std::vector<Relation> relations_;
  std::vector<TimedNodeTable> tables_;  // by node type
  Workspace workspace_;
  MemoryLedger* ledger_ = nullptr;
};

}  // namespace sluice
