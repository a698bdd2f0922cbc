// Every model of the registry: shapes, learning, determinism, and what it refuses.
#include "models/support.h"

#include "core/threads.h"
#include "support/catalog_names.h"
#include "support/expect_error.h"

#include <algorithm>
#include <map>

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

namespace {

// More than the defaults, and some together.
const std::vector<std::string> kVariants{
    "model.type = 'graphsage'\nmodel.norm = 'layer'",
    "model.type = 'graphsage'\nmodel.aggregator = 'max'\nmodel.combine = 'concat'",
    "model.type = 'gcn'\nmodel.residual = true",
    "model.type = 'gcn'\nmodel.normalisation = 'mean'",
    "model.type = 'gat'\nmodel.attention_dropout = 0.2\nmodel.output_heads = 2",
    "model.type = 'gin'",
    "model.type = 'rgcn'\nmodel.bases = 2\nmodel.norm = 'layer'",
    "model.type = 'simple_hgn'\nmodel.heads = 4\nmodel.attention_dropout = 0.1",
    "model.type = 'hgt'\nmodel.heads = 4",
    "model.type = 'bg_hgnn'\nmodel.code_width = 32",
    "model.type = 'mlp'\nmodel.norm = 'batch'"};

// Those, and what the registry has besides.
// All that compute from features alone: learned rows by themselves are train/embedding_test's, and
// events with times temporal_models_test's.
std::vector<std::string> all_models() {
  std::vector<std::string> all = kVariants;
  for (const std::string& name : test::names_with(builtin_models(), "input_dropout")) {
    const std::string toml = "model.type = '" + name + "'";
    if (std::ranges::none_of(kVariants, [&](const auto& known) { return known.starts_with(toml); }))
      all.push_back(toml);
  }
  return all;
}

const std::string kRest =
    "\nmodel.hidden = 16\nmodel.dropout = 0.1\nmodel.input_dropout = 0.1\n"
    "optimizer.type = 'adam'\noptimizer.lr = 0.02\n";

constexpr std::int64_t kNodes = 240, kClasses = 3, kDim = 6;

/// Three groups; four fifths of a node's neighbours and a hint in its features tell the group.
struct Groups {
  GraphSchema schema = homogeneous_schema(kNodes, kDim, {LabelKind::kClass, kClasses});
  Batch batch;

  Groups() {
    const RandomKey key(11);
    std::vector<std::int32_t> labels;
    std::vector<std::vector<std::int32_t>> neighbours_of(kNodes);
    std::vector<float> features = random_floats(kNodes * kDim, 12);
    for (std::size_t v = 0; v < kNodes; ++v) {
      labels.push_back(static_cast<std::int32_t>(v % kClasses));
      features[v * kDim + v % kClasses] += 1.0f;
      for (std::uint64_t e = 0; e < 8; ++e) {
        const RandomKey draw = key.with(v).with(e);
        std::uint64_t u = draw.below(kNodes, 0);
        if (draw.uniform(1) < 0.8) u = u - u % kClasses + v % kClasses;
        neighbours_of[v].push_back(static_cast<std::int32_t>(u));
      }
    }
    batch = whole_graph(neighbours_of, array_of(features, {kNodes, kDim}), 2);
    batch.labels = array_of(labels);
  }
};

bool name_is_mlp(const std::string& toml) {
  return toml.find("'mlp'") != std::string::npos;
}

struct Outcome {
  double accuracy = 0;
  Tensor weights, outputs;
};

Outcome train(const std::string& toml, std::uint64_t seed, int threads) {
  const Groups groups;
  ThreadArena arena(threads);
  const RunOptions options(toml);
  const auto model = builtin_models().create(
      options.model, {groups.schema, {0}, kClasses, RandomKey(seed).with("init"), &arena});
  const auto optimizer = builtin_optimizers().create(options.optimizer, parameters_of(*model));
  const auto task = builtin_tasks().create({"node_classification", nullptr}, {groups.schema});
  for (std::uint64_t step = 0; step < 40; ++step) {
    model->set_step_key(RandomKey(seed).with(step));
    optimizer->zero_grad();
    node_task(task).loss(model->encode(groups.batch)[0], groups.batch).backward();
    optimizer->step();
  }
  model->eval();
  const torch::NoGradGuard no_grad;
  Outcome outcome;
  outcome.outputs = model->encode(groups.batch)[0];
  const auto metrics = task->make_metrics();
  metrics->add(outcome.outputs, groups.batch);
  outcome.accuracy = metrics->result().at("accuracy");
  std::vector<Tensor> parameters;
  for (const Tensor& parameter : model->parameters()) parameters.push_back(parameter.flatten());
  outcome.weights = torch::cat(parameters);
  return outcome;
}

}  // namespace

