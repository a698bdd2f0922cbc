#include "train/model_wants.h"

#include <sluice/models/state_model.h>
#include <sluice/nn/init.h>
#include <sluice/random.h>
#include <sluice/train.h>

#include <exception>

namespace sluice {

ModelWants wants_of_model(const RunOptions& options, const GraphSchema& schema) {
  try {
    const auto task = options.registry->tasks.create(options.task, {schema});
    const nn::ShapesAlone shapes;
    const auto model = options.registry->models.create(options.model,
                                                       {schema,
                                                        task->target_types(),
                                                        task->output_width(),
                                                        RandomKey(options.seed),
                                                        nullptr,
                                                        nullptr});
    const BatchNeeds needs = model->needs();
    ModelWants wants{{needs.feature_groups, needs.edge_feature_groups}};
    if (const StatefulModel* const stateful = stateful_model(*model))
      wants.state_columns = stateful->state_shape().columns();
    return wants;
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace sluice
