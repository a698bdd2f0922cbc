#include "train/options.h"

#include "core/threads.h"
#include "train/pretrained.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <sstream>
#include <string_view>

namespace sluice {
namespace {

constexpr double kMany = 1e9;

// The flat keys of a dump: "train.epochs" -> "3".
std::map<std::string, std::string> flat_keys(const std::string& toml) {
  std::map<std::string, std::string> keys;
  std::istringstream lines(toml);
  std::string table;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    if (line.front() == '[') {
      table = line.substr(1, line.size() - 2) + ".";
      continue;
    }
    const auto equals = line.find(" = ");
    keys[table + line.substr(0, equals)] = line.substr(equals + 3);
  }
  return keys;
}

// What a run may be resumed with: it moves bytes and time, not results. Compute threads
// and the device are checked apart.
void clear_free_keys(RunOptions& options) {
  options.storage = {};
  options.storage.caches = &options.registry->caches;
  options.memory = {};
  options.run = {};
  options.dataset.path = "(checked by its fingerprint)";
  options.dataset.follow = false;  // whoever sets it wants other data
  const TrainSection defaults;
  if (!options.train.schedule.goes_by_epochs()) options.train.epochs = defaults.epochs;
  options.train.checkpoint_every = defaults.checkpoint_every;
  options.train.checkpoint_minutes = defaults.checkpoint_minutes;
  options.train.data_threads = defaults.data_threads;
  options.train.compute_threads = defaults.compute_threads;
  options.train.device = defaults.device;
  options.train.early_stopping.patience = 0;
  options.embedding.exact_run.clear();  // what the report says beside
}

std::map<std::string, std::string> result_keys(const std::string& text,
                                               const TrainRegistry& registry) {
  RunOptions options(registry);
  Config::parse(text, "config.resolved.toml").bind_to(options);
  clear_free_keys(options);
  return flat_keys(options.text());
}

// Whether weights mean something else by another value of this key, or other queries are for
// training by it. What is asked, and how it is sampled, is free.
bool is_of_weights(std::string_view key, const std::map<std::string, std::string>& keys) {
  constexpr std::array<std::string_view, 11> kOfTask{"task.relation",
                                                     "task.decoder",
                                                     "task.distance",
                                                     "task.gamma",
                                                     "task.reciprocal",
                                                     "task.edge_split",
                                                     "task.split_by",
                                                     "task.split_times",
                                                     "task.labels",
                                                     "task.past_labels",
                                                     "dataset.normalize"};
  if (key == "model.execution") return false;  // an order of sums
  if (key.starts_with("model.") || key.starts_with("continual.")) return true;
  if (std::ranges::find(kOfTask, key) != kOfTask.end()) return true;
  if (key != "seed") return false;
  // It draws the parts of links where shares of them are told, and no order of time.
  const auto shares = keys.find("task.edge_split");
  return shares != keys.end() && shares->second != "[]" && keys.count("task.split_by") == 0;
}

}  // namespace

void DatasetSection::describe(Schema& schema) {
  schema.field("path", path).help("the dataset directory, as sluice-prep made it").required();
  schema.field("split", split)
      .help("which of the dataset's splits gives train, valid and test seeds");
  schema
      .choice("normalize",
              normalize,
              {{"none", Normalize::kNone, "features as they are"},
               {"row_l1", Normalize::kRowL1, "each row divided by the sum of its absolute values"}})
      .help("what is done to feature rows on their way to the model");
  schema.field("follow", follow)
      .help(
          "at the start of each epoch go on with the dataset's newest generation (after "
          "sluice-prep "
          "append or compact), also when a run is resumed; results then depend on when it came. "
          "Edges "
          "on disk are taken up once compact has folded them in");
}

void MemorySection::describe(Schema& schema) {
  schema.field("host", host)
      .help(
          "budget of all buffers and tensors; the process takes up to 300 MiB more for code and "
          "libraries")
      .unit("bytes")
      .at_least(1 << 20);
  schema.field("gpu", gpu)
      .help(
          "budget of the GPU's memory: mini-batches in flight and tensors; 0: nine tenths of what "
          "is free. CUDA itself takes up to 600 MiB more")
      .unit("bytes");
}

void TrainStorageSection::describe(Schema& schema) {
  StorageSection::describe(schema);
  schema
      .choice("embeddings",
              embeddings,
              {{"auto",
                Keep::kAuto,
                "in memory when they take at most half of the budget, else on disk"},
               {"memory", Keep::kMemory, "all rows"},
               {"disk", Keep::kDisk, "rows are read as mini-batches need them, and written back"}})
      .help("where learned rows are kept while they are trained; never changes results");
}

