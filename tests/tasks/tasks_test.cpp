// Losses and metrics on small cases worked out by hand.
#include "models/support.h"
#include "support/expect_error.h"

#include <sluice/tasks/classification_metrics.h>

#include <cmath>
#include <limits>

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

namespace {

const float kNan = std::numeric_limits<float>::quiet_NaN();

std::unique_ptr<tasks::NodeTask> make_task(const std::string& type, const LabelSchema& labels) {
  auto task = builtin_tasks().create({type, nullptr}, {homogeneous_schema(10, 4, labels)});
  return std::unique_ptr<tasks::NodeTask>(&dynamic_cast<tasks::NodeTask&>(*task.release()));
}

Batch with_labels(Array labels) {
  Batch batch;
  batch.labels = std::move(labels);
  return batch;
}

/// Metrics do not depend on how the rows come in, so they come in two batches.
std::map<std::string, double> measure(const Task& task,
                                      const Tensor& first,
                                      const Batch& first_batch,
                                      const Tensor& second,
                                      const Batch& second_batch) {
  const auto metrics = task.make_metrics(), reversed = task.make_metrics();
  metrics->add(first, first_batch);
  metrics->add(second, second_batch);
  reversed->add(second, second_batch);
  reversed->add(first, first_batch);
  for (const auto& [name, value] : metrics->result()) {
    CHECK(reversed->result().at(name) == doctest::Approx(value).epsilon(1e-12));
  }
  return metrics->result();
}

}  // namespace

TEST_CASE("one class a node: loss and metrics leave missing labels out") {
  const auto task = make_task("node_classification", {LabelKind::kClass, 4});
  CHECK(task->output_width() == 4);
  CHECK(task->main_metric() == "accuracy");
  CHECK(task->direction("accuracy") == Better::kHigher);
  CHECK(task->direction("loss") == Better::kLower);

  // Truth 0 0 1 2, predicted 0 1 1 0; class 3 never occurs.
  const Tensor first = torch::tensor({{3.f, 0.f, 0.f, 0.f}, {0.f, 3.f, 0.f, 0.f}});
  const Tensor second =
      torch::tensor({{0.f, 3.f, 0.f, 0.f}, {9.f, 9.f, 9.f, 9.f}, {3.f, 0.f, 0.f, 0.f}});
  const Batch first_batch = with_labels(array_of<std::int32_t>({0, 0}));
  const Batch second_batch = with_labels(array_of<std::int32_t>({1, -1, 2}));
  const auto metrics = measure(*task, first, first_batch, second, second_batch);
  const double sum = std::log(std::exp(3.0) + 3);
  CHECK(metrics.at("accuracy") == 0.5);
  CHECK(metrics.at("f1_micro") == 0.5);
  CHECK(metrics.at("f1_macro") == doctest::Approx((0.5 + 2.0 / 3 + 0) / 3));
  CHECK(metrics.at("loss") == doctest::Approx((2 * (sum - 3) + 2 * sum) / 4));
  CHECK(task->loss(second, second_batch).item<double>() ==
        doctest::Approx(((sum - 3) + sum) / 2).epsilon(1e-6));
  CHECK(torch::equal(task->predict(first), torch::tensor({{0}, {1}})));
  CHECK(task->prediction_columns() == std::vector<std::string>{"class"});
}

TEST_CASE("a batch without labels has no loss, no gradient and no figures") {
  const auto classes = make_task("node_classification", {LabelKind::kClass, 2});
  const auto targets = make_task("regression", {LabelKind::kRegression, 2});
  const Tensor outputs = torch::tensor({{1.f, -2.f}, {3.f, 0.5f}});
  for (tasks::NodeTask* task : {classes.get(), targets.get()}) {
    const bool is_class = task == classes.get();
    const Batch batch = with_labels(is_class ? array_of<std::int32_t>({-1, -1})
                                             : array_of<float>({kNan, kNan, kNan, kNan}, {2, 2}));
    const Tensor leaf = outputs.clone().requires_grad_();
    const Tensor loss = task->loss(leaf, batch);
    loss.backward();
    CHECK(loss.item<double>() == 0);
    CHECK(leaf.grad().eq(0).all().item<bool>());
    const auto metrics = task->make_metrics();
    metrics->add(outputs, batch);
    for (const auto& [name, value] : metrics->result()) CHECK(std::isnan(value));
    CHECK(task->num_labelled(batch) == 0);
  }
}

