// Labels and predictions of a model of before along the edges: against dense products in f64.
#include "attached_support.h"
#include "prep/propagate/propagate.h"
#include "support/expect_error.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kPredictedSeed = 37;
constexpr std::size_t kPredictedParts = 3;

PropagationOptions predicted_options() {
  PropagationOptions options;
  options.method = PropagationMethod::kLabels;
  options.hops = 2;
  options.name = "y";
  options.node_type = "a";
  options.dtype = DType::kF32;
  options.parts = kPredictedParts;
  options.seed = 8;
  options.predictions = "scores";
  return options;
}

std::vector<float> scores_of_nodes() {
  std::vector<float> scores;
  for (std::uint64_t row = 0; row < TypedGraph::kA; ++row)
    for (std::uint32_t column = 0; column < TypedGraph::kClasses; ++column)
      scores.push_back(2 * TypedGraph::value("scores", row, column));
  return scores;
}

void attach_scores(const TempDir& dir, const std::vector<float>& scores) {
  write_embedded(dir / "s.safetensors", scores, TypedGraph::kClasses);
  PropagationSession session;
  (void)attach_table(attach_options(dir / "x", dir / "s.safetensors"), session.context);
}

// What each node shows: the class that it is trained by, or the softmax of its scores.
Dense shown_of(const TypedGraph& graph, const std::vector<float>& scores) {
  constexpr std::size_t kClasses = TypedGraph::kClasses;
  Dense shown(TypedGraph::kA, kClasses);
  for (std::size_t node = 0; node < TypedGraph::kA; ++node) {
    if (graph.labels[node] >= 0 && std::ranges::count(graph.train, node) != 0) {
      shown.at(node, static_cast<std::size_t>(graph.labels[node])) = 1;
      continue;
    }
    double sum = 0;
    for (std::size_t c = 0; c < kClasses; ++c) {
      shown.at(node, c) = std::exp(static_cast<double>(scores[node * kClasses + c]));
      sum += shown.at(node, c);
    }
    for (std::size_t c = 0; c < kClasses; ++c) shown.at(node, c) /= sum;
  }
  return shown;
}

}  // namespace

TEST_CASE("predictions go along with labels, each node's own never back to it") {
  MESSAGE("seed " << kPredictedSeed);
  const TypedGraph graph(kPredictedSeed);
  const TempDir dir;
  graph.write(dir / "x");
  const std::vector<float> scores = scores_of_nodes();
  attach_scores(dir, scores);
  const PropagationOptions options = predicted_options();
  PropagationSession session;
  const PropagationReport report = session.run(dir / "x", options);
  CHECK(session.ledger.used() == 0);
  const Dense r = graph.mean("a__r__a"), w = graph.mean("b__w__a"), wr = graph.mean("a__wr__b"),
              s = graph.mean("c__s__a"), sr = graph.mean("a__sr__c");
  const std::map<std::string, Dense> paths{
      {"y-a", r}, {"y-a-a", r * r}, {"y-b-a", w * wr}, {"y-c-a", s * sr}};
  REQUIRE(report.tables.size() == paths.size());
  const Dense shown = shown_of(graph, scores);
  const RandomKey key = RandomKey(options.seed).with("label parts");
  for (const auto& [name, path] : paths) {
    CAPTURE(name);
    Dense expected(TypedGraph::kA, TypedGraph::kClasses);
    std::vector<double> masses(TypedGraph::kA);
    for (std::size_t to = 0; to < TypedGraph::kA; ++to) {
      for (std::size_t from = 0; from < TypedGraph::kA; ++from) {
        if (key.below(kPredictedParts, from) == key.below(kPredictedParts, to)) continue;
        masses[to] += path.at(to, from);
        for (std::size_t c = 0; c < TypedGraph::kClasses; ++c)
          expected.at(to, c) += path.at(to, from) * shown.at(from, c);
      }
    }
    const double most = *std::ranges::max_element(masses);
    REQUIRE(most > 0);
    for (std::size_t row = 0; row < TypedGraph::kA; ++row)
      for (std::size_t c = 0; c < TypedGraph::kClasses; ++c)
        expected.at(row, c) *= masses[row] > 0 ? most / masses[row] : 0;
    // Probabilities are f16 on their way.
    CHECK(worst(read_table(dir / "x", "a", name), expected, expected, 1.5 * 0x1p-11) <= 1);
  }
}

TEST_CASE("propagated predictions are the same bytes for any threads and panels") {
  const TypedGraph graph(kPredictedSeed);
  std::map<std::string, std::string> first;
  for (const auto& [threads, panel] : std::vector<std::pair<int, std::uint32_t>>{{1, 0}, {3, 4}}) {
    CAPTURE(panel);
    const TempDir dir;
    graph.write(dir / "x");
    attach_scores(dir, scores_of_nodes());
    PropagationSession session(threads);
    PropagationOptions options = predicted_options();
    options.panel = panel;
    for (const PropagationReport::Table& table : session.run(dir / "x", options).tables) {
      const std::string bytes = read_all(dir / "x/nodes/a" / (table.name + ".bin"));
      CHECK(first.emplace(table.name, bytes).first->second == bytes);
    }
  }
  CHECK(first.size() == 4);
}

TEST_CASE("predictions that cannot be meant are refused") {
  const TypedGraph graph(kPredictedSeed);
  const TempDir dir;
  graph.write(dir / "x");
  PropagationSession session;
  PropagationOptions options = predicted_options();
  const Error missing = expect_error([&] { (void)session.run(dir / "x", options); });
  CHECK(missing.code() == ErrorCode::kUsage);
  CHECK(std::string(missing.message()).find("no table 'scores'") != std::string::npos);
  CHECK(std::string(missing.hint()).find("attach") != std::string::npos);
  options.predictions = "features";
  const Error columns = expect_error([&] { (void)session.run(dir / "x", options); });
  CHECK(columns.code() == ErrorCode::kUsage);
  CHECK(std::string(columns.message()).find("7 columns, and 'a' 4 classes") != std::string::npos);
}
