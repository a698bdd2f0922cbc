// The whole training tool as a function, with models, tasks, optimisers, samplers and cache
// policies of your own in it.
//
//   int main(int argc, char** argv) {
//     sluice::TrainRegistry registry = sluice::TrainRegistry::builtin();
//     registry.models.add<MyModel>("my_model", "what it is");
//     return sluice::train_main(argc, argv, registry);
//   }
//
// Then [model] type = "my_model" works in a config.
#pragma once

#include <sluice/cache_policy.h>
#include <sluice/catalog.h>
#include <sluice/model.h>
#include <sluice/optimizer.h>
#include <sluice/registry.h>  // IWYU pragma: export
#include <sluice/sampler.h>
#include <sluice/sparse_optimizer.h>
#include <sluice/task.h>

namespace sluice {

using ModelCatalog = Catalog<Model, const ModelContext&>;
using TaskCatalog = Catalog<Task, const TaskContext&>;
using OptimizerCatalog = Catalog<Optimizer, const OptimizerContext&>;

/// Those that come with Sluice: new catalogs, to which entries may be added. For a loop of your
/// own: builtin_optimizers().make("adam", "lr = 0.01", {parameters}).
ModelCatalog builtin_models();
TaskCatalog builtin_tasks();
OptimizerCatalog builtin_optimizers();

/// What the names in a training config may mean. Passed by reference; no global.
struct TrainRegistry {
  ModelCatalog models{"model"};
  TaskCatalog tasks{"task"};
  OptimizerCatalog optimizers{"optimizer"};
  SamplerCatalog samplers{"sampler"};
  CachePolicyCatalog caches{"cache policy"};
  SparseOptimizerCatalog sparse_optimizers{"sparse optimizer"};  ///< of learned rows

  /// Everything that comes with Sluice.
  static TrainRegistry builtin();
};

/// What train_main does first, for a program with a loop of its own: starts the program anew, once,
/// with the environment that reproducible results and quick steps need (MKL_CBWR, GOMP_SPINCOUNT,
/// GLIBC_TUNABLES), where that is not set. Call it first thing in main.
void prepare_process(char** argv);

/// The training tool (`sluice-train --help`); returns its exit code. Call it first thing in main:
/// it may start the program anew, once, with the environment that reproducible results need.
int train_main(int argc, char** argv, const TrainRegistry& registry);

}  // namespace sluice