TEST_CASE(
    "an output that is not finite leaves no figure where it has a label, and none is spoilt else") {
  const float inf = std::numeric_limits<float>::infinity();
  const auto classes = make_task("node_classification", {LabelKind::kClass, 2});
  const auto bits = make_task("node_classification", {LabelKind::kMultiLabel, 2});
  const auto targets = make_task("regression", {LabelKind::kRegression, 2});
  for (const float bad : {kNan, inf, -inf}) {
    CAPTURE(bad);
    const Tensor outputs = torch::tensor({{1.f, -2.f}, {3.f, bad}});
    const auto figures = [&](const Task& task, Array labels) {
      const auto metrics = task.make_metrics();
      metrics->add(outputs, with_labels(std::move(labels)));
      return metrics->result();
    };
    for (const auto& [name, value] : figures(*classes, array_of<std::int32_t>({0, 1})))
      CHECK(std::isnan(value));
    for (const auto& [name, value] : figures(*bits, array_of<std::uint8_t>({1, 2}, {2, 1})))
      CHECK(std::isnan(value));
    for (const auto& [name, value] : figures(*targets, array_of<float>({1, 2, 3, 4}, {2, 2})))
      CHECK(std::isnan(value));
    CHECK(figures(*classes, array_of<std::int32_t>({0, -1})).at("accuracy") == 1);
    CHECK(figures(*targets, array_of<float>({0, -2, 3, kNan}, {2, 2})).at("mse") ==
          doctest::Approx(1.0 / 3));
  }
}

TEST_CASE("labels are counted where they are known, and classes have the user's names") {
  LabelSchema named{LabelKind::kClass, 3, {"10", "7", "Theory"}};
  const auto classes = make_task("node_classification", named);
  CHECK(classes->num_labelled(with_labels(array_of<std::int32_t>({0, -1, 2}))) == 2);
  CHECK(classes->prediction_names() == named.names);
  const auto bits = make_task("node_classification", {LabelKind::kMultiLabel, 10});
  CHECK(bits->num_labelled(with_labels(array_of<std::uint8_t>({0, 0, 1, 0}, {2, 2}))) == 2);
  CHECK(bits->prediction_names().empty());
  CHECK(bits->class_names().empty());
  LabelSchema many{LabelKind::kMultiLabel, 3, {"10", "7", "Theory"}};
  const auto named_bits = make_task("node_classification", many);
  CHECK(named_bits->prediction_names().empty());  // the values are bits, not classes
  CHECK(named_bits->class_names() == many.names);
  CHECK(named_bits->prediction_columns() ==
        std::vector<std::string>{"class_10", "class_7", "class_Theory"});
  CHECK(classes->class_names() == named.names);
  const auto targets = make_task("regression", {LabelKind::kRegression, 2});
  CHECK(targets->num_labelled(with_labels(array_of<float>({1, kNan, kNan, kNan}, {2, 2}))) == 1);
}