TEST_CASE("every model learns, and a run is a function of its seed, on any number of threads") {
  for (const std::string& model : all_models()) {
    INFO(model);
    const Outcome outcome = train(model + kRest, 1, 1);
    CHECK(outcome.outputs.sizes() == torch::IntArrayRef({kNodes, kClasses}));
    CHECK(outcome.accuracy > (name_is_mlp(model) ? 0.7 : 0.85));  // features alone tell less
    const Outcome again = train(model + kRest, 1, 3);
    CHECK(torch::equal(again.weights, outcome.weights));
    CHECK(torch::equal(again.outputs, outcome.outputs));
    CHECK_FALSE(torch::equal(train(model + kRest, 2, 1).weights, outcome.weights));
  }
}

TEST_CASE("a batch of shrinking layers gives one row a seed, and every parameter a gradient") {
  for (const std::string& name : all_models()) {
    INFO(name);
    const GraphSchema schema = homogeneous_schema(100, kDim, {LabelKind::kClass, 5});
    const RunOptions options(name + kRest);
    const auto model =
        builtin_models().create(options.model, {schema, {0}, 5, RandomKey(1), nullptr});
    Batch batch;
    std::vector<std::uint64_t> ids(60);
    std::vector<std::int64_t> degrees(60, 9);
    batch.nodes.resize(1);
    batch.nodes[0].ids = array_of(ids);
    batch.nodes[0].features = {array_of(random_floats(60 * kDim, 2), {60, kDim})};
    batch.nodes[0].degrees = array_of(degrees);
    batch.nodes[0].relation_degrees = array_of(degrees, {60, 1});
    batch.nodes[0].size_at = {60, 25, 10};
    batch.seeds = {array_of(std::vector<std::uint64_t>(10))};
    if (model->num_layers() > 0) {
      batch.layers = {{random_block(60, 25, 6, 3)}, {random_block(25, 10, 6, 4)}};
    }
    const Tensor out = model->encode(batch)[0];
    CHECK(out.sizes() == torch::IntArrayRef({10, 5}));
    out.square().sum().backward();
    for (const auto& item : model->named_parameters()) {
      INFO(item.key());
      CHECK(item.value().grad().defined());
    }
  }
}

TEST_CASE("a model needs degrees where it multiplies by them") {
  const GraphSchema schema = homogeneous_schema(100, kDim, {LabelKind::kClass, 5});
  for (const std::string& name : kVariants) {
    INFO(name);
    const RunOptions options(name + kRest);
    const auto model =
        builtin_models().create(options.model, {schema, {0}, 5, RandomKey(1), nullptr});
    CHECK(model->needs().degrees ==
          (name.find("'gin'") != std::string::npos || name.find("residual") != std::string::npos));
  }
}

TEST_CASE("batch norm takes a single row by its running statistics, and leaves them as they are") {
  const GraphSchema schema = homogeneous_schema(1, kDim, {LabelKind::kClass, 2});
  for (const std::string& type : test::names_with(builtin_models(), "norm")) {
    CAPTURE(type);
    const RunOptions options("model.type = '" + type +
                             "'\nmodel.norm = 'batch'\nmodel.dropout = 0\nmodel.hidden = 8\n"
                             "model.layers = 3\noptimizer.type = 'sgd'\n");
    const auto model =
        builtin_models().create(options.model, {schema, {0}, 2, RandomKey(1), nullptr});
    const Batch batch = whole_graph({{0}}, array_of(random_floats(kDim, 2), {1, kDim}), 3);
    std::map<std::string, Tensor> before;
    for (const auto& item : model->named_buffers()) before[item.key()] = item.value().clone();
    const Tensor trained = model->encode(batch)[0];
    CHECK(trained.isfinite().all().item<bool>());
    trained.square().sum().backward();
    for (const auto& item : model->named_parameters()) {
      CAPTURE(item.key());
      REQUIRE(item.value().grad().defined());
      CHECK(item.value().grad().isfinite().all().item<bool>());
    }
    CHECK(std::ranges::count_if(
              before, [](const auto& buffer) { return buffer.first.starts_with("norm"); }) == 6);
    for (const auto& item : model->named_buffers())
      CHECK(item.value().equal(before.at(item.key())));
    model->eval();
    CHECK(model->encode(batch)[0].equal(trained));
  }
}

TEST_CASE("prelu begins at a quarter, is relu at slope 0 and nothing at 1, and its slopes learn") {
  const Groups groups;
  const auto made = [&groups](const std::string& hidden, const std::string& last) {
    const RunOptions options(
        "model.type = 'gcn'\nmodel.hidden = 16\nmodel.dropout = 0\n"
        "model.activation = '" +
        hidden + "'\nmodel.output_activation = '" + last + "'\noptimizer.type = 'sgd'\n");
    return builtin_models().create(options.model,
                                   {groups.schema, {0}, kClasses, RandomKey(3), nullptr});
  };
  const auto rows = [&groups](Model& model) { return model.encode(groups.batch)[0]; };
  const auto bent = made("prelu", "prelu");
  Tensor hidden_slope = bent->named_parameters()["slope0"];
  Tensor output_slope = bent->named_parameters()["output_slope"];
  CHECK(hidden_slope.item<float>() == 0.25f);
  CHECK(output_slope.item<float>() == 0.25f);
  rows(*bent).square().sum().backward();
  CHECK(hidden_slope.grad().item<float>() != 0);
  CHECK(output_slope.grad().item<float>() != 0);
  const torch::NoGradGuard no_grad;
  hidden_slope.zero_();
  output_slope.zero_();
  CHECK(torch::equal(rows(*bent), rows(*made("relu", "relu"))));
  output_slope.fill_(1);
  CHECK(torch::equal(rows(*bent), rows(*made("relu", "none"))));
}

