// The methods of task self_supervised, as assignments of --set over a Sandbox.
#pragma once

#include "cli/train_support.h"

#include <string>
#include <vector>

namespace sluice::test {

struct LabellessMethod {
  const char* name;
  std::vector<std::string> sets;
};

/// GraphMAE, GCMAE, GraphMAE2, DGI and BGRL over a GCN of two layers, in mini-batches.
inline std::vector<LabellessMethod> labelless_methods() {
  const std::vector<std::string> common{"task.type=self_supervised",
                                        "task.width=16",
                                        "model.type=gcn",
                                        "model.dropout=0.0",
                                        "memory.host=256MiB",
                                        "train.batch_size=200"};
  // Their decoders are one more layer of the graph.
  const std::vector<std::string> masked = with_sets(common, {"sampler.fanout=[5, 5, 5]"});
  return {{"GraphMAE", masked},
          {"GCMAE",
           with_sets(masked,
                     {"task.contrast.weight=0.3",
                      "task.contrast.nodes=128",
                      "task.adjacency.weight=0.3",
                      "task.adjacency.nodes=64",
                      "task.variance.weight=0.5"})},
          {"GraphMAE2", with_sets(masked, {"task.masked.remask=random", "task.latent.weight=0.2"})},
          {"DGI", with_sets(common, {"task.method=dgi", "model.output_activation=prelu"})},
          {"BGRL", with_sets(common, {"task.method=bgrl", "model.norm=batch"})}};
}

}  // namespace sluice::test
