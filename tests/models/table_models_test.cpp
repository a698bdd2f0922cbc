// Models over propagated tables: against plain tensors, what they read, what they learn and refuse.
#include "models/sehgnn.h"
#include "models/support.h"

#include "core/threads.h"
#include "support/expect_error.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

namespace {

constexpr std::int64_t kRows = 90, kTableClasses = 3;

/// A type with four tables; the class of a row is told by its third table alone.
struct Tables {
  GraphSchema schema;
  Batch batch;

  Tables() {
    schema = homogeneous_schema(kRows, 6, {LabelKind::kClass, kTableClasses});
    auto& features = schema.nodes[0].features;
    for (const auto& [name, dim] :
         {std::pair<const char*, std::uint32_t>{"p-1", 6}, {"p-2", 4}, {"y-a", 3}})
      features.push_back({name, DType::kF32, kRows, dim});
    std::vector<std::int32_t> labels;
    std::vector<std::uint64_t> ids;
    std::vector<std::vector<float>> values;
    for (const FeatureSchema& table : features)
      values.push_back(random_floats(kRows * table.dim, 7 + values.size()));
    for (std::size_t row = 0; row < kRows; ++row) {
      labels.push_back(static_cast<std::int32_t>(row % kTableClasses));
      ids.push_back(row);
      values[2][row * 4 + row % kTableClasses] += 2.0f;
    }
    batch.seeds = {array_of(ids)};
    batch.nodes.resize(1);
    batch.nodes[0].ids = batch.seeds[0];
    batch.nodes[0].size_at = {kRows};
    batch.labels = array_of(labels);
    for (std::size_t at = 0; at < features.size(); ++at)
      all_.push_back(array_of(values[at], {kRows, static_cast<std::int64_t>(features[at].dim)}));
  }

  // The batch as the loader brings it: the groups that the model asks for.
  const Batch& of(const Model& model) {
    batch.nodes[0].features.clear();
    for (const std::string& name : model.needs().feature_groups)
      for (std::size_t at = 0; at < all_.size(); ++at)
        if (schema.nodes[0].features[at].name == name) batch.nodes[0].features.push_back(all_[at]);
    return batch;
  }
  Tensor table(std::size_t at) const {
    const Array& array = all_.at(at);
    return torch::from_blob(
        const_cast<void*>(array.data()), {array.size(0), array.size(1)}, torch::kFloat32);
  }

  std::unique_ptr<Model> make(const std::string& toml, ThreadArena* arena = nullptr) const {
    const RunOptions options(toml + "\noptimizer.type = 'adam'\noptimizer.lr = 0.01\n");
    return builtin_models().create(options.model,
                                   {schema, {0}, kTableClasses, RandomKey(3).with("init"), arena});
  }

 private:
  std::vector<Array> all_;
};

Tensor parameter_named(const Model& model, const std::string& name) {
  return model.named_parameters()[name];
}

Tensor linear_of(const Model& model, const std::string& name, const Tensor& x) {
  return torch::matmul(x, parameter_named(model, name + ".weight").t()) +
         parameter_named(model, name + ".bias");
}

Tensor prelu_of(const Tensor& x, const Tensor& slope) {
  return torch::where(x > 0, x, x * slope);
}

const std::vector<std::string> kTableModels{
    "model.type = 'sign'\nmodel.hidden = 16\nmodel.dropout = 0.1",
    "model.type = 'sign'\nmodel.hidden = 16\nmodel.layers = 2\nmodel.table_dropout = 0.1",
    "model.type = 'sehgnn'\nmodel.hidden = 16\nmodel.dropout = 0.1",
    "model.type = 'sehgnn'\nmodel.hidden = 16\nmodel.tables = ['features', 'p-*']\n"
    "model.label_tables = ['y-*']\nmodel.dropout = 0.1",
    "model.type = 'rphgnn'\nmodel.hidden = 16\nmodel.dropout = 0.1"};

}  // namespace

TEST_CASE("sign is a matrix over the tables' own layers, side by side") {
  Tables tables;
  const auto model = tables.make(
      "model.type = 'sign'\nmodel.hidden = 5\nmodel.tables = ['p-2', 'features', 'p-*']");
  model->eval();
  CHECK(model->needs().feature_groups == std::vector<std::string>{"p-2", "features", "p-1"});
  CHECK(model->num_layers() == 0);
  const Tensor found = model->encode(tables.of(*model))[0];
  std::vector<Tensor> columns;
  const std::vector<std::size_t> order{2, 0, 1};
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::string name = "table" + std::to_string(at);
    columns.push_back(prelu_of(linear_of(*model, name + "_layer0", tables.table(order[at])),
                               parameter_named(*model, name + "_slope")));
  }
  const Tensor expected = linear_of(*model, "out", torch::cat(columns, 1));
  CHECK(torch::allclose(found, expected, 1e-4, 1e-5));
}

TEST_CASE("sign without layers is one matrix over the tables as they are") {
  Tables tables;
  const auto model =
      tables.make("model.type = 'sign'\nmodel.layers = 0\nmodel.tables = ['p-2', 'y-a']");
  model->eval();
  CHECK(model->named_parameters().size() == 2);
  const Tensor found = model->encode(tables.of(*model))[0];
  const Tensor expected =
      linear_of(*model, "out", torch::cat({tables.table(2), tables.table(3)}, 1));
  CHECK(torch::allclose(found, expected, 1e-4, 1e-5));
}

