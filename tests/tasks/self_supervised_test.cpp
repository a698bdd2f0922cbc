// Learning without labels, by steps over a planted graph: losses fall, gradients go where they
// should, parts that are off leave nothing behind, and masks are functions of keys.
#include "tasks/self_supervised.h"

#include "models/support.h"
#include "nn/batch_views.h"
#include "nn/keyed_draws.h"
#include "nn/support.h"
#include "tasks/embedding_metrics.h"

#include <sluice/nn/tensor_view.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::testing;
using torch::Tensor;

namespace {

constexpr std::int64_t kPlantedNodes = 60, kColumns = 8, kWidth = 6;

bool is_odd(std::int64_t node) {
  return node % 2 == 1;
}

/// Two groups, odd nodes and even ones, each linked to five of its own; columns tell the group
/// beneath some noise.
Batch planted(std::size_t layers) {
  std::vector<std::vector<std::int32_t>> neighbours;
  for (std::int64_t node = 0; node < kPlantedNodes; ++node) {
    neighbours.emplace_back();
    for (const std::int64_t step : {2, 4, 10, 16, 58})
      neighbours.back().push_back(static_cast<std::int32_t>((node + step) % kPlantedNodes));
  }
  std::vector<float> features = random_floats(kPlantedNodes * kColumns, 17);
  for (std::int64_t node = 0; node < kPlantedNodes; ++node)
    for (std::int64_t column = 0; column < kColumns; ++column)
      features[static_cast<std::size_t>(node * kColumns + column)] +=
          is_odd(column) == is_odd(node) ? 1.f : -1.f;
  Batch batch = whole_graph(neighbours, array_of(features, {kPlantedNodes, kColumns}), layers);
  std::vector<std::int64_t> rows;
  for (std::int64_t node = 0; node < kPlantedNodes; ++node) rows.push_back(node);
  batch.queries.ids = batch.seeds[0];
  batch.queries.nodes = array_of(rows);
  return batch;
}

GraphSchema planted_schema() {
  return homogeneous_schema(kPlantedNodes, kColumns, {LabelKind::kClass, 2});
}

/// The task with its encoder, and a target where it wants one, as a run makes them.
struct Learner {
  GraphSchema schema = planted_schema();
  tasks::SelfSupervised task;
  std::unique_ptr<Model> model;
  std::shared_ptr<Model> target;

  explicit Learner(const tasks::SelfSupervisedOptions& options,
                   const std::string& type = "gcn",
                   const std::string& activation = "none")
      : task(options, {schema, RandomKey(5).with("task")}) {
    const RunOptions chosen("model = { type = \"" + type +
                            "\", layers = 1, dropout = 0.0, output_activation = \"" + activation +
                            "\" }\n"
                            "optimizer = { type = \"adam\", lr = 0.02 }\n");
    const auto make = [&](std::uint64_t seed) {
      return builtin_models().create(chosen.model, {schema, {0}, kWidth, RandomKey(seed)});
    };
    model = make(1);
    if (task.target_start() != tasks::TargetStart::kNone) target = make(2);
    task.serve(*model, target);
  }

