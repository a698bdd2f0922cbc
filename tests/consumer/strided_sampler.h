// StridedSampler: every `stride`-th in-edge of each node, hop by hop: a sampler of one's own.
#pragma once

#include <sluice/options.h>
#include <sluice/sampler.h>
#include <sluice/samplers/batch_builder.h>
#include <sluice/samplers/edge_scan.h>

#include <cstddef>
#include <cstdint>
#include <vector>

struct StridedOptions {
  std::int64_t layers = 2;
  std::int64_t stride = 2;

  void describe(sluice::Schema& schema) {
    schema.field("layers", layers).help("hops, and layers of the network").range(1, 100);
    schema.field("stride", stride).help("one in-edge of so many").range(1, 1000);
  }
  std::size_t num_layers() const { return static_cast<std::size_t>(layers); }
};

class StridedSampler final : public sluice::Sampler {
 public:
  using Options = StridedOptions;

  StridedSampler(sluice::SamplerGraph graph,
                 Options options,
                 sluice::BlockParts parts,
                 sluice::RandomKey /*key*/);

  std::size_t num_layers() const override { return options_.num_layers(); }
  sluice::Result<sluice::Batch> sample(const sluice::SampleRequest& request,
                                       sluice::MemoryLedger* ledger) override;
  std::uint64_t workspace_bytes() const override { return sluice::workspace_of(builder_, scan_); }

 private:
  sluice::Result<sluice::Block> sample_block(const sluice::SampledRelation& relation,
                                             std::size_t num_targets,
                                             sluice::MemoryLedger* ledger);

  Options options_;
  sluice::BatchBuilder builder_;
  sluice::EdgeScan scan_;
  std::vector<std::uint64_t> targets_;
};
