// A training loop of one's own, over a model and an optimizer by name, with the features on disk.
//
//   example_loop data/sbm [--device cuda]
#include <sluice/training.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>

using namespace sluice;

/// The share of a loader's nodes whose class the model knows.
static double accuracy(Model& model, Loader& loader) {
  const torch::NoGradGuard no_grad;
  model.eval();
  double right = 0, all = 0;
  loader.start({});
  while (const std::shared_ptr<const Batch> batch = loader.next()) {
    const torch::Tensor classes = model.encode(*batch)[0].argmax(1);  // a row a seed
    right += classes.eq(nn::as_tensor(batch->labels)).sum().item<double>();
    all += static_cast<double>(batch->num_queries());
  }
  return right / all;
}

int main(int argc, char** argv) try {
  prepare_process(argv);
  const bool on_gpu =
      argc > 3 && std::string_view(argv[2]) == "--device" && std::string_view(argv[3]) == "cuda";
  // Before anything of LibTorch. Null is the CPU.
  const std::shared_ptr<ComputeDevice> gpu = on_gpu ? open_gpu() : nullptr;
  MemoryLedger ledger(kGiB, "budget"), of_gpu(kGiB, "mini-batches on the GPU");
  const Dataset dataset = Dataset::open(argc > 1 ? argv[1] : "data/sbm", {.ledger = &ledger});
  GraphData data(
      dataset,
      {.features = Placement::kDisk, .compute = gpu, .compute_ledger = on_gpu ? &of_gpu : nullptr},
      0);
  const Split split = dataset.split("default");
  const GraphSchema& schema = dataset.schema();
  const auto& labels = schema.nodes[0].labels;
  if (!labels || labels->kind != LabelKind::kClass)
    throw Error(ErrorCode::kUsage, "the nodes have no classes", "sluice-prep inspect shows more");

  LoaderOptions options{.fanout = {10, 10}, .batch_size = 128};
  Loader train(data, options, split.train, {}, ledger);
  options.fanout = {-1, -1};  // all in-edges
  options.shuffle = options.transpose = false;
  Loader test(data, options, split.test, {}, ledger);

  ThreadArena threads;
  const RandomKey key(1);
  const ModelContext context{schema, {0}, labels->width, key, &threads, kernels_of(gpu.get())};
  const std::shared_ptr<Model> model = builtin_models().make("graphsage", "hidden = 32", context);
  model->to(nn::device_of(space_of(gpu.get())));
  OptimizerContext parameters;
  for (const auto& item : model->named_parameters())
    parameters.parameters.emplace_back(item.key(), item.value());
  const auto optimizer = builtin_optimizers().make("adam", "lr = 0.01", parameters);

  std::uint64_t step = 0;
  for (std::uint64_t epoch = 0; epoch < 10; ++epoch) {
    model->train();
    train.start({.epoch = epoch});
    while (const std::shared_ptr<const Batch> batch = train.next()) {
      model->set_step_key(key.with("step").with(step++));  // dropout is drawn by it
      const torch::Tensor classes = nn::as_tensor(batch->labels).to(torch::kInt64);
      const torch::Tensor loss =
          torch::nn::functional::cross_entropy(model->encode(*batch)[0], classes);
      optimizer->zero_grad();
      loss.backward();
      optimizer->step();
    }
  }
  std::printf("test accuracy %.4f\n", accuracy(*model, test));
} catch (const Error& error) {
  std::fprintf(stderr, "error: %s\n  %s\n", error.what(), error.hint().c_str());
  return static_cast<int>(error.code());
}
