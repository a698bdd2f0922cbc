// Training reaches what the generator says can be reached at best: regression.
#include "cli/trained_on_generated.h"

#include <cmath>

using namespace sluice::test;
using nlohmann::json;

TEST_CASE("regression comes down to the noise of the targets, and not below it") {
  // A target is a value of the class plus noise of deviation 0.3 that nothing tells of: no model's
  // expected squared error is below 0.09, and one that knows the class reaches it. Over n tested
  // nodes the mean of the squared noise itself deviates by 1.3 / sqrt(n) of it (its fourth moment
  // is 2.7: a sum of four uniforms); four times that is granted either way, and above it 10 % for
  // what is left to learn.
  constexpr double kNoise = 0.3;
  const double spread = 4 * 1.3 / std::sqrt(kGeneratedNodes * kTestedShare);
  const json metrics = trained_on_generated("regression",
                                            40,
                                            {{"--labels", "regression"},
                                             {"--target-noise", std::to_string(kNoise)},
                                             {"--classes", "4"},
                                             {"--features", "8"},
                                             {"--signal", "8"}});
  const double error = metrics.at("test.mse").get<double>();
  MESSAGE("test error " << error << ", " << error / (kNoise * kNoise) << " of the noise");
  CHECK(error <= kNoise * kNoise * (1.1 + spread));
  CHECK(error >= kNoise * kNoise * (1 - spread));  // below: the model has seen the answers
}
