// Accuracy on Cora's public split, the epoch chosen on validation. One GCN seed by default;
// SLUICE_CORA_SEEDS=5 runs all three models over that many seeds and holds their means to the
// floors (minutes).
#include "models/cora.h"

#include "core/threads.h"

#include <cstdlib>

using namespace sluice;
using namespace sluice::testing;

namespace {

struct Case {
  std::string name;
  double floor;
  std::uint64_t epochs;
  std::string toml;
};

const Case kGcn{"gcn", 0.805, 200, R"(
model = { type = "gcn", layers = 2, hidden = 64, dropout = 0.7, input_dropout = 0.7 }
optimizer = { type = "adam", lr = 0.01, weight_decay = 5e-4 }
)"};

const Case kGat{"gat", 0.815, 200, R"(
[model]
type = "gat"
hidden = 64
heads = 8
dropout = 0.6
input_dropout = 0.6
attention_dropout = 0.6
[optimizer]
type = "adam"
lr = 0.005
weight_decay = 5e-4
)"};

const Case kSage{"graphsage", 0.795, 200, R"(
model = { type = "graphsage", hidden = 64, dropout = 0.5, input_dropout = 0.5 }
optimizer = { type = "adam", lr = 0.01, weight_decay = 5e-4 }
)"};

double accuracy(const Task& task, const torch::Tensor& outputs, const Array& labels) {
  Batch of_labels;
  of_labels.labels = labels;
  const auto metrics = task.make_metrics();
  metrics->add(outputs, of_labels);
  return metrics->result().at("accuracy");
}

/// The test accuracy of the first epoch with the best validation accuracy.
double train_on_cora(const Cora& cora, const Case& what, std::uint64_t seed) {
  ThreadArena arena;
  const RunOptions options(what.toml);
  const auto model = builtin_models().create(
      options.model, {cora.schema, {0}, 7, RandomKey(seed).with("init"), &arena});
  const auto optimizer = builtin_optimizers().create(options.optimizer, parameters_of(*model));
  const auto task = builtin_tasks().create({"node_classification", nullptr}, {cora.schema});
  double best_valid = -1, test = 0;
  for (std::uint64_t epoch = 0; epoch < what.epochs; ++epoch) {
    model->train();
    model->set_step_key(RandomKey(seed).with("step").with(epoch));
    optimizer->zero_grad();
    node_task(task).loss(model->encode(cora.batch)[0], cora.batch).backward();
    optimizer->step();
    model->eval();
    const torch::NoGradGuard no_grad;
    const torch::Tensor outputs = model->encode(cora.batch)[0];
    const double valid = accuracy(*task, outputs, cora.valid_labels);
    if (valid <= best_valid) continue;
    best_valid = valid;
    test = accuracy(*task, outputs, cora.test_labels);
  }
  return test;
}

double mean_over_seeds(const Cora& cora, const Case& what, std::uint64_t seeds) {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const double test = train_on_cora(cora, what, seed);
    MESSAGE(what.name << " seed " << seed << ": test accuracy " << test);
    sum += test;
  }
  return sum / static_cast<double>(seeds);
}

}  // namespace

TEST_CASE("Cora: GCN, GAT and GraphSAGE reach what plain implementations reach") {
  const auto cora = read_cora();
  if (!cora) {
    MESSAGE("skipped: no Cora in $SLUICE_DATA/cora nor in ../shared/data/cora");
    return;
  }
  const char* seeds = std::getenv("SLUICE_CORA_SEEDS");
  if (seeds == nullptr) {
    CHECK(mean_over_seeds(*cora, kGcn, 1) >= kGcn.floor);
    return;
  }
  for (const Case& what : {kGcn, kSage, kGat}) {
    const double mean = mean_over_seeds(*cora, what, std::strtoull(seeds, nullptr, 10));
    MESSAGE(what.name << ": mean test accuracy " << mean);
    CHECK(mean >= what.floor);
  }
}
