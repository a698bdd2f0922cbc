#include "train/parts.h"

#include "nn/precision.h"
#include "pipeline/read_buffers.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice {
namespace {

std::unique_ptr<const GraphSchema> narrow_schema(const Dataset& dataset, std::int64_t outputs) {
  if (outputs == 0) return nullptr;
  return std::make_unique<const GraphSchema>(narrow_labels(dataset.schema(), outputs));
}

std::unique_ptr<Task> make_task(const RunOptions& options, const GraphSchema& schema) {
  return options.registry->tasks.create(options.task, {schema});
}

Split open_split(const RunOptions& options, const Dataset& dataset, const Task& task) {
  Split split = dataset.split(options.dataset.split);
  const std::string& target = dataset.schema().nodes[task.target_type()].name;
  if (split.node_type == target) return split;
  throw Error(ErrorCode::kUsage,
              fmt::format("split '{}' is of node type '{}', the task is about '{}'",
                          options.dataset.split,
                          split.node_type,
                          target),
              "choose another [dataset] split or [task] node_type");
}

std::shared_ptr<Model> make_model(const RunOptions& options,
                                  const Dataset& dataset,
                                  const Task& task,
                                  const RunDevice& device,
                                  ThreadArena& threads) {
  at::set_num_threads(options.train.compute_threads);  // before anything is computed
  const ModelContext context{dataset.schema(),
                             task.target_type(),
                             task.output_width(),
                             RandomKey(options.seed).with("model"),
                             &threads,
                             device.kernels()};
  std::shared_ptr<Model> model = options.registry->models.create(options.model, context);
  model->to(device.place());
  if (options.train.products == MatrixProducts::kBFloat16)
    nn::set_precision(*model, nn::Precision::kBFloat16);
  return model;
}

std::unique_ptr<Optimizer> make_optimizer(const RunOptions& options, Model& model) {
  OptimizerContext context;
  for (const auto& item : model.named_parameters())
    context.parameters.emplace_back(item.key(), item.value());
  return options.registry->optimizers.create(options.train.optimizer, context);
}

// Pages of edges on disk that stay in memory.
std::uint64_t topology_cache_bytes(std::uint64_t budget) {
  return std::max<std::uint64_t>(budget / 16, 256 * kKiB);
}

GraphDataOptions placement_of(const RunOptions& options,
                              const RunDevice& device,
                              const PartsPlacement& where,
                              const SamplerMethod& sampler,
                              const GraphSchema& schema) {
  // Where all is tight, large reads are little help, and kept pages of edges less.
  const std::uint64_t budget = options.memory.host.bytes;
  GraphDataOptions placement;
  placement.compute = device.device;
  placement.compute_ledger = device.ledger.get();
  const auto tables = std::ranges::count_if(
      schema.nodes, [](const NodeTypeSchema& type) { return !type.features.empty(); });
  placement.staging_bytes =
      read_buffer_bytes(where.in_turns ? budget / 4 : budget, static_cast<std::size_t>(tables));
  placement.features = where.features;
  placement.topology = where.topology;
  placement.topology_cache_bytes = topology_cache_bytes(where.in_turns ? budget / 16 : budget);
  placement.edge_weights = sampler.needs_weights();
  placement.snapshot = sampler.snapshot();
  placement.cache = options.storage.cache;
  placement.plan = options.storage.plan;
  placement.io = options.storage.io;
  return placement;
}

// The fanout of evaluation, one number a layer; a model that looks at no neighbours needs none.
std::vector<std::int64_t> evaluation_fanout(const RunOptions& options, const Model& model) {
  const auto layers = static_cast<std::size_t>(model.num_layers());
  if (layers == 0) return {};
  const std::vector<std::int64_t>& fanout = options.eval.fanout;
  if (fanout.empty()) return std::vector<std::int64_t>(layers, -1);
  if (fanout.size() == layers) return fanout;
  throw Error(ErrorCode::kUsage,
              fmt::format("'eval.fanout' has {} numbers, model '{}' has {} layers",
                          fanout.size(),
                          options.model.type,
                          layers),
              "give eval.fanout one number a layer, the first next to the seeds");
}

void check_layers(const RunOptions& options, const SamplerMethod& sampler, const Model& model) {
  const auto layers = static_cast<std::size_t>(model.num_layers());
  if (sampler.num_layers() == layers) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("[sampler] '{}' makes {} layers, model '{}' has {}",
                          options.sampler.type,
                          sampler.num_layers(),
                          options.model.type,
                          layers),
              options.sampler.type == "neighbor"
                  ? "give sampler.fanout one number a layer, the first next to the seeds"
                  : "give both as many layers");
}

