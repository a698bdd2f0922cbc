// Training reaches what the generator says can be reached at best: multi-label.
#include "cli/trained_on_generated.h"

using namespace sluice::test;
using nlohmann::json;

TEST_CASE("multi-label classification gets every label of nearly every node right") {
  // Labels are a fixed set a class: whoever knows the class has them all, so F1 goes to 1. One
  // label in a thousand is granted.
  const json metrics = trained_on_generated(
      "node_classification",
      10,
      {{"--labels", "multi_label"}, {"--classes", "16"}, {"--features", "32"}, {"--signal", "16"}});
  MESSAGE("test F1 " << metrics.at("test.f1_micro") << ", whole sets right "
                     << metrics.at("test.accuracy"));
  CHECK(metrics.at("test.f1_micro") >= 0.999);
  CHECK(metrics.at("test.accuracy") >= 0.99);
}
