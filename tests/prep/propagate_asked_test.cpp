// What propagation says of graphs that lack what it was asked to go by.
#include "prep/propagate/propagate.h"
#include "prep/propagate/propagation_plan.h"
#include "propagate_support.h"
#include "storage/format/manifest.h"
#include "support/expect_error.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kAskedSeed = 17;

PropagationOptions asked_options(PropagationMethod method) {
  PropagationOptions options;
  options.method = method;
  options.hops = 1;
  options.name = "p";
  options.node_type = "a";
  return options;
}

}  // namespace

TEST_CASE("types whose tables have other names are said to be passed over") {
  const TypedGraph graph(kAskedSeed);
  const TempDir dir;
  graph.write(dir / "x");
  GraphSchema schema = Manifest::load(dir / "x").or_throw().schema;
  const auto warned = [&schema](PropagationMethod method) {
    return plan_trees(schema, asked_options(method)).warnings;
  };
  CHECK(warned(PropagationMethod::kMetapaths).empty());  // c has no tables at all
  CHECK(warned(PropagationMethod::kRandomProjection).empty());
  schema.nodes[1].features.front().name = "profile";
  const std::string other =
      "node type 'b' has no feature table 'features', only others: it begins ";
  CHECK(warned(PropagationMethod::kMetapaths) == std::vector<std::string>{other + "no path"});
  CHECK(warned(PropagationMethod::kRandomProjection) ==
        std::vector<std::string>{other + "with random rows"});
  CHECK(warned(PropagationMethod::kSgc).empty());
  // Where no type has features random rows are meant, also beside tables made of them.
  schema.nodes[0].features.front().name = "projected-1-b-odd";
  CHECK(warned(PropagationMethod::kRandomProjection).size() == 2);
}

TEST_CASE("a relation of sgc and sign is said by its key or its name") {
  TypedGraph graph(kAskedSeed);
  graph.edges["a__q__a"] = {{0, 1}};
  const TempDir dir;
  graph.write(dir / "x");
  const GraphSchema schema = Manifest::load(dir / "x").or_throw().schema;
  PropagationOptions options = asked_options(PropagationMethod::kSgc);
  const auto taken = [&](const char* relation) {
    options.relation = relation;
    const PropagationPlan plan = plan_trees(schema, options);
    return schema.relations[plan.rounds.front().front().tree.products.front().op.relation].name;
  };
  CHECK(taken("q") == "q");
  CHECK(taken("r") == "r");
  CHECK(taken("a__r__a") == "r");
  CHECK_THROWS_AS(taken("w"), Error);  // from another type
}

TEST_CASE("a way back that is not clear is refused by what there is") {
  TypedGraph graph(kAskedSeed);
  const TempDir dir;
  PropagationSession session;
  const auto refused = [&] {
    graph.write(dir / "x");
    return expect_error([&] {
      (void)plan_propagation(
          dir / "x", asked_options(PropagationMethod::kRandomProjection), session.context);
    });
  };
  graph.edges["b__q__a"] = {{0, 1}};
  const Error several = refused();
  CHECK(several.message() ==
        "the way back along relation 'b__q__a' is not clear: it has no out-edges, 2 relations go "
        "from 'b' to 'a', and 1 from 'a' to 'b'");
  CHECK(several.hint() == "import the graph with out_edges = true");
  graph.edges.erase("b__q__a");
  graph.edges.erase("a__wr__b");
  const Error none = refused();
  CHECK(none.message() ==
        "there is no way back along relation 'b__w__a': it has no out-edges, and no relation goes "
        "from 'a' to 'b'");
  CHECK(none.hint().find("a reverse") != std::string::npos);
}