TEST_CASE("sehgnn fuses tables by attention between them, row by row") {
  Tables tables;
  const auto model =
      tables.make("model.type = 'sehgnn'\nmodel.hidden = 8\nmodel.tables = ['features', 'p-*']");
  model->eval();
  const torch::NoGradGuard no_grad;
  const Tensor plain = model->encode(tables.of(*model))[0];
  parameter_named(*model, "gain").fill_(0.7);
  const Tensor found = model->encode(tables.of(*model))[0];
  CHECK_FALSE(torch::allclose(found, plain, 1e-4, 1e-4));

  const auto norm = [&](const char* name, const Tensor& x, torch::IntArrayRef dims) {
    const Tensor mean = x.mean(dims, true);
    const Tensor variance = (x - mean).square().mean(dims, true);
    return (x - mean) / torch::sqrt(variance + 1e-5) *
               parameter_named(*model, std::string(name) + ".weight") +
           parameter_named(*model, std::string(name) + ".bias");
  };
  for (const std::int64_t row : {std::int64_t{0}, std::int64_t{17}, kRows - 1}) {
    std::vector<Tensor> rows;
    for (std::size_t at = 0; at < 3; ++at)
      rows.push_back(
          linear_of(*model, "table" + std::to_string(at), tables.table(at).slice(0, row, row + 1)));
    Tensor x = torch::cat(rows, 0);  // [tables, hidden]
    x = prelu_of(norm("first_norm", x, {0, 1}), parameter_named(*model, "first_slope"));
    std::vector<Tensor> next;
    for (std::int64_t at = 0; at < 3; ++at)
      next.push_back(torch::matmul(x[at], parameter_named(*model, "by_table")[at]) +
                     parameter_named(*model, "by_table_bias")[at]);
    x = prelu_of(norm("second_norm", torch::stack(next), {0, 1}),
                 parameter_named(*model, "second_slope"));
    const Tensor logits =
        torch::matmul(linear_of(*model, "query", x), linear_of(*model, "keys", x).t()) /
        std::sqrt(2.0);  // a quarter of 8 columns
    const Tensor weights = torch::softmax(torch::leaky_relu(logits, 0.2), 1);
    const Tensor attended = torch::matmul(weights, linear_of(*model, "values", x));
    x = (x + 0.7 * attended).reshape({1, 24});
    x = linear_of(*model, "joined", x) +
        linear_of(*model, "own", tables.table(0).slice(0, row, row + 1));
    x = prelu_of(norm("out_norm", x, {1}), parameter_named(*model, "joined_slope"));
    x = prelu_of(linear_of(*model, "last0", x), parameter_named(*model, "last_slope0"));
    const Tensor expected = linear_of(*model, "last1", x)[0];
    CHECK(torch::allclose(found[row], expected, 1e-3, 1e-4));
  }
  const auto& sehgnn = dynamic_cast<const models::SeHgnn&>(*model);
  const Tensor weights = sehgnn.attention(torch::randn({4, 3, 8}));
  CHECK(weights.sizes() == torch::IntArrayRef({4, 3, 3}));
  CHECK(torch::allclose(weights.sum(2), torch::ones({4, 3})));
}

TEST_CASE("models over tables learn what a propagated table tells, the same on any threads") {
  for (const std::string& toml : kTableModels) {
    INFO(toml);
    std::vector<Tensor> weights;
    for (const int threads : {1, 3}) {
      Tables tables;
      ThreadArena arena(threads);
      const auto model = tables.make(toml, &arena);
      const RunOptions options(toml + "\noptimizer.type = 'adam'\noptimizer.lr = 0.01\n");
      const auto optimizer = builtin_optimizers().create(options.optimizer, parameters_of(*model));
      const auto task = builtin_tasks().create({"node_classification", nullptr}, {tables.schema});
      for (std::uint64_t step = 0; step < 80; ++step) {
        model->set_step_key(RandomKey(1).with(step));
        optimizer->zero_grad();
        const Batch& batch = tables.of(*model);
        node_task(task).loss(model->encode(batch)[0], batch).backward();
        optimizer->step();
      }
      for (const auto& item : model->named_parameters()) {
        CAPTURE(item.key());
        CHECK(item.value().grad().defined());
      }
      model->eval();
      const torch::NoGradGuard no_grad;
      const auto metrics = task->make_metrics();
      metrics->add(model->encode(tables.of(*model))[0], tables.batch);
      CHECK(metrics->result().at("accuracy") > 0.85);
      std::vector<Tensor> flat;
      for (const Tensor& one : model->parameters()) flat.push_back(one.flatten());
      weights.push_back(torch::cat(flat));
    }
    CHECK(torch::equal(weights[0], weights[1]));
  }
}

TEST_CASE("tables that are not there are refused by name") {
  const Tables tables;
  for (const char* type : {"sign", "sehgnn", "rphgnn"}) {
    const Error error = test::expect_error([&] {
      (void)tables.make(std::string("model.type = '") + type + "'\nmodel.tables = ['q-*']");
    });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(std::string(error.message()).find("no feature table 'q-*'") != std::string::npos);
    CHECK(std::string(error.hint()).find("propagate") != std::string::npos);
  }
  const Error widths = test::expect_error(
      [&] { (void)tables.make("model.type = 'sehgnn'\nmodel.label_tables = ['p-1', 'p-2']"); });
  CHECK(widths.code() == ErrorCode::kUsage);
  CHECK(std::string(widths.message()).find("several widths") != std::string::npos);
}
