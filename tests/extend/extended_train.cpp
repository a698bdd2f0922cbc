// The training tool with more in it than comes with Sluice. Nothing of Sluice itself is changed.
#include "every_other_sampler.h"
#include "least_used_policy.h"
#include "margin_classification.h"

#include <sluice/train.h>

int main(int argc, char** argv) {
  sluice::TrainRegistry registry = sluice::TrainRegistry::builtin();
  registry.samplers.add<sluice::SamplerKind<extend::EveryOtherSampler>>(
      "every_other", "every other in-edge of each node");
  registry.tasks.add<extend::MarginClassification>(
      "margin_classification", "one class a node, by margins, over nodes drawn with repeats");
  registry.caches.add<sluice::CachePolicyOf<extend::LeastUsedPolicy>>(
      "least_used", "the row that the fewest windows asked for gives way");
  return sluice::train_main(argc, argv, registry);
}
