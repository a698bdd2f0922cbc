#include "train/parts.h"

#include "budget/stored_data.h"
#include "tasks/encoder_task.h"
#include "train/continual.h"
#include "train/encoded_nodes.h"
#include "train/pretrained.h"
#include "train/weights.h"

#include <sluice/nn/precision.h>
#include <sluice/tasks/pair_model.h>

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <utility>

namespace sluice {
namespace {

std::unique_ptr<const GraphSchema> narrow_schema(const Dataset& dataset, std::int64_t outputs) {
  if (outputs == 0) return nullptr;
  return std::make_unique<const GraphSchema>(narrow_labels(dataset.schema(), outputs));
}

std::unique_ptr<Task> make_task(const RunOptions& options,
                                const Dataset& dataset,
                                const GraphSchema& schema,
                                const RunDevice& device) {
  auto task =
      options.registry->tasks.create(options.task, {schema, RandomKey(options.seed).with("task")});
  divide_task(options, *task);
  task->open({dataset, options.dataset.split, RandomKey(options.seed)});
  if (const auto head = task->head()) head->to(device.place());
  return task;
}

std::unique_ptr<nn::LearnedRows> rows_over(const RowTables& tables,
                                           const RunDevice& device,
                                           const PartsPlacement& where) {
  std::vector<nn::LearnedRows::Table> all;
  for (const RowTables::Table& table : tables.tables()) all.push_back({table.name, table.rows});
  return std::make_unique<nn::LearnedRows>(
      std::move(all), device.place(), where.rows_on_device ? device.kernels() : nullptr);
}

// A task that trains an encoder by passes of its own gets what it runs these with.
void serve_encoder(const RunOptions& options,
                   const RunDevice& device,
                   const ModelContext& context,
                   const Model& model,
                   Task& task) {
  auto* const trains = dynamic_cast<tasks::EncoderTask*>(&task);
  if (trains == nullptr) return;
  std::shared_ptr<Model> target;
  if (trains->target_start() != tasks::TargetStart::kNone) {
    ModelContext own = context;
    own.key = RandomKey(options.seed).with("target model");
    target = make_run_model(options, own);
    target->to(device.place());
    if (options.train.products == MatrixProducts::kBFloat16)
      nn::set_precision(*target, nn::Precision::kBFloat16);
  }
  trains->serve(model, std::move(target));
}

std::shared_ptr<Model> make_model(const RunOptions& options,
                                  const Dataset& dataset,
                                  Task& task,
                                  const RunDevice& device,
                                  ThreadArena& threads,
                                  nn::LearnedRows& rows) {
  at::set_num_threads(options.train.compute_threads);  // before anything is computed
  const ModelContext context{dataset.schema(),
                             task.target_types(),
                             task.output_width(),
                             RandomKey(options.seed).with("model"),
                             &threads,
                             device.kernels(),
                             &rows};
  std::shared_ptr<Model> model = make_run_model(options, context);
  model->to(device.place());
  if (options.train.products == MatrixProducts::kBFloat16)
    nn::set_precision(*model, nn::Precision::kBFloat16);
  task.run_on({context.threads, context.kernels});
  serve_encoder(options, device, context, *model, task);
  return model;
}

std::unique_ptr<Optimizer> make_optimizer(const RunOptions& options,
                                          const Model& model,
                                          const Task& task) {
  OptimizerContext context;
  context.parameters = parameters_of(model, task);
  return options.registry->optimizers.create(options.train.optimizer, context);
}

GraphDataOptions placement_of(const RunOptions& options,
                              const RunDevice& device,
                              const PartsPlacement& where,
                              const SamplerMethod& sampler,
                              const Task& task,
                              const BatchNeeds& needs,
                              const GraphSchema& schema) {
  const std::uint64_t budget = options.memory.host.bytes;
  GraphDataOptions placement =
      stored_data_options({where.features,
                           where.topology,
                           where.phases,
                           budget,
                           {needs.feature_groups, needs.edge_feature_groups},
                           where.relations},
                          schema,
                          options.storage,
                          sampler);
  placement.compute = device.device;
  placement.compute_ledger = device.ledger.get();
  placement.edge_labels = needs.edge_labels;
  placement.edge_rules = task.edge_rules();
  placement.paged_times = !task.reads_events();
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

// A model that scores pairs is told what it may see by the sampler, which it samples nothing with.
void serve_pairs(const RunOptions& options,
                 const SamplerMethod& sampler,
                 Task& task,
                 Model& model) {
  auto* const pairs = dynamic_cast<PairModel*>(&model);
  if (pairs == nullptr) return;
  auto* const asks = dynamic_cast<PairTask*>(&task);
  if (asks == nullptr)
    throw Error(ErrorCode::kUsage,
                fmt::format("model '{}' scores pairs of nodes at times, which task '{}' does not "
                            "ask about",
                            options.model.type,
                            options.task.type),
                "set task.type = \"temporal_link_prediction\", or choose another model");
  asks->serve(*pairs, sampler.visibility());
}

// Of mini-batches of training: the model's, and those that the task has behind them.
std::int64_t training_layers(const Model& model, const Task& task) {
  const auto* const trains = dynamic_cast<const tasks::EncoderTask*>(&task);
  return model.num_layers() + (trains == nullptr ? 0 : trains->layers_behind());
}

/// @param wanted of mini-batches @param model those of them that are the model's
void check_layers(const RunOptions& options,
                  const SamplerMethod& sampler,
                  std::int64_t wanted,
                  std::int64_t model) {
  if (sampler.num_layers() == static_cast<std::size_t>(wanted)) return;
  const std::string behind =
      wanted == model ? ""
                      : fmt::format(" and task '{}' another {}", options.task.type, wanted - model);
  throw Error(ErrorCode::kUsage,
              fmt::format("[sampler] '{}' makes {} layers, model '{}' has {}{}",
                          options.sampler.type,
                          sampler.num_layers(),
                          options.model.type,
                          model,
                          behind),
              options.sampler.type == "neighbor"
                  ? "give sampler.fanout one number a layer, the first next to the seeds"
                  : "give both as many layers");
}

LoaderOptions common_options(const RunOptions& options, const Model& model, TraceWriter* trace) {
  LoaderOptions loader;
  loader.trace = trace;
  loader.seed = options.seed;
  loader.hash = options.train.hash_batches;
  const BatchNeeds needs = model.needs();
  loader.degrees = needs.degrees;
  loader.relation_degrees = needs.relation_degrees;
  loader.edge_ids = needs.edge_ids;
  loader.deferred_features = needs.deferred_features;
  loader.normalize_rows = options.dataset.normalize == Normalize::kRowL1;
  loader.window = options.storage.window;
  loader.data_threads = options.train.data_threads;
  return loader;
}

}  // namespace

GraphSchema narrow_labels(const GraphSchema& schema, std::int64_t classes) {
  GraphSchema narrow = schema;
  const auto cut = [classes](std::optional<LabelSchema>& labels) {
    if (classes == 0 || !labels || labels->kind == LabelKind::kRegression) return;
    if (labels->width <= classes) return;
    labels->width = static_cast<std::uint32_t>(classes);
    labels->names.clear();
  };
  for (NodeTypeSchema& type : narrow.nodes) cut(type.labels);
  for (RelationSchema& relation : narrow.relations) cut(relation.labels);
  return narrow;
}

Parts::Parts(const RunOptions& chosen, RunDevice where, LedgerPtr book, const PartsPlacement& kept)
    : options(chosen),
      placement(kept),
      device(std::move(where)),
      ledger(std::move(book)),
      tensors(ledger),
      dataset(Dataset::open(options.dataset.path, {ledger.get(), options.storage.verify})),
      narrow(narrow_schema(dataset, placement.outputs)),
      task(make_task(options, dataset, narrow ? *narrow : dataset.schema(), device)),
      sampler(options.registry->samplers.create(options.sampler)),
      compute(options.train.compute_threads),
      tables(options,
             dataset.schema(),
             placement.embeddings,
             placement.rows,
             ledger.get(),
             &compute,
             open_initial_vectors(options.embedding, options.dataset.follow, dataset)),
      rows(rows_over(tables, device, placement)),
      model(make_model(options, dataset, *task, device, compute, *rows)),
      state(*model,
            tables,
            {options, dataset, placement.embeddings, device.place(), ledger.get(), &compute}),
      data(dataset,
           placement_of(
               options, device, placement, *sampler, *task, model->needs(), dataset.schema()),
           task->labels_of()),
      optimizer(make_optimizer(options, *model, *task)) {
  if (placement.asked == AskedFor::kBestEnds) task->expect_best_ends();
  if (placement.asked == AskedFor::kTrainOutputs) rank_training_links(*this);
  task->attach(data);
  serve_pairs(options, *sampler, *task, *model);
  rank_among_drawn(*this);
}

NamedTensors Parts::weights() const {
  return weights_of(*model, *task);
}

std::uint64_t Parts::learned_xxh3() const {
  Hasher hasher;
  add_weights(hasher, weights());
  tables.hash(hasher);
  return hasher.digest();
}

std::optional<Dataset> Parts::newer() const {
  std::optional<Dataset> now = dataset.newer();
  if (!now) return now;
  const std::vector<RelationSchema>& relations = now->schema().relations;
  bool logged = false;
  for (std::size_t r = 0; r < relations.size(); ++r)
    logged |= relations[r].appended != 0 && data.options().topology_of(r) == Placement::kDisk;
  return logged ? std::nullopt : std::move(now);
}

bool Parts::follow() {
  for (;;) {
    std::optional<Dataset> now = newer();
    if (!now) return false;
    outgrown.push_back(std::move(dataset));
    dataset = *std::move(now);
    try {
      task->open({dataset, options.dataset.split, key()});
      data.reopen(dataset);
      tables.grow(dataset.schema());
      state.reopen(dataset);
      task->attach(data);
      replay.reset();
      serve_pairs(options, *sampler, *task, *model);
      return true;
    } catch (const Error&) {
      if (!dataset.newer()) throw;  // else it was replaced while it was opened
    }
  }
}

std::unique_ptr<Loader> Parts::training_loader(const LoaderMemory& memory) {
  LoaderOptions loader = common_options(options, *model, trace);
  loader.fanout = {};
  const std::int64_t layers = training_layers(*model, *task);
  if (layers != 0) {
    check_layers(options, *sampler, layers, model->num_layers());
    loader.sampler = sampler;
  }
  QueryRequest asked{Part::kTrain, options.train.batch_size, true, key(), {}, ledger.get()};
  asked.sampler = loader.sampler;
  if (layers != 0 && placement.rows == RowsMode::kPartitions)
    loader.sampler = in_buffer_sampler(*this);
  if (partitions) {
    asked.links = partitions->links();
    asked.order = partitions->order();
  }
  auto queries = with_replay(*this, asked, task->queries(asked, data));
  return std::make_unique<Loader>(data, loader, std::move(queries), memory, *ledger);
}

std::unique_ptr<Loader> Parts::evaluation_loader(Part part, const LoaderMemory& memory) {
  LoaderOptions loader = common_options(options, *model, trace);
  loader.exact = true;
  loader.transpose = false;
  QueryRequest asked{part, options.eval.batch_size, false, key(), {}, ledger.get()};
  asked.links = asked_events;
  if (sampler->needs_times() && model->num_layers() != 0) {
    // Whoever does not look at times would see what came later.
    if (!options.eval.fanout.empty())
      throw Error(ErrorCode::kUsage,
                  fmt::format("'eval.fanout' is set, and [sampler] '{}' evaluates as it trains",
                              options.sampler.type),
                  "leave eval.fanout out");
    check_layers(options, *sampler, model->num_layers(), model->num_layers());
    loader.fanout = {};
    loader.sampler = sampler;
    asked.sampler = sampler;
  } else {
    loader.fanout = evaluation_fanout(options, *model);
  }
  return std::make_unique<Loader>(data, loader, task->queries(asked, data), memory, *ledger);
}

}  // namespace sluice