LoaderOptions common_options(const RunOptions& options, const Model& model, TraceWriter* trace) {
  LoaderOptions loader;
  loader.trace = trace;
  loader.seed = options.seed;
  loader.hash = options.train.hash_batches;
  loader.degrees = model.needs().degrees;
  loader.normalize_rows = options.dataset.normalize == Normalize::kRowL1;
  loader.window = options.storage.window;
  loader.data_threads = options.train.data_threads;
  return loader;
}

}  // namespace

GraphSchema narrow_labels(const GraphSchema& schema, std::int64_t classes) {
  GraphSchema narrow = schema;
  for (NodeTypeSchema& type : narrow.nodes) {
    if (classes == 0 || !type.labels || type.labels->kind == LabelKind::kRegression) continue;
    if (type.labels->width <= classes) continue;
    type.labels->width = static_cast<std::uint32_t>(classes);
    type.labels->names.clear();
  }
  return narrow;
}

std::string to_string(Part part) {
  switch (part) {
    case Part::kTrain:
      return "train";
    case Part::kValid:
      return "valid";
    case Part::kTest:
      return "test";
    case Part::kAll:
      return "all";
  }
  return {};
}

Parts::Parts(const RunOptions& chosen, RunDevice where, LedgerPtr book, const PartsPlacement& kept)
    : options(chosen),
      placement(kept),
      device(std::move(where)),
      ledger(std::move(book)),
      tensors(ledger),
      dataset(Dataset::open(options.dataset.path, {ledger.get(), options.storage.verify})),
      narrow(narrow_schema(dataset, placement.outputs)),
      task(make_task(options, narrow ? *narrow : dataset.schema())),
      split(open_split(options, dataset, *task)),
      sampler(options.registry->samplers.create(options.sampler)),
      data(dataset,
           placement_of(options, device, placement, *sampler, dataset.schema()),
           task->target_type()),
      compute(options.train.compute_threads),
      model(make_model(options, dataset, *task, device, compute)),
      optimizer(make_optimizer(options, *model)) {}

std::optional<Dataset> Parts::newer() const {
  std::optional<Dataset> now = dataset.newer();
  if (!now || data.options().topology == Placement::kMemory) return now;
  const bool logged = std::ranges::any_of(
      now->schema().relations, [](const RelationSchema& each) { return each.appended != 0; });
  return logged ? std::nullopt : std::move(now);
}

bool Parts::follow() {
  for (;;) {
    std::optional<Dataset> now = newer();
    if (!now) return false;
    outgrown.push_back(std::move(dataset));
    dataset = *std::move(now);
    try {
      data.reopen(dataset);
      split = open_split(options, dataset, *task);
      return true;
    } catch (const Error&) {
      if (!dataset.newer()) throw;  // else it was replaced while it was opened
    }
  }
}

std::uint64_t Parts::count(Part part) const {
  return part == Part::kAll ? target().count : static_cast<std::uint64_t>(seeds(part).numel());
}

Array Parts::seeds(Part part) const {
  if (part == Part::kTrain) return split.train;
  if (part == Part::kValid) return split.valid;
  if (part == Part::kTest) return split.test;
  Array all =
      Array::make(DType::kU64, {static_cast<std::int64_t>(target().count)}, ledger.get(), "seeds")
          .or_throw();
  const std::span<std::uint64_t> ids = all.as<std::uint64_t>();
  std::iota(ids.begin(), ids.end(), std::uint64_t{0});
  return all;
}

std::unique_ptr<Loader> Parts::training_loader(const LoaderMemory& memory) {
  LoaderOptions loader = common_options(options, *model, trace);
  loader.fanout = {};
  if (model->num_layers() != 0) {
    check_layers(options, *sampler, *model);
    loader.sampler = sampler;
  }
  loader.batch_size = options.train.batch_size;
  return std::make_unique<Loader>(data, loader, split.train, memory, *ledger);
}

std::unique_ptr<Loader> Parts::evaluation_loader(Part part, const LoaderMemory& memory) {
  LoaderOptions loader = common_options(options, *model, trace);
  loader.fanout = evaluation_fanout(options, *model);
  loader.batch_size = options.eval.batch_size;
  loader.shuffle = false;
  loader.exact = true;
  loader.transpose = false;
  return std::make_unique<Loader>(data, loader, seeds(part), memory, *ledger);
}

}  // namespace sluice
