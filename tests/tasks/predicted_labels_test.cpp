// Nodes that a run before is sure of: who joins, and what they count.
#include "tasks/predicted_labels.h"

#include "models/support.h"
#include "storage/checkpoint/safetensors.h"
#include "support/expect_error.h"
#include "support/generated_dataset.h"
#include "support/temp_dir.h"

#include <sluice/dataset.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::testing;

namespace {

constexpr std::int64_t kScoredNodes = 200, kScoredClasses = 4;
constexpr double kSureScore = 3;

bool is_sure(std::uint64_t node) {
  return node % 3 != 0;
}
std::int64_t told_class(std::uint64_t node) {
  return static_cast<std::int64_t>(node * 7 % 4);
}
double sure_probability() {
  return std::exp(kSureScore) / (std::exp(kSureScore) + 3);
}

/// Every third node has the same score for all classes, the others one that stands out.
struct ScoredDataset {
  test::TempDir dir;

  ScoredDataset() {
    test::generate_dataset(dir / "x",
                           {{"--nodes", std::to_string(kScoredNodes)}, {"--edges", "1000"}});
    std::vector<float> scores(kScoredNodes * kScoredClasses);
    for (std::uint64_t node = 0; node < kScoredNodes; ++node)
      if (is_sure(node))
        scores[node * kScoredClasses + static_cast<std::size_t>(told_class(node))] =
            static_cast<float>(kSureScore);
    SafetensorsContent content;
    content.tensors.push_back({"rows", array_of(scores, {kScoredNodes, kScoredClasses})});
    (void)write_safetensors(dir / "scores.safetensors", content);
    const test::Outcome attached = test::run({test::tool("sluice-prep"),
                                              "attach",
                                              dir / "x",
                                              dir / "scores.safetensors",
                                              "--name",
                                              "scores"});
    REQUIRE_MESSAGE(attached.code == 0, attached.err);
  }
  Dataset open() const { return Dataset::open(dir / "x"); }
};

std::vector<std::uint64_t> listed(const Array& ids) {
  const auto all = ids.as<std::uint64_t>();
  return {all.begin(), all.end()};
}

}  // namespace

TEST_CASE("nodes for validation and test that a run before is sure of are trained on too") {
  const ScoredDataset scored;
  const Dataset dataset = scored.open();
  const NodeTypeSchema& node = dataset.schema().nodes[0];
  const Split split = dataset.split("default");
  const tasks::PredictedLabels sure(dataset, node, split, {"scores", 0.75, 10});
  REQUIRE(sure_probability() > 0.75);
  std::vector<std::uint64_t> joined, all = listed(split.train);
  for (const Array* part : {&split.valid, &split.test})
    std::ranges::copy_if(listed(*part), std::back_inserter(joined), is_sure);
  std::ranges::sort(joined);
  REQUIRE_FALSE(joined.empty());
  CHECK(std::vector<std::uint64_t>(sure.joined().begin(), sure.joined().end()) == joined);
  all.insert(all.end(), joined.begin(), joined.end());
  std::ranges::sort(all);
  CHECK(listed(sure.training_nodes()) == all);
  CHECK(tasks::PredictedLabels(dataset, node, split, {"scores", 0.95, 10}).joined().empty());
}

TEST_CASE("who joined counts by the class told, weight times probability; its own label nothing") {
  const ScoredDataset scored;
  const Dataset dataset = scored.open();
  const Split split = dataset.split("default");
  constexpr double kWeight = 10;
  const tasks::PredictedLabels sure(
      dataset, dataset.schema().nodes[0], split, {"scores", 0.75, kWeight});
  REQUIRE(sure.joined().size() >= 2);
  const auto train = split.train.as<std::uint64_t>();
  const std::vector<std::uint64_t> ids{train[0], sure.joined()[0], train[1], sure.joined()[1]};
  const torch::Tensor outputs = torch::tensor({{0.5f, -1.f, 2.f, 0.f},
                                               {1.f, 0.25f, -0.5f, 0.f},
                                               {3.f, 1.f, 0.f, -2.f},
                                               {0.f, 0.f, 1.f, 4.f}});
  const auto loss_with = [&](const std::vector<std::int32_t>& labels) {
    Batch batch;
    batch.queries.ids = array_of(ids);
    batch.labels = array_of(labels);
    return std::pair(sure.loss(outputs, batch).item<double>(), sure.count(batch));
  };
  const torch::Tensor logs = torch::log_softmax(outputs.to(torch::kFloat64), 1);
  const auto term = [&](std::int64_t row, std::int64_t of) {
    return -logs[row][of].item<double>();
  };
  const double told =
      kWeight * sure_probability() * (term(1, told_class(ids[1])) + term(3, told_class(ids[3])));
  const auto [loss, count] = loss_with({2, 0, 1, 0});
  CHECK(count == 4);
  CHECK(loss == doctest::Approx((term(0, 2) + term(2, 1) + told) / 4).epsilon(1e-5));
  CHECK(loss_with({2, 3, 1, -1}) == std::pair(loss, count));
  // A training node without a label does not count.
  const auto [fewer, counted] = loss_with({2, 0, -1, 0});
  CHECK(counted == 3);
  CHECK(fewer == doctest::Approx((term(0, 2) + told) / 3).epsilon(1e-5));
}

TEST_CASE("predictions that are no scores of the classes are refused") {
  const ScoredDataset scored;
  const Dataset dataset = scored.open();
  const Split split = dataset.split("default");
  for (const auto& [table, words] : std::vector<std::pair<std::string, std::string>>{
           {"guesses", "no table 'guesses'"}, {"features", "20 columns"}}) {
    CAPTURE(table);
    const Error error = test::expect_error([&] {
      const tasks::PredictedLabels made(
          dataset, dataset.schema().nodes[0], split, {table, 0.75, 10});
    });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(std::string(error.message()).find(words) != std::string::npos);
    CHECK(std::string(error.hint()).find("attach") != std::string::npos);
  }
  Selection chosen;
  const TaskCatalog tasks = builtin_tasks();
  Schema schema;
  schema.selection("task", chosen, tasks);
  Config::parse("task = { type = 'node_classification', predictions = 'scores' }", "test.toml")
      .bind(schema);
  const Error many = test::expect_error([&] {
    (void)tasks.create(chosen, {homogeneous_schema(10, 4, {LabelKind::kMultiLabel, 3})});
  });
  CHECK(many.code() == ErrorCode::kUsage);
  CHECK(std::string(many.message()).find("one class a node") != std::string::npos);
}
