// A product over lists that name rows that are not there: the error is the same for all threads.
#include "prep/propagate/panel_product.h"
#include "propagate_support.h"
#include "support/expect_error.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

TEST_CASE("a product names the least neighbour that is no row, by any number of threads") {
  constexpr std::uint64_t kSeed = 31, kRows = 10;
  MESSAGE("seed " << kSeed);
  const TypedGraph graph(kSeed);
  const TempDir dir;
  graph.write(dir / "x");
  std::uint64_t least = TypedGraph::kA;
  for (const auto& [source, target] : graph.edges.at("a__r__a"))
    if (source >= kRows) least = std::min(least, source);
  REQUIRE(least < TypedGraph::kA);
  const Manifest manifest = Manifest::load(dir / "x").or_throw();
  const auto& relations = manifest.schema.relations;
  const auto relation = std::ranges::find(
      relations, std::string("a__r__a"), [](const RelationSchema& each) { return each.key(); });
  REQUIRE(relation != relations.end());
  const EdgeOperator op{
      static_cast<std::size_t>(relation - relations.begin()), Along::kEdges, 0, 0};
  const std::vector<float> values(kRows, 1.0f);
  const PanelView rows{std::as_bytes(std::span(values)), DType::kF32, kRows, 1};
  for (const int threads : {1, 2, 4}) {
    CAPTURE(threads);
    PropagationSession session(threads);
    PanelProduct product(DType::kF32, std::uint64_t{1} << 20, 1, session.context);
    EdgeSweep edges(dir / "x", manifest, op, product.max_rows(), session.ledger);
    const Error error = expect_error(
        [&] { product.multiply(rows, {}, edges, "p", [](std::uint64_t, const auto&) {}); });
    CHECK(error.code() == ErrorCode::kData);
    CHECK(error.message() == "p: a neighbour is node " + std::to_string(least) + " of 10");
  }
}