void EmbeddingSection::describe(Schema& schema) {
  schema.field("types", types).help("node types whose nodes have learned rows; empty: all types");
  schema.field("dim", dim)
      .help("columns of a row; 0: no rows are learned. Models over features read them beside these")
      .range(0, 1 << 20);
  schema.choice("optimizer", optimizer, catalog_choices(*optimizers))
      .help("what turns gradients of rows into new rows; only rows that a mini-batch read move");
  schema.field("lr", lr).help("learning rate of rows").range(0, 1e3);
  schema.field("init", init)
      .help("rows start uniform in (-init, init), each by the seed and its node's number")
      .range(0, 1e3);
  schema.field("vectors", vectors)
      .help(
          "a .safetensors file of what rows begin as: rows, f32 [n, dim], and ids, whose nodes "
          "they "
          "are, as `sluice-train embed` writes them; other nodes' rows start by `init`. Where "
          "several node types have rows, a folder with TYPE.safetensors");
  schema
      .choice("mode",
              mode,
              {{"exact", RowsMode::kExact, "mini-batches are of any links, beside any nodes"},
               {"partitions",
                RowsMode::kPartitions,
                "links come by pairs of partitions that are in memory together, beside nodes of "
                "these, and neighbours are drawn among them: approximate, and bounded in what it "
                "reads and writes"}})
      .help(
          "how training goes through rows; partitions is for tasks about links. Evaluation is "
          "exact "
          "in both");
  schema.field("partitions", partitions)
      .help("of mode \"partitions\": parts that the rows of a type are divided into")
      .range(1, 4096);
  schema.field("slots", slots)
      .help(
          "of mode \"partitions\": parts that are trained together. Memory is for one more (of "
          "order comet for two), which is read and written meanwhile")
      .range(2, 4096);
  schema
      .choice("order",
              order,
              {{"auto", PartitionOrder::kAuto, "beta or legend, by a simulation of an epoch"},
               {"beta",
                PartitionOrder::kBeta,
                "all but one stay while the others come and go (MariusGNN)"},
               {"comet",
                PartitionOrder::kComet,
                "as beta over random pairs, a bucket at any time it may be (MariusGNN)"},
               {"sequential", PartitionOrder::kSequential, "as beta, the same in every epoch"},
               {"legend",
                PartitionOrder::kLegend,
                "the one that just came stays; the spare part is trained too"}})
      .help("of mode \"partitions\": which parts are in memory together, one after the other");
  schema.field("exact_run", exact_run)
      .help(
          "of mode \"partitions\": directory of a run that is done, of the same config in mode "
          "\"exact\", whose metrics the report sets beside this run's; empty: none");
}

void PretrainedSection::describe(Schema& schema) {
  schema.field("from", from)
      .help(
          "run directory of task \"self_supervised\" whose encoder, of the same [model], this run "
          "begins with; a matrix behind it makes the outputs. Empty: weights are drawn");
  schema.field("frozen", frozen)
      .help("whether the encoder stays as it is, and the matrix is learned alone");
  schema.field("width", width)
      .help("columns of the encoder's embeddings; 0: as its run says")
      .range(0, 1 << 16);
}

void EarlyStoppingSection::describe(Schema& schema) {
  schema.field("metric", metric)
      .help(
          "of the validation, such as \"valid.accuracy\": picks the best epoch; empty: the task's "
          "main metric");
  schema.field("patience", patience)
      .help(
          "stop after so many evaluations without a better value, not counting those without a "
          "figure (outputs that are not finite); 0: never stop early")
      .unit("evaluations")
      .range(0, kMany);
}

void TrainSection::describe(Schema& schema) {
  schema.field("epochs", epochs)
      .help("passes over the training seeds")
      .unit("epochs")
      .range(0, kMany);
  schema.field("batch_size", batch_size)
      .help("seeds in a mini-batch")
      .unit("seeds")
      .range(1, 1 << 30);
  schema.field("checkpoint_every", checkpoint_every)
      .help("write a checkpoint after so many epochs; 0: only at the end and on Ctrl-C")
      .unit("epochs")
      .range(0, kMany);
  schema.field("checkpoint_minutes", checkpoint_minutes)
      .help("write a checkpoint after so much time too, in the middle of an epoch; 0: off")
      .unit("minutes")
      .range(0, 1e6);
  schema
      .choice("device",
              device,
              {{"auto", DeviceChoice::kAuto, "a GPU where there is one that works, else the CPU"},
               {"cpu", DeviceChoice::kCpu, ""},
               {"cuda", DeviceChoice::kCuda, "an NVIDIA GPU; refused where there is none"}})
      .help("where the model runs. Fixed for a run: results depend on it");
  schema
      .choice("products",
              products,
              {{"f32", MatrixProducts::kFloat32, "as the weights are"},
               {"bf16",
                MatrixProducts::kBFloat16,
                "both sides rounded to 8 significant bits, sums in f32: faster where the processor "
                "has AMX or AVX512-BF16; approximate"}})
      .help("what the layers' matrix products are computed in");
  schema.field("hash_batches", hash_batches)
      .help(
          "keep batches_xxh3, the hash of all mini-batches, in the report; off lets a GPU gather "
          "features itself, without the host touching them");
  schema.field("data_threads", data_threads)
      .help("sample and read; 0: all cores. Never changes results")
      .unit("threads")
      .range(0, 4096);
  schema.field("compute_threads", compute_threads)
      .help("run the model; 0: all cores. Fixed for a run: results depend on it")
      .unit("threads")
      .range(0, 4096);
  schema.selection(
      "optimizer", optimizer, registry->optimizers, "turns gradients into new parameters");
  schema.section("schedule", schedule, "what becomes of the learning rates");
  schema.section("early_stopping", early_stopping, "which epoch is the best, and when to stop");
}

