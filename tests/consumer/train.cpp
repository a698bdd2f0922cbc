// A model, a sampler and a query source of one's own, in a hand-written loop with the features on
// disk (`my-train loop DATASET`), and in the training tool (any other arguments).
#include "repeated_nodes.h"
#include "strided_sampler.h"

#include <sluice/training.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

using namespace sluice;

/// Two layers: a node's own row, and the mean of its sampled neighbours' by a block operation.
class TwoMeans final : public Model {
 public:
  struct Options {
    std::int64_t hidden = 32;
    void describe(Schema& schema) {
      schema.field("hidden", hidden).help("columns between the layers").range(1, 4096);
    }
  };

  TwoMeans(const Options& options, const ModelContext& context)
      : type_(context.target_types.at(0)), executor_{context.threads, context.kernels} {
    const std::int64_t widths[] = {
        context.schema.nodes[type_].features.at(0).dim, options.hidden, context.output_width};
    for (std::uint64_t i = 0; i < 2; ++i) {
      const RandomKey key = context.key.with("layer").with(i);
      own_[i] = register_module(
          "own" + std::to_string(i),
          std::make_shared<nn::Linear>(widths[i], widths[i + 1], nn::Bias::kZero, key.with("own")));
      neighbours_[i] =
          register_module("neighbours" + std::to_string(i),
                          std::make_shared<nn::Linear>(
                              widths[i], widths[i + 1], nn::Bias::kNone, key.with("next")));
    }
  }

  std::int64_t num_layers() const override { return 2; }

  Encoding encode(const Batch& batch) override {
    torch::Tensor x = nn::as_tensor(batch.features(type_));
    for (std::size_t i = 0; i < 2; ++i) {
      const auto block = std::make_shared<const Block>(batch.layers[i][0]);
      const torch::Tensor mean = nn::sampled_degrees(*block).clamp_min(1).reciprocal();
      const torch::Tensor sums = nn::sum_neighbours({executor_, block}, x, {}, mean);
      x = own_[i]->forward(x.narrow(0, 0, block->num_targets)) + neighbours_[i]->forward(sums);
      if (i == 0) x = torch::relu(x);
    }
    Encoding rows(batch.nodes.size());
    rows[type_] = x;
    return rows;
  }

 private:
  std::size_t type_;
  kernels::Executor executor_;
  std::shared_ptr<nn::Linear> own_[2], neighbours_[2];
};

/// A row a query: a node may be asked about several times.
static torch::Tensor outputs(Model& model, const Batch& batch) {
  return model.encode(batch)[0].index_select(0, nn::as_tensor(batch.queries.nodes));
}

static double accuracy(Model& model, Loader& loader, std::int64_t classes) {
  const torch::NoGradGuard no_grad;
  model.eval();
  const auto metrics = tasks::make_class_metrics(classes);
  loader.start({});
  while (const std::shared_ptr<const Batch> batch = loader.next())
    metrics->add(outputs(model, *batch), *batch);
  return metrics->result().at("accuracy");
}

static int loop(const char* path) {
  const auto ledger = std::make_shared<MemoryLedger>(512 * kMiB, "budget");
  const nn::LedgerAllocation tensors(ledger);
  const Dataset dataset = Dataset::open(path, {.ledger = ledger.get()});
  GraphData data(dataset, {.features = Placement::kDisk}, 0);
  const Split split = dataset.split("default");
  const std::int64_t classes = dataset.schema().nodes[0].labels->width;
  const RandomKey key(7);

  LoaderOptions options;
  options.sampler = std::make_shared<SamplerKind<StridedSampler>>(StridedOptions{.stride = 1});
  options.batch_size = 64;
  const LoaderMemory memory{.window_bytes = 32 * kMiB};
  Loader train(
      data, options, std::make_shared<RepeatedNodes>(split.train, 64, key), memory, *ledger);
  options.transpose = false;
  Loader test(data, options, split.test, memory, *ledger);

  ThreadArena threads(2);
  const auto model = std::make_shared<TwoMeans>(
      TwoMeans::Options{}, ModelContext{dataset.schema(), {0}, classes, key, &threads});
  OptimizerContext parameters;
  for (const auto& item : model->named_parameters())
    parameters.parameters.emplace_back(item.key(), item.value());
  const auto optimizer = builtin_optimizers().make("adam", "lr = 0.01", parameters);

  for (std::uint64_t epoch = 0; epoch < 10; ++epoch) {
    model->train();
    train.start({.epoch = epoch});
    while (const std::shared_ptr<const Batch> batch = train.next()) {
      const torch::Tensor loss = torch::nn::functional::cross_entropy(
          outputs(*model, *batch), nn::as_tensor(batch->labels).to(torch::kInt64));
      optimizer->zero_grad();
      loss.backward();
      optimizer->step();
    }
  }
  const double right = accuracy(*model, test, classes);
  std::printf("test accuracy %.4f, peak %s\n", right, format_bytes(ledger->peak()).c_str());
  return right > 0.85 ? 0 : 1;  // a quarter by chance
}

int main(int argc, char** argv) try {
  if (argc == 3 && argv[1] == std::string_view("loop")) {
    prepare_process(argv);
    return loop(argv[2]);
  }
  TrainRegistry registry = TrainRegistry::builtin();
  registry.models.add<TwoMeans>("two_means", "own row and the mean of the neighbours', twice");
  registry.samplers.add<SamplerKind<StridedSampler>>("strided", "one in-edge of so many");
  return train_main(argc, argv, registry);
} catch (const Error& error) {
  std::fprintf(stderr, "error: %s\n  %s\n", error.what(), error.hint().c_str());
  return static_cast<int>(error.code());
}