  std::size_t layers() const {
    return static_cast<std::size_t>(model->num_layers() + task.layers_behind());
  }
  Tensor loss(const Batch& batch, std::uint64_t step) {
    const RandomKey key = RandomKey(9).with(step);
    model->set_step_key(key);
    return task.training_loss(*model, batch, key);
  }
  std::set<std::string> head_names() const {
    std::set<std::string> names;
    for (const auto& item : task.head()->named_parameters()) names.insert(item.key());
    return names;
  }
  /// Losses of steps of Adam.
  std::vector<double> train(std::uint64_t steps) {
    OptimizerContext context;
    const auto add = [&context](const torch::nn::Module& module) {
      for (const auto& item : module.named_parameters())
        if (item.value().requires_grad())
          context.parameters.push_back(
              {std::to_string(context.parameters.size()) + item.key(), item.value()});
    };
    add(*model);
    add(*task.head());
    const auto optimizer = builtin_optimizers().make("adam", "lr = 0.02", context);
    const Batch batch = planted(layers());
    std::vector<double> losses;
    for (std::uint64_t step = 0; step < steps; ++step) {
      const Tensor made = loss(batch, step);
      made.backward();
      optimizer->step();
      optimizer->zero_grad();
      losses.push_back(made.item<double>());
    }
    return losses;
  }
};

tasks::SelfSupervisedOptions base_options() {
  tasks::SelfSupervisedOptions options;
  options.width = kWidth;
  options.parts.contrast.hidden = options.parts.latent.hidden = options.views.hidden = 8;
  return options;
}

tasks::SelfSupervisedOptions gcmae() {
  tasks::SelfSupervisedOptions options = base_options();
  options.parts.contrast.weight = 0.3;
  options.parts.adjacency.weight = 0.3;
  options.parts.adjacency.nodes = 40;
  options.parts.contrast.nodes = 50;
  options.parts.variance.weight = 0.5;
  return options;
}

tasks::SelfSupervisedOptions graphmae2() {
  tasks::SelfSupervisedOptions options = base_options();
  options.parts.masked.remask = tasks::Remask::kRandom;
  options.parts.masked.edge_drop = 0.2;
  options.parts.latent.weight = 0.5;
  options.parts.latent.edge_drop = 0.2;
  return options;
}

tasks::SelfSupervisedOptions method(tasks::PretextMethod which) {
  tasks::SelfSupervisedOptions options = base_options();
  options.method = which;
  return options;
}

double mean_of(const std::vector<double>& values, std::size_t first, std::size_t count) {
  double sum = 0;
  for (std::size_t i = first; i < first + count; ++i) sum += values[i];
  return sum / static_cast<double>(count);
}

void check_falls(const tasks::SelfSupervisedOptions& options,
                 const std::string& model = "gcn",
                 const std::string& activation = "none") {
  const std::vector<double> losses = Learner(options, model, activation).train(80);
  for (const double loss : losses) REQUIRE(std::isfinite(loss));
  CHECK(mean_of(losses, 70, 10) < 0.95 * mean_of(losses, 0, 5));
}

}  // namespace

TEST_CASE("the loss of each method falls") {
  SUBCASE("graphmae") {
    check_falls(base_options());
  }
  SUBCASE("graphmae, gat") {
    check_falls(base_options(), "gat");
  }
  SUBCASE("graphmae, no graph in the decoder") {
    tasks::SelfSupervisedOptions options = base_options();
    options.parts.masked.decoder = tasks::DecoderLayer::kMlp;
    check_falls(options);
  }
  SUBCASE("graphmae, means in the decoder") {
    tasks::SelfSupervisedOptions options = base_options();
    options.parts.masked.decoder = tasks::DecoderLayer::kGcn;
    options.parts.masked.replace = 0.1;
    check_falls(options);
  }
  SUBCASE("gcmae") {
    check_falls(gcmae());
  }
  SUBCASE("graphmae2") {
    check_falls(graphmae2());
  }
  SUBCASE("dgi") {
    check_falls(method(tasks::PretextMethod::kDgi), "gcn", "elu");
  }
  SUBCASE("dgi, prelu") {
    check_falls(method(tasks::PretextMethod::kDgi), "gcn", "prelu");
  }
  SUBCASE("bgrl") {
    check_falls(method(tasks::PretextMethod::kBgrl));
  }
}

TEST_CASE("a decoder over the graph wants one more layer, others none") {
  CHECK(Learner(base_options()).layers() == 2);
  tasks::SelfSupervisedOptions rows = base_options();
  rows.parts.masked.decoder = tasks::DecoderLayer::kMlp;
  CHECK(Learner(rows).layers() == 1);
  CHECK(Learner(method(tasks::PretextMethod::kDgi)).layers() == 1);
  CHECK(Learner(method(tasks::PretextMethod::kBgrl)).layers() == 1);
}

