// Labels without echoes: what a node's row holds of labels, its own never.
#include "prep/propagate/propagate.h"
#include "propagate_support.h"
#include "storage/format/layout.h"
#include "support/expect_error.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kLabelSeed = 23;

PropagationOptions label_options() {
  PropagationOptions options;
  options.method = PropagationMethod::kLabels;
  options.hops = 3;
  options.name = "y";
  options.node_type = "a";
  options.dtype = DType::kF32;
  options.parts = 3;
  options.seed = 5;
  return options;
}

// All label tables of the graph with these labels, by name.
std::map<std::string, Dense> label_tables(const TypedGraph& graph,
                                          const PropagationOptions& options) {
  const TempDir dir;
  graph.write(dir / "x");
  PropagationSession session;
  std::map<std::string, Dense> tables;
  const PropagationReport report = session.run(dir / "x", options);
  for (const PropagationReport::Table& table : report.tables)
    tables[table.name] = read_table(dir / "x", "a", table.name);
  return tables;
}

std::vector<double> row_of(const Dense& table, std::size_t row) {
  const auto first = table.values.begin() + static_cast<std::ptrdiff_t>(row * table.columns);
  return {first, first + static_cast<std::ptrdiff_t>(table.columns)};
}

}  // namespace

TEST_CASE("labels: the means of those of other parts, by what of them came along") {
  MESSAGE("seed " << kLabelSeed);
  const TypedGraph graph(kLabelSeed);
  const PropagationOptions options = label_options();
  const auto tables = label_tables(graph, options);
  const Dense r = graph.mean("a__r__a"), w = graph.mean("b__w__a"), wr = graph.mean("a__wr__b"),
              s = graph.mean("c__s__a"), sr = graph.mean("a__sr__c");
  const std::map<std::string, Dense> paths{{"y-a", r},
                                           {"y-a-a", r * r},
                                           {"y-b-a", w * wr},
                                           {"y-c-a", s * sr},
                                           {"y-a-a-a", r * r * r},
                                           {"y-a-b-a", r * w * wr},
                                           {"y-a-c-a", r * s * sr},
                                           {"y-b-a-a", w * wr * r},
                                           {"y-c-a-a", s * sr * r}};
  REQUIRE(tables.size() == paths.size());
  constexpr std::size_t kNone = 3;
  std::vector<std::size_t> parts(TypedGraph::kA, kNone);
  const RandomKey key = RandomKey(options.seed).with("label parts");
  for (const std::uint64_t node : graph.train)
    if (graph.labels[node] >= 0) parts[node] = key.below(3, node);
  for (const auto& [name, path] : paths) {
    CAPTURE(name);
    REQUIRE(tables.count(name) == 1);
    Dense expected(TypedGraph::kA, TypedGraph::kClasses);
    std::vector<double> masses(TypedGraph::kA);
    for (std::size_t to = 0; to < TypedGraph::kA; ++to) {
      for (std::size_t from = 0; from < TypedGraph::kA; ++from) {
        if (parts[from] == kNone || parts[from] == parts[to]) continue;
        masses[to] += path.at(to, from);
        expected.at(to, static_cast<std::size_t>(graph.labels[from])) += path.at(to, from);
      }
    }
    const double most = *std::ranges::max_element(masses);
    REQUIRE(most > 0);
    for (std::size_t row = 0; row < TypedGraph::kA; ++row)
      for (std::size_t c = 0; c < TypedGraph::kClasses; ++c)
        expected.at(row, c) *= masses[row] > 0 ? most / masses[row] : 0;
    CHECK(worst(tables.at(name), expected, expected, 32 * 0x1p-24) <= 1);
  }
}

TEST_CASE("no node's own label reaches its row, and none that is not for training reaches any") {
  const TypedGraph graph(kLabelSeed);
  for (const unsigned parts : {1u, 2u, 4u}) {
    CAPTURE(parts);
    PropagationOptions options = label_options();
    options.parts = parts;
    const auto before = label_tables(graph, options);
    TypedGraph others = graph;
    for (const auto* kept : {&graph.valid, &graph.rest})
      for (const std::uint64_t node : *kept)
        others.labels[node] = (graph.labels[node] + 1) % static_cast<int>(TypedGraph::kClasses);
    for (const auto& [name, table] : label_tables(others, options)) {
      CAPTURE(name);
      CHECK(table.values == before.at(name).values);
    }
    std::size_t reached = 0, tried = 0;
    for (const std::uint64_t node : graph.train) {
      if (graph.labels[node] < 0 || ++tried > 4) continue;
      CAPTURE(node);
      TypedGraph turned = graph;
      turned.labels[node] = (graph.labels[node] + 1) % static_cast<int>(TypedGraph::kClasses);
      for (const auto& [name, table] : label_tables(turned, options)) {
        CAPTURE(name);
        CHECK(row_of(table, node) == row_of(before.at(name), node));
        if (table.values != before.at(name).values) ++reached;
      }
    }
    CHECK(reached > 0);  // others' rows do hold it
  }
}

TEST_CASE("a split that trains on a node that is not there is refused, and its file named") {
  TypedGraph graph(kLabelSeed);
  graph.split_bound = TypedGraph::kA + 1;
  graph.train.push_back(TypedGraph::kA);
  const TempDir dir;
  graph.write(dir / "x");
  PropagationSession session;
  const Error error = expect_error([&] { (void)session.run(dir / "x", label_options()); });
  CHECK(error.code() == ErrorCode::kData);
  CHECK(error.message() == "split 'default' trains on node 60 of 60");
  CHECK(error.place().file.find(split_path("default", "train")) != std::string::npos);
  CHECK(session.ledger.used() == 0);
}
