// EveryOtherSampler: the 1st, 3rd, 5th, ... in-edge of each node, hop by hop: a sampler of a user's
// own.
#pragma once

#include <sluice/options.h>
#include <sluice/sampler.h>
#include <sluice/samplers/batch_builder.h>
#include <sluice/samplers/edge_scan.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace extend {

struct EveryOtherOptions {
  std::int64_t layers = 2;

  void describe(sluice::Schema& schema);
  std::size_t num_layers() const { return static_cast<std::size_t>(layers); }
};

class EveryOtherSampler final : public sluice::Sampler {
 public:
  using Options = EveryOtherOptions;

  EveryOtherSampler(sluice::SamplerGraph graph,
                    Options options,
                    sluice::BlockParts parts,
                    sluice::RandomKey key);

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

}  // namespace extend