TEST_CASE("gradients reach encoder and head, and never the target") {
  for (const tasks::SelfSupervisedOptions& options :
       {gcmae(), graphmae2(), method(tasks::PretextMethod::kBgrl)}) {
    Learner learner(options);
    std::vector<Tensor> before;
    if (learner.target)
      for (const Tensor& each : learner.target->parameters()) before.push_back(each.clone());
    learner.loss(planted(learner.layers()), 0).backward();
    for (const auto& item : learner.model->named_parameters()) {
      CAPTURE(item.key());
      CHECK(item.value().grad().defined());
    }
    for (const auto& item : learner.task.head()->named_parameters()) {
      CAPTURE(item.key());
      const bool follows = item.key().starts_with("target");
      CHECK(item.value().requires_grad() != follows);
      CHECK(item.value().grad().defined() != follows);
    }
    if (!learner.target) continue;
    // It moved towards the encoder, by the average alone.
    const double start = options.momentum.start;
    const auto online = learner.model->parameters();
    const auto after = learner.target->parameters();
    for (std::size_t i = 0; i < after.size(); ++i)
      CHECK(torch::allclose(after[i], before[i] * start + online[i].detach() * (1 - start)));
  }
}

TEST_CASE("a target begins as the encoder, or as itself, and waits for its epoch") {
  tasks::SelfSupervisedOptions copied = graphmae2();
  copied.momentum.start = 0;
  copied.momentum.from_epoch = 1;
  Learner copy(copied);
  CHECK(torch::equal(copy.target->parameters()[0], copy.model->parameters()[0]));
  Learner own(method(tasks::PretextMethod::kBgrl));
  // Biases begin as zeros in both.
  bool differs = false;
  for (std::size_t at = 0; at < own.model->parameters().size(); ++at)
    differs |= !torch::equal(own.target->parameters()[at], own.model->parameters()[at]);
  CHECK(differs);

  Tensor weight = copy.model->parameters()[0];
  {
    const torch::NoGradGuard no_grad;
    weight.add_(1);
  }
  Batch batch = planted(copy.layers());
  (void)copy.loss(batch, 0);
  CHECK_FALSE(torch::equal(copy.target->parameters()[0], weight));
  batch.epoch = 1;
  (void)copy.loss(batch, 1);
  CHECK(torch::equal(copy.target->parameters()[0], weight));
}

TEST_CASE("parts of weight 0 have no weights, and no parts at all are refused") {
  CHECK(Learner(base_options()).head_names() ==
        std::set<std::string>{"token",
                              "bridge.weight",
                              "decoder.gat.bias",
                              "decoder.gat.linear.weight",
                              "decoder.gat.source_attention",
                              "decoder.gat.target_attention"});
  tasks::SelfSupervisedOptions contrast = base_options();
  contrast.parts.masked.weight = 0;
  contrast.parts.contrast.weight = 1;
  for (const std::string& name : Learner(contrast).head_names())
    CHECK((name == "token" || name.find("projection") != std::string::npos));
  contrast.parts.contrast.weight = 0;
  CHECK_THROWS_AS(Learner{contrast}, Error);
}

TEST_CASE("a step is a function of its key, and of nodes' ids rather than of their rows") {
  Learner learner(gcmae());
  const Batch batch = planted(learner.layers());
  const double loss = learner.loss(batch, 3).item<double>();
  CHECK(learner.loss(batch, 3).item<double>() == loss);
  CHECK(learner.loss(batch, 4).item<double>() != loss);
  Batch renamed = planted(learner.layers());
  std::vector<std::uint64_t> ids;
  for (std::int64_t node = 0; node < kPlantedNodes; ++node)
    ids.push_back(static_cast<std::uint64_t>(node + 1000));
  renamed.seeds = {array_of(ids)};
  renamed.nodes[0].ids = renamed.seeds[0];
  CHECK(learner.loss(renamed, 3).item<double>() != loss);
}

