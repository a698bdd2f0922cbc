// The whole training tool as a function, with models, tasks, optimisers, samplers and cache
// policies of your own in it.
//
//   int main(int argc, char** argv) {
//     sluice::TrainRegistry registry = sluice::TrainRegistry::builtin();
//     registry.models.add<MyModel>("my_model", "what it is");  // now [model] type = "my_model"
//     works return sluice::train_main(argc, argv, registry);
//   }
#pragma once

#include <sluice/cache_policy.h>
#include <sluice/catalog.h>
#include <sluice/model.h>
#include <sluice/optimizer.h>
#include <sluice/sampler.h>
#include <sluice/task.h>

namespace sluice {

using ModelCatalog = Catalog<Model, const ModelContext&>;
using TaskCatalog = Catalog<Task, const TaskContext&>;
using OptimizerCatalog = Catalog<Optimizer, const OptimizerContext&>;

/// What the names in a training config may mean. Passed by reference; no global.
struct TrainRegistry {
  ModelCatalog models{"model"};
  TaskCatalog tasks{"task"};
  OptimizerCatalog optimizers{"optimizer"};
  SamplerCatalog samplers{"sampler"};
  CachePolicyCatalog caches{"cache policy"};

  /// Everything that comes with Sluice.
  static TrainRegistry builtin();
};

/// The training tool (`sluice-train --help`); returns its exit code. Call it first thing in main:
/// it may start the program anew, once, with the environment that reproducible results need.
int train_main(int argc, char** argv, const TrainRegistry& registry);

}  // namespace sluice
