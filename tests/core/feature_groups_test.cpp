#include "core/feature_groups.h"

#include <doctest/doctest.h>

using namespace sluice;

namespace {

GraphSchema papers_and_authors() {
  GraphSchema schema;
  NodeTypeSchema paper, author;
  paper.name = "paper";
  paper.features = {{"text", DType::kF16, 100, 8}, {"place", DType::kF32, 100, 2}};
  author.name = "author";
  author.features = {{"place", DType::kF32, 50, 2}};
  schema.nodes = {paper, author};
  RelationSchema writes;
  writes.features = {{"share", DType::kF32, 300, 1}};
  schema.relations = {writes};
  return schema;
}

}  // namespace

TEST_CASE("groups of features are found by name, and an empty name is the first of each type") {
  const GraphSchema schema = papers_and_authors();
  const auto names = [&](const FeatureGroups& groups) {
    std::vector<std::string> all;
    for (const FeatureSchema* table : wanted_features(schema, groups)) all.push_back(table->name);
    return all;
  };
  CHECK(names({}) == std::vector<std::string>{"text", "place"});
  CHECK(names({{"", "place"}, {}}) == std::vector<std::string>{"text", "place", "place", "place"});
  CHECK(names({{"text"}, {"share"}}) == std::vector<std::string>{"text", "share"});
  CHECK(names({{}, {}}).empty());
  CHECK(find_group(schema.nodes[1].features, "text") == nullptr);
  CHECK(find_group({}, "") == nullptr);
}
