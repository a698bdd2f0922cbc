// The built-in models, tasks and optimisers: where their names meet their types.
#pragma once

#include <sluice/catalog.h>
#include <sluice/model.h>
#include <sluice/optimizer.h>
#include <sluice/task.h>

namespace sluice {

using ModelCatalog = Catalog<Model, const ModelContext&>;
using TaskCatalog = Catalog<Task, const TaskContext&>;
using OptimizerCatalog = Catalog<Optimizer, const OptimizerContext&>;

ModelCatalog builtin_models();
TaskCatalog builtin_tasks();
OptimizerCatalog builtin_optimizers();

}  // namespace sluice
