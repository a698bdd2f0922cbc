// The samplers' options as keys of a config: names, ranges, and what a resolved dump shows.
#include "samplers/cluster_sampler.h"
#include "samplers/ladies_sampler.h"
#include "samplers/random_walk_sampler.h"
#include "samplers/subgraph_sampler.h"

#include "support/expect_error.h"

#include <sluice/samplers/negative_sampler.h>

#include <doctest/doctest.h>

namespace sluice {
namespace {

template <class Options>
Options bound(const std::string& toml) {
  Options options;
  Config::parse(toml, "test.toml").bind_to(options);
  return options;
}

template <class Options>
void check_refused(const std::string& toml, const std::string& key) {
  const auto error = test::expect_error([&] { (void)bound<Options>(toml); });
  CHECK(error.code() == ErrorCode::kUsage);
  const std::string text = error.what() + error.hint();  // the nearest key is in the hint
  CHECK(text.find(key) != std::string::npos);
}

TEST_CASE("options bind by their keys") {
  const auto subgraph = bound<SubgraphSamplerOptions>("fanout = [7, -1]\nlayers = 5");
  CHECK(subgraph.fanout == std::vector<std::int64_t>{7, -1});
  CHECK(subgraph.layers == 5);
  CHECK(bound<LadiesSamplerOptions>("nodes = [64, 32]").nodes == std::vector<std::int64_t>{64, 32});
  const auto walk =
      bound<RandomWalkSamplerOptions>("length = 9\nwalks = 3\np = 0.5\nq = 2.0\nlayers = 4");
  CHECK(walk.walk.length == 9);
  CHECK(walk.walk.walks == 3);
  CHECK(walk.walk.p == 0.5);
  CHECK(walk.walk.q == 2);
  CHECK(walk.layers == 4);
  const auto cluster = bound<ClusterSamplerOptions>("clusters = 12\nlayers = 3");
  CHECK(cluster.clusters == 12);
  CHECK(cluster.layers == 3);
  const auto negatives = bound<NegativeSamplerOptions>("count = 8\nfiltered = true\ntries = 3");
  CHECK(negatives.count == 8);
  CHECK(negatives.filtered);
  CHECK(negatives.tries == 3);
}

TEST_CASE("values out of range and unknown keys are refused by name") {
  check_refused<SubgraphSamplerOptions>("fanout = [-2]", "fanout");
  check_refused<LadiesSamplerOptions>("nodes = [-1]", "nodes");
  check_refused<LadiesSamplerOptions>("node = [3]", "nodes");
  check_refused<RandomWalkSamplerOptions>("p = 0.0", "p");
  check_refused<RandomWalkSamplerOptions>("length = 0", "length");
  check_refused<ClusterSamplerOptions>("clusters = 0", "clusters");
  check_refused<NegativeSamplerOptions>("tries = 0", "tries");
}

TEST_CASE("a dump binds back to the same values") {
  RandomWalkSamplerOptions options{{.length = 7, .walks = 2, .p = 0.25, .q = 4}, 3};
  Schema schema;
  options.describe(schema);
  const auto back = bound<RandomWalkSamplerOptions>(schema.dump());
  CHECK(back.walk.length == 7);
  CHECK(back.walk.q == 4);
  CHECK(back.layers == 3);
}

}  // namespace
}  // namespace sluice