TEST_CASE("models refuse what they are not for, in words") {
  GraphSchema schema = homogeneous_schema(100, kDim, {LabelKind::kClass, 5});
  const auto create = [&](const std::string& toml) {
    return test::expect_error([&] {
      const RunOptions options(toml + "\noptimizer.type = 'sgd'\n");
      (void)builtin_models().create(options.model, {schema, {0}, 5, RandomKey(1), nullptr});
    });
  };
  CHECK(create("model.type = 'gatt'").message().find("gatt") != std::string::npos);
  CHECK(create("model.type = 'gat'\nmodel.hidden = 10").message() ==
        "model 'gat': hidden = 10 is no multiple of heads = 4");
  CHECK(create("model.type = 'gcn'\nmodel.dropout = 1").code() == ErrorCode::kUsage);

  schema.relations.push_back(schema.relations[0]);
  const Error two = create("model.type = 'gcn'");
  CHECK(two.code() == ErrorCode::kUsage);
  CHECK(two.message() ==
        "model 'gcn' is for one node type and one relation; this dataset has 1 node types and 2 "
        "relations");
  schema.nodes[0].features.clear();
  CHECK(create("model.type = 'mlp'").message() ==
        "model 'mlp' needs node features, and 'node' has none");
}

TEST_CASE("a model says when its batch lacks the degrees that it needs") {
  Groups groups;
  groups.batch.nodes[0].degrees = Array();
  const RunOptions options("model.type = 'gin'\noptimizer.type = 'sgd'\n");
  const auto model =
      builtin_models().create(options.model, {groups.schema, {0}, kClasses, RandomKey(1), nullptr});
  CHECK(test::expect_error([&] { (void)model->encode(groups.batch)[0]; }).message() ==
        "a batch without the degrees that its model needs");
}

TEST_CASE(
    "R-GCN tells relations and classes of edges apart, and takes nothing else for a relation") {
  // Every node has both others as neighbours: only classes, or only relations, say which is which.
  const std::vector<std::vector<std::int32_t>> neighbours{{1, 2}, {0, 2}, {0, 1}};
  const std::vector<std::int32_t> classes{0, 1, 0, 1, 1, -1}, turned{1, 0, 0, 1, 1, -1};
  GraphSchema schema = homogeneous_schema(3, kDim, {LabelKind::kClass, 2});
  schema.relations[0].labels = LabelSchema{LabelKind::kClass, 2};
  const Array features = array_of(random_floats(3 * kDim, 2), {3, kDim});
  const RunOptions options(
      "model.type = 'rgcn'\nmodel.layers = 1\nmodel.bases = 3\noptimizer.type = 'sgd'\n");
  const auto make = [&] {
    auto model = builtin_models().create(options.model, {schema, {0}, 2, RandomKey(1), nullptr});
    model->eval();
    return model;
  };
  const auto model = make();
  CHECK(model->needs().edge_labels);
  Batch batch = whole_graph(neighbours, features, 1);
  CHECK(test::expect_error([&] { (void)model->encode(batch); }).message() ==
        "a batch without the labels of edges that its model needs");
  batch.layers[0][0].labels = array_of(classes);
  const Tensor as_labelled = model->encode(batch)[0];
  batch.layers[0][0].labels = array_of(turned);
  const Tensor as_turned = model->encode(batch)[0];
  CHECK_FALSE(torch::allclose(as_labelled[0], as_turned[0]));
  CHECK(torch::equal(as_labelled.narrow(0, 1, 2), as_turned.narrow(0, 1, 2)));

  // Two relations without classes: a block each.
  schema.relations[0].labels.reset();
  schema.relations.push_back(schema.relations[0]);
  const auto plain = make();
  CHECK_FALSE(plain->needs().edge_labels);
  const auto with = [&](const std::vector<std::vector<std::int32_t>>& first,
                        const std::vector<std::vector<std::int32_t>>& second) {
    Batch both = whole_graph(first, features, 1);
    both.layers[0].push_back(make_block(3, second));
    both.layers[0][1].relation = 1;
    return plain->encode(both)[0];
  };
  const Tensor out = with({{1}, {}, {}}, {{}, {2}, {}});
  CHECK_FALSE(torch::allclose(out, with({{}, {2}, {}}, {{1}, {}, {}})));
}