void EvalSection::describe(Schema& schema) {
  schema.field("fanout", fanout)
      .help(
          "as [sampler] fanout, for validation, test and predictions; empty: all in-edges in every "
          "layer")
      .unit("edges")
      .range(-1, kMany);
  schema.field("batch_size", batch_size)
      .help("seeds in a mini-batch")
      .unit("seeds")
      .range(1, 1 << 30);
  schema.field("every", every)
      .help("validate after so many epochs, and after the last")
      .unit("epochs")
      .range(1, kMany);
}

void RunSection::describe(Schema& schema) {
  schema.field("dir", dir)
      .help("the run directory: config, metrics, checkpoints, log; empty: runs/NAME of the config");
}

RunOptions::RunOptions(const TrainRegistry& known) : registry(&known) {
  train.registry = &known;
  storage.caches = &known.caches;
  embedding.optimizers = &known.sparse_optimizers;
}

void RunOptions::describe(Schema& schema) {
  schema.field("seed", seed)
      .help("of everything random: a run is a function of its config and seed");
  schema.section("dataset", dataset, "what to learn from");
  schema.section("storage", storage, "what sits where; never changes results");
  schema.section(
      "memory", memory, "the budget: a promise, refused at the start when it is too small");
  schema.selection(
      "sampler", sampler, registry->samplers, "which neighbours a mini-batch of training sees");
  schema.selection("model", model, registry->models, "what maps a mini-batch to outputs");
  schema.section("pretrained", pretrained, "an encoder that was trained without labels");
  schema.section("embedding", embedding, "rows that are learned, one a node");
  schema.selection("task", task, registry->tasks, "what the outputs are for");
  schema.section("train", train, "how to train");
  schema.section("eval", eval, "how to evaluate");
  schema.section("continual", continual, "training that goes on over what was appended");
  schema.section("replay", replay, "what of the old data it asks again");
  schema.section("run", run, "where the run is kept");
}

std::string RunOptions::text() {
  Schema schema;
  describe(schema);
  return schema.dump();
}

RunOptions resolve_options(const Config& config, const TrainRegistry& registry) {
  RunOptions options(registry);
  config.bind_to(options);
  if (options.dataset.path.empty()) {
    throw Error(ErrorCode::kUsage,
                "'dataset.path' is required: the dataset directory, as sluice-prep made it",
                "for example path = \"data/papers\" below [dataset]",
                Place{config.file(), -1, -1, -1});
  }
  // What does not go together is said at the start.
  (void)RateSchedule(options.train.schedule);
  (void)options.continual.stages();
  resolve_pretrained(options);
  if (options.run.dir.empty()) {
    const std::string stem = std::filesystem::path(config.file()).stem().string();
    options.run.dir = "runs/" + (stem.empty() ? "run" : stem);
  }
  if (options.train.compute_threads == 0) options.train.compute_threads = available_cores();
  return options;
}

std::vector<std::string> differences(const std::string& before,
                                     const std::string& now,
                                     const TrainRegistry& registry,
                                     Compared compared) {
  auto old_keys = result_keys(before, registry);
  auto new_keys = result_keys(now, registry);
  for (const auto& [key, value] : old_keys) new_keys.try_emplace(key, "(none)");
  std::vector<std::string> all;
  for (const auto& [key, value] : new_keys) {
    if (compared == Compared::kToMeasure && !is_of_weights(key, old_keys)) continue;
    const auto old = old_keys.find(key);
    const std::string was = old == old_keys.end() ? "(none)" : old->second;
    if (was != value) all.push_back(fmt::format("{}: {} -> {}", key, was, value));
  }
  return all;
}

}  // namespace sluice