TEST_CASE("many classes a node: bits, lowest first, across bytes") {
  const auto task = make_task("node_classification", {LabelKind::kMultiLabel, 10});
  CHECK(task->main_metric() == "f1_micro");
  // Row 0: classes 0 and 9. Row 1: class 3.
  const Array labels = array_of<std::uint8_t>({0b1, 0b10, 0b1000, 0}, {2, 2});
  const Tensor truth = tasks::expand_bits(labels, 10);
  CHECK(truth.sum().item<double>() == 3);
  CHECK(truth[0][0].item<double>() + truth[0][9].item<double>() + truth[1][3].item<double>() == 3);

  // Row 0 exactly right; row 1 misses class 3 and claims class 0.
  Tensor outputs = torch::full({2, 10}, -2.f);
  outputs[0][0] = outputs[0][9] = outputs[1][0] = 2;
  const Batch batch = with_labels(labels);
  const auto half = [&](std::int64_t row) {
    const auto bytes = labels.as<std::uint8_t>();
    const auto at = static_cast<std::size_t>(2 * row);
    return with_labels(array_of<std::uint8_t>({bytes[at], bytes[at + 1]}, {1, 2}));
  };
  const auto metrics =
      measure(*task, outputs.narrow(0, 0, 1), half(0), outputs.narrow(0, 1, 1), half(1));
  const double good = std::log1p(std::exp(-2.0)), bad = std::log1p(std::exp(2.0));
  CHECK(metrics.at("accuracy") == 0.5);
  CHECK(metrics.at("f1_micro") == doctest::Approx(2 * 2.0 / (3 + 3)));
  CHECK(metrics.at("f1_macro") == doctest::Approx((2.0 / 3 + 0 + 1) / 3));
  CHECK(metrics.at("loss") == doctest::Approx((18 * good + 2 * bad) / 20));
  CHECK(task->loss(outputs, batch).item<double>() ==
        doctest::Approx(metrics.at("loss")).epsilon(1e-6));
  CHECK(task->predict(outputs).sum().item<std::int64_t>() == 3);
  CHECK(task->prediction_columns().at(9) == "class_9");
}

TEST_CASE("regression leaves missing targets out") {
  const auto task = make_task("regression", {LabelKind::kRegression, 2});
  CHECK(task->direction("mse") == Better::kLower);
  CHECK(task->direction("r2") == Better::kHigher);
  const Tensor first = torch::tensor({{1.f, 5.f}, {2.f, 0.f}});
  const Tensor second = torch::tensor({{5.f, 7.f}});
  const Batch first_batch = with_labels(array_of<float>({1, 5, 3, kNan}, {2, 2}));
  const Batch second_batch = with_labels(array_of<float>({5, 10}, {1, 2}));
  const auto metrics = measure(*task, first, first_batch, second, second_batch);
  CHECK(metrics.at("mse") == doctest::Approx(10.0 / 5));  // errors 0, 0, 1, 0, 3
  CHECK(metrics.at("loss") == metrics.at("mse"));
  CHECK(metrics.at("mae") == doctest::Approx(4.0 / 5));
  CHECK(metrics.at("r2") == doctest::Approx((1 - 1 / 8.0 + 1 - 9 / 12.5) / 2));
  CHECK(task->loss(first, first_batch).item<double>() == doctest::Approx(1.0 / 3));
  CHECK(task->prediction_columns() == std::vector<std::string>{"target_0", "target_1"});

  const Tensor leaf = first.clone().requires_grad_();
  task->loss(leaf, first_batch).backward();
  CHECK(leaf.grad()[1][1].item<double>() == 0);
  CHECK(leaf.grad()[1][0].item<double>() == doctest::Approx(-2.0 / 3));
}

TEST_CASE("a task names what the dataset lacks") {
  const auto message = [](const std::string& type, const GraphSchema& schema) {
    return test::expect_error([&] {
             (void)builtin_tasks().create({type, nullptr}, {schema});
           })
        .message();
  };
  GraphSchema schema = homogeneous_schema(10, 4, {LabelKind::kRegression, 1});
  CHECK(message("node_classification", schema).find("no node type has them") != std::string::npos);
  schema.nodes.push_back(schema.nodes[0]);
  schema.nodes[1].name = "other";
  const Error two = test::expect_error([&] {
    (void)builtin_tasks().create({"regression", nullptr}, {schema});
  });
  CHECK(two.code() == ErrorCode::kUsage);
  CHECK(two.hint() == "set [task] node_type to one of node, other");
}