TEST_CASE(
    "features that are hidden are not seen: without them only the token tells a masked node") {
  // All nodes masked, and nothing to contrast with: the embedding is of tokens alone.
  tasks::SelfSupervisedOptions options = base_options();
  options.parts.masked.rate = 1;
  options.parts.masked.weight = 0;
  options.parts.variance.weight = 1;
  Learner learner(options);
  // Rows of the token's zeros are all the bias, whose variance is 0.
  CHECK(learner.loss(planted(learner.layers()), 0).item<double>() == doctest::Approx(0.99));
  options.parts.masked.rate = 0;
  Learner seeing(options);
  CHECK(seeing.loss(planted(seeing.layers()), 0).item<double>() < 0.9);
}

TEST_CASE("a mini-batch's loss is of its seeds: masked nodes beside them do not count") {
  constexpr std::int64_t kSeeds = 40;
  constexpr std::uint64_t kStep = 2;
  const Batch whole = planted(2);
  Batch some = whole;  // the last layer has the first forty nodes as targets
  std::vector<std::uint64_t> ids;
  std::vector<std::vector<std::int32_t>> neighbours;
  for (std::int64_t node = 0; node < kSeeds; ++node) {
    ids.push_back(static_cast<std::uint64_t>(node));
    neighbours.emplace_back();
    for (const std::int64_t step : {2, 4, 10, 16, 58})
      neighbours.back().push_back(static_cast<std::int32_t>((node + step) % kPlantedNodes));
  }
  some.seeds = {array_of(ids)};
  some.layers[1] = {make_block(kPlantedNodes, neighbours)};
  some.nodes[0].size_at = {kPlantedNodes, kPlantedNodes, kSeeds};
  // Other features of those that are masked and no seeds: nobody sees what they were.
  const Tensor masked =
      nn::chosen(RandomKey(9).with(kStep).with("masked nodes"), nn::node_ids(whole, 0), 0.5);
  const Tensor changed =
      masked.logical_and(torch::arange(kPlantedNodes).ge(kSeeds)).to(torch::kFloat32).unsqueeze(1);
  REQUIRE(changed.sum().item<double>() > 0);
  const Tensor noise = random_tensor({kPlantedNodes, kColumns}, 23) * 5;
  const auto with_noise = [&](Batch batch) {
    batch.nodes[0].features = {
        nn::as_array(nn::as_tensor(batch.nodes[0].features[0]) + changed * noise)};
    return batch;
  };
  Learner learner(base_options());
  const auto loss = [&](const Batch& batch) { return learner.loss(batch, kStep).item<double>(); };
  CHECK(loss(with_noise(some)) == loss(some));
  CHECK(loss(with_noise(whole)) != loss(whole));
}

TEST_CASE("datasets that it cannot learn from are refused") {
  const auto make = [](const GraphSchema& schema) {
    return tasks::SelfSupervised(base_options(), {schema});
  };
  GraphSchema bare = planted_schema();
  bare.nodes[0].features.clear();
  CHECK_THROWS_AS(make(bare), Error);
  GraphSchema two = planted_schema();
  two.relations.push_back(two.relations[0]);
  CHECK_THROWS_AS(make(two), Error);
  CHECK_THROWS_AS(make(homogeneous_schema(9, 2, {LabelKind::kRegression, 1})), Error);
}

TEST_CASE("a validation makes clusters where the best epoch is chosen by them") {
  const tasks::SelfSupervised classes(base_options(), {planted_schema()});
  const auto names = [](const tasks::SelfSupervised& task, Part part, const std::string& chosen) {
    std::vector<std::string> all;
    for (const auto& [name, value] : task.metrics_of(part, chosen)->result()) all.push_back(name);
    return all;
  };
  const std::vector<std::string> with_clusters{"accuracy", "ari", "nmi"};
  CHECK(names(classes, Part::kValid, "accuracy") == std::vector<std::string>{"accuracy"});
  CHECK(names(classes, Part::kValid, "nmi") == with_clusters);
  CHECK(names(classes, Part::kValid, "ari") == with_clusters);
  CHECK(names(classes, Part::kTest, "accuracy").size() == 5);
  CHECK(classes.validation_metrics() == with_clusters);
  // Clusters are not compared with several classes a node.
  GraphSchema several = planted_schema();
  several.nodes[0].labels = LabelSchema{LabelKind::kMultiLabel, 3};
  const tasks::SelfSupervised many(base_options(), {several});
  CHECK(many.validation_metrics() == std::vector<std::string>{"accuracy"});
  CHECK(names(many, Part::kTest, "accuracy") ==
        std::vector<std::string>{"accuracy", "f1_macro", "f1_micro"});
}

