// The linear probe with what it says of each node: accuracy by group of nodes is made from that.
#pragma once

#include "probe/probe.h"

#include <torch/torch.h>

namespace sluice::probe {

struct ProbedNodes {
  ProbeScores scores;
  torch::Tensor trained;  ///< i64: the labelled rows of the training part
  torch::Tensor tested;   ///< i64 [m]: the labelled rows of the test part
  torch::Tensor right;    ///< bool [m]: whether each was classified rightly
};

/// linear_probe(), and each test node's outcome.
ProbedNodes probe_nodes(const torch::Tensor& rows,
                        const torch::Tensor& labels,
                        const NodeParts& parts,
                        const LinearProbeOptions& options,
                        RandomKey key);

}  // namespace sluice::probe
