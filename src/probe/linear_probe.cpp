#include "probe/probe.h"

namespace sluice::probe {

void LinearProbeOptions::describe(Schema& schema) {
  schema.field("epochs", epochs)
      .help("steps of the linear probe, each over all training rows")
      .range(1, 1e6);
  schema.field("learning_rate", learning_rate).help("of the linear probe, by Adam").range(0, 100);
  schema.field("weight_decay", weight_decay)
      .help("of the linear probe's weights: added to their gradient")
      .range(0, 100);
}

}  // namespace sluice::probe