TEST_CASE("embeddings are measured by a probe over the split, and by clusters") {
  tasks::EmbeddingProbe probe;
  probe.labels = LabelSchema{LabelKind::kClass, 2};
  probe.key = RandomKey(3);
  probe.split.train = array_of<std::uint64_t>({0, 1, 2, 3});
  probe.split.valid = array_of<std::uint64_t>({10, 11});
  probe.split.test = array_of<std::uint64_t>({20, 21, 22, 23});
  Batch batch;
  batch.queries.ids = array_of<std::uint64_t>({0, 1, 2, 3, 10, 11, 20, 21, 22, 23});
  batch.labels = array_of<std::int32_t>({0, 1, 0, 1, 0, 1, 0, 1, 0, 0});
  Tensor rows = torch::zeros({10, 2});
  for (std::int64_t i = 0; i < 10; ++i)
    rows[i][0] =
        i % 2 == 0 ? 1.f + 0.01f * static_cast<float>(i) : -1.f - 0.01f * static_cast<float>(i);
  // The last node looks like class 1 and is of class 0.
  const auto figures = [&](Part part) {
    const auto metrics = tasks::make_embedding_metrics(probe, part);
    metrics->add(rows, batch);
    return metrics->result();
  };
  CHECK(figures(Part::kTest).at("accuracy") == doctest::Approx(0.75));
  CHECK(figures(Part::kValid).at("accuracy") == doctest::Approx(1));
  const auto names = [&](Part part) {
    std::vector<std::string> all;
    for (const auto& [name, value] : figures(part)) all.push_back(name);
    return all;
  };
  CHECK(names(Part::kTest) ==
        std::vector<std::string>{"accuracy", "ari", "f1_macro", "f1_micro", "nmi"});
  CHECK(names(Part::kValid) == std::vector<std::string>{"accuracy", "ari", "nmi"});
  probe.clusters = false;
  CHECK(names(Part::kValid) == std::vector<std::string>{"accuracy"});
  probe.clusters = true;
  CHECK(figures(Part::kTest).at("nmi") > 0.3);
  // Outcomes are told by nodes, in their order, whatever rows they had.
  const auto outcomes = tasks::make_embedding_metrics(probe, Part::kTest);
  const Tensor back = torch::arange(9, -1, -1);
  Batch turned = batch;
  turned.queries.ids = array_of<std::uint64_t>({23, 22, 21, 20, 11, 10, 3, 2, 1, 0});
  turned.labels = array_of<std::int32_t>({0, 0, 1, 0, 1, 0, 1, 0, 1, 0});
  outcomes->add(rows.index_select(0, back), turned);
  const auto probed = outcomes->measured().probed;
  REQUIRE(probed.has_value());
  CHECK(torch::equal(probed->trained, torch::tensor({0, 1, 2, 3}, torch::kInt64)));
  CHECK(torch::equal(probed->tested, torch::tensor({20, 21, 22, 23}, torch::kInt64)));
  CHECK(torch::equal(probed->right, torch::tensor({true, true, true, false})));
  CHECK_FALSE(tasks::make_embedding_metrics(probe, Part::kTest)->measured().probed);
  CHECK(std::isnan(tasks::make_embedding_metrics(probe, Part::kTest)->result().at("accuracy")));
  rows[0][0] = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [name, value] : figures(Part::kTest)) CHECK(std::isnan(value));
}
