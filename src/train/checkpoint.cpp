#include "train/checkpoint.h"

#include "core/hash.h"
#include "core/json_text.h"
#include "train/measured_split.h"
#include "train/weights.h"

#include <sluice/nn/tensor_view.h>
#include <sluice/tasks/continual_task.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kModel = "model/";
constexpr const char* kOptimizer = "optimizer/";
constexpr const char* kBest = "best/";

// A double as its bits: exact, and there for infinities and NaN, which JSON has no words for.
std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}
double number(const Json& json) {
  return std::bit_cast<double>(json.get<std::uint64_t>());
}

Json to_json(const PartitionFigures& figures) {
  return {{"swaps", figures.swaps},
          {"bytes_read", figures.bytes_read},
          {"bytes_written", figures.bytes_written},
          {"waited", figures.waited}};
}

PartitionFigures partition_figures(const Json& json) {
  return {json.at("swaps"), json.at("bytes_read"), json.at("bytes_written"), json.at("waited")};
}

Json bits_of(const Metrics& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics) json[name] = bits(value);
  return json;
}

Metrics metrics_of(const Json& json) {
  Metrics metrics;
  for (const auto& [name, value] : json.items()) metrics[name] = number(value);
  return metrics;
}

Json to_json(const RunState& state) {
  Json json = {{"epoch", state.epoch},
               {"next_batch", state.next_batch},
               {"loss_sum", bits(state.loss_sum)},
               {"loss_seeds", state.loss_seeds},
               {"loss_labels", state.loss_labels},
               {"batches_xxh3", state.batches_xxh3},
               {"without_better", state.without_better},
               {"plateau", {state.plateau.reductions, state.plateau.waited}},
               {"last_loss", bits(state.last_loss)},
               {"metrics_lines", state.metrics_lines},
               {"bytes_read", state.bytes_read},
               {"bytes_written", state.bytes_written},
               {"bytes_useful", state.bytes_useful},
               {"counters", to_json(state.counters)},
               {"partitions", to_json(state.partitions)},
               {"seconds", state.seconds},
               {"epoch_seconds", state.epoch_seconds},
               {"epochs", state.epochs},
               {"rows", state.rows}};
  if (!state.old_test.empty()) json["old_test"] = bits_of(state.old_test);
  if (state.best) {
    json["best"] = {{"epoch", state.best->epoch},
                    {"value", bits(state.best->value)},
                    {"metrics", bits_of(state.best->metrics)},
                    {"rows", state.best->rows}};
  }
  return json;
}

// Checkpoints of runs without learned rows name none.
RowGenerations rows_of(const Json& json) {
  return json.value("rows", RowGenerations{});
}

RunState state_of(const Json& json) {
  RunState state;
  state.epoch = json.at("epoch");
  state.next_batch = json.at("next_batch");
  state.loss_sum = number(json.at("loss_sum"));
  state.loss_seeds = json.at("loss_seeds");
  state.loss_labels = json.value("loss_labels", state.loss_seeds);  // once all seeds counted
  state.batches_xxh3 = json.at("batches_xxh3");
  state.without_better = json.at("without_better");
  if (json.contains("plateau"))  // not in checkpoints of before there were schedules
    state.plateau = {json.at("plateau").at(0), json.at("plateau").at(1)};
  state.last_loss = number(json.at("last_loss"));
  state.metrics_lines = json.at("metrics_lines");
  state.bytes_read = json.at("bytes_read");
  state.bytes_written = json.at("bytes_written");
  state.bytes_useful = json.at("bytes_useful");
  // Checkpoints of before there were counters go on without.
  if (json.contains("counters")) state.counters = counters_of(json.at("counters"));
  if (json.contains("partitions")) state.partitions = partition_figures(json.at("partitions"));
  state.seconds = json.at("seconds");
  state.epoch_seconds = json.at("epoch_seconds");
  state.epochs = json.at("epochs").get<std::vector<double>>();
  state.rows = rows_of(json);
  if (json.contains("old_test")) state.old_test = metrics_of(json.at("old_test"));
  if (json.contains("best")) {
    const Json& best = json.at("best");
    state.best = BestEpoch{best.at("epoch"),
                           number(best.at("value")),
                           metrics_of(best.at("metrics")),
                           {},
                           rows_of(best)};
  }
  return state;
}

// A best checkpoint's state is that of when it was written, which may be epochs after the best.
RunState state_at_weights(const Json& json) {
  RunState state = state_of(json.at("state"));
  if (json.at("kind") == "best" && state.best) {
    state.epoch = state.best->epoch;
    state.next_batch = 0;
    state.rows = state.best->rows;
  }
  return state;
}

Json identity_json(const Parts& parts, const std::string& config) {
  Json json = {{"config", config},
               {"model", parts.options.model.type},
               {"task", parts.options.task.type},
               {"classes", parts.task->class_names()},
               {"fingerprint", parts.dataset.fingerprint()},
               {"generation", parts.dataset.generation()},
               {"compute_threads", parts.options.train.compute_threads},
               {"device", parts.device.kind()}};
  if (const auto* const task = dynamic_cast<const ContinualTask*>(parts.task.get()))
    json["num_ids"] = task->num_ids(parts.dataset.schema());
  return json;
}

// What a checkpoint holds of its run besides numbers and tensors.
struct Identity {
  std::string config;
  std::string model;
  std::string task;
  std::uint64_t fingerprint = 0;
  std::uint64_t generation = 0;
  int compute_threads = 0;
  std::string device;
};

Identity identity_of(const Json& json) {
  return {json.at("config"),
          json.at("model"),
          json.at("task"),
          json.at("fingerprint"),
          json.value("generation", std::uint64_t{0}),
          json.at("compute_threads"),
          json.value("device", "cpu")};
}

Place place(const std::filesystem::path& path) {
  return Place{path.string(), -1, -1, -1};
}

// Runs `read` over the checkpoint's state; a state without what it should have is damage that no
// checksum sees.
template <class Read>
auto parse_state(const std::filesystem::path& path, const std::string& text, Read read) {
  try {
    return read(Json::parse(text));
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::kData,
                fmt::format("the checkpoint's state makes no sense: {}", error.what()),
                "use another checkpoint of the run",
                place(path));
  }
}

void add_tensors(CheckpointContent& content, const char* prefix, const NamedTensors& tensors) {
  for (const auto& [name, tensor] : tensors)
    content.tensors.push_back({prefix + name, nn::as_array(tensor)});
}

NamedTensors tensors_of(const CheckpointContent& content, std::string_view prefix) {
  NamedTensors tensors;
  for (const CheckpointTensor& tensor : content.tensors) {
    if (tensor.name.compare(0, prefix.size(), prefix) != 0) continue;
    tensors.emplace(tensor.name.substr(prefix.size()), nn::as_tensor(tensor.value));
  }
  return tensors;
}

std::string shape_text(const torch::Tensor& tensor) {
  std::ostringstream text;
  text << torch::toString(tensor.scalar_type()) << ' ' << tensor.sizes();
  return text.str();
}

void check_weights(const std::filesystem::path& path,
                   const NamedTensors& own,
                   const NamedTensors& stored) {
  std::string trouble;
  for (const auto& [name, tensor] : own) {
    const auto found = stored.find(name);
    if (found == stored.end()) {
      trouble = fmt::format("it has no weight '{}'", name);
    } else if (found->second.sizes() != tensor.sizes() ||
               found->second.scalar_type() != tensor.scalar_type()) {
      trouble = fmt::format("weight '{}' is {} in it and {} in the model",
                            name,
                            shape_text(found->second),
                            shape_text(tensor));
    }
    if (!trouble.empty()) break;
  }
  for (const auto& [name, tensor] : stored) {
    if (trouble.empty() && own.find(name) == own.end())
      trouble = fmt::format("the model has no weight '{}'", name);
  }
  if (trouble.empty()) return;
  throw Error(ErrorCode::kData,
              "the checkpoint is of another model: " + trouble,
              "use the config that the checkpoint was made with",
              place(path));
}

// The weights are of this model and task.
void check_types(const std::filesystem::path& path, const Identity& identity, const Parts& parts) {
  const auto check_type =
      [&](const char* what, const std::string& stored, const std::string& asked) {
        if (stored == asked) return;
        throw Error(
            ErrorCode::kUsage,
            fmt::format("the checkpoint is of {} '{}', the run is of '{}'", what, stored, asked),
            "use the config that the checkpoint was made with",
            place(path));
      };
  check_type("model", identity.model, parts.options.model.type);
  check_type("task", identity.task, parts.options.task.type);
}

// And of this dataset.
void check_identity(const std::filesystem::path& path,
                    const Identity& identity,
                    const Parts& parts) {
  check_types(path, identity, parts);
  if (identity.fingerprint == parts.dataset.fingerprint()) return;
  const bool grown = parts.dataset.generation() > identity.generation;
  if (parts.options.dataset.follow && grown) return;
  throw Error(ErrorCode::kData,
              fmt::format("the dataset changed under the run: {} has fingerprint {}, the "
                          "checkpoint was made with {}",
                          parts.dataset.path(),
                          hex64(parts.dataset.fingerprint()),
                          hex64(identity.fingerprint)),
              grown ? "to go on with what was appended set dataset.follow = true; else bring the "
                      "dataset back as it was, or start a new run in another directory"
                    : "bring the dataset back as it was, or start a new run in another directory",
              place(path));
}

// Going on gives what an uninterrupted run would have given.
void check_continuation(const std::filesystem::path& path,
                        const Identity& identity,
                        const Parts& parts) {
  const int threads = parts.options.train.compute_threads;
  if (identity.compute_threads != threads) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format(
            "the run was begun with train.compute_threads = {} and cannot go on with {}: results "
            "depend on it",
            identity.compute_threads,
            threads),
        fmt::format("leave train.compute_threads out, or set it to {}", identity.compute_threads),
        place(path));
  }
  if (const std::string device = parts.device.kind(); identity.device != device) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the run was begun on device '{}' and cannot go on on '{}': results "
                            "depend on it",
                            identity.device,
                            device),
                identity.device == "cpu"
                    ? "go on with --set train.device=cpu, or start a new run in another directory"
                    : "go on where there is such a device, or start a new run in another directory",
                place(path));
  }
  RunOptions now = parts.options;
  now.run = {};  // free, and maybe a name that no config can hold
  const std::vector<std::string> changed =
      differences(identity.config, now.text(), *parts.options.registry);
  if (changed.empty()) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("a run cannot go on with other settings than it began with\n  {}",
                          fmt::join(changed, "\n  ")),
              "leave them as they were, or start a new run in another directory",
              place(path));
}

std::string split_of(const Identity& identity, const Parts& parts) {
  RunOptions trained(*parts.options.registry);
  Config::parse(identity.config, "config.resolved.toml").bind_to(trained);
  return trained.dataset.split;
}

// Figures and predictions are those of the model that was trained, over what it was not trained on.
// What was not trained has no weights, and takes any options.
void check_measured(const std::filesystem::path& path,
                    const Identity& identity,
                    const RunState& state,
                    const Parts& parts) {
  if (state.epoch == 0 && state.next_batch == 0) return;
  RunOptions now = parts.options;
  now.run = {};
  const std::vector<std::string> changed =
      differences(identity.config, now.text(), *parts.options.registry, Compared::kToMeasure);
  if (changed.empty()) return check_measured_split(split_of(identity, parts), parts, place(path));
  throw Error(ErrorCode::kUsage,
              fmt::format("weights cannot be used with another model or split than they were "
                          "trained with\n  {}",
                          fmt::join(changed, "\n  ")),
              "leave --set of these out, or train a new run in another directory",
              place(path));
}

// Rows that a checkpoint must name: none would be rows as they begin.
const RowGenerations& named_rows(const std::filesystem::path& path, const RunState& state) {
  if (!state.rows.empty()) return state.rows;
  throw Error(ErrorCode::kData,
              "the checkpoint names no learned rows, and the run learns some",
              "use the config that the checkpoint was made with",
              place(path));
}

}  // namespace

std::uint64_t save_checkpoint(const std::filesystem::path& path,
                              CheckpointKind kind,
                              const Parts& parts,
                              const std::string& config,
                              const RunState& state) {
  CheckpointContent content;
  Json json = identity_json(parts, config);
  json["state"] = to_json(state);
  json["kind"] = kind == CheckpointKind::kLast ? "last" : "best";
  content.state = json_text(json);
  if (kind == CheckpointKind::kLast) {
    add_tensors(content, kModel, parts.weights());
    add_tensors(content, kOptimizer, parts.optimizer->named_state());
    if (state.best) add_tensors(content, kBest, state.best->weights);
  } else {
    add_tensors(content, kModel, state.best.value().weights);
  }
  return write_checkpoint(path, content);
}

RunState restore_checkpoint(const std::filesystem::path& path, CheckpointKind kind, Parts& parts) {
  const bool whole = kind == CheckpointKind::kLast;
  const CheckpointContent content = read_checkpoint(path, parts.ledger.get()).or_throw();
  const Identity identity = parse_state(path, content.state, identity_of);
  check_identity(path, identity, parts);
  if (whole) check_continuation(path, identity, parts);
  RunState state = parse_state(path, content.state, state_at_weights);

  const NamedTensors own = parts.weights();
  const NamedTensors weights = tensors_of(content, kModel);
  check_weights(path, own, weights);
  if (!whole) check_measured(path, identity, state, parts);
  if (whole && state.best) {
    const NamedTensors best = tensors_of(content, kBest);
    check_weights(path, own, best);
    state.best->weights = clone_of(best);
  }
  if (parts.tables.any())
    parts.tables.open(rows_folder(path),
                      named_rows(path, state),
                      whole ? TableAccess::kWrite : TableAccess::kRead);
  if (!whole) parts.state.keep_apart();
  parts.state.go_to(state.epoch + (state.next_batch == 0 ? 0 : 1));
  if (whole) parts.optimizer->load_state(tensors_of(content, kOptimizer));
  copy_into(own, weights);
  return state;
}

RowGenerations take_weights(const std::filesystem::path& path, Parts& parts) {
  const CheckpointContent content = read_checkpoint(path, parts.ledger.get()).or_throw();
  check_types(path, parse_state(path, content.state, identity_of), parts);
  RowGenerations rows = parse_state(path, content.state, state_at_weights).rows;
  const NamedTensors own = parts.weights();
  const NamedTensors weights = tensors_of(content, kModel);
  check_weights(path, own, weights);
  copy_into(own, weights);
  return rows;
}

std::filesystem::path rows_folder(const std::filesystem::path& checkpoint) {
  return checkpoint.parent_path() / "rows";
}

StoredWeights read_weights(const std::filesystem::path& path) {
  CheckpointContent content = read_checkpoint(path, nullptr).or_throw();
  StoredWeights stored = parse_state(path, content.state, [](const Json& json) {
    return StoredWeights{
        state_at_weights(json).rows,
        json.at("model"),
        json.at("task"),
        json.value("classes", std::vector<std::string>{}),
        state_at_weights(json).epoch,
        {},
        json.contains("num_ids") ? std::optional<std::uint64_t>(json.at("num_ids")) : std::nullopt};
  });
  const std::string_view prefix = kModel;
  for (CheckpointTensor& tensor : content.tensors) {
    if (tensor.name.compare(0, prefix.size(), prefix) == 0)
      stored.tensors.push_back({tensor.name.substr(prefix.size()), std::move(tensor.value)});
  }
  return stored;
}

std::optional<BestEpoch> stored_best(const std::filesystem::path& path, MemoryLedger* ledger) {
  const auto content = read_checkpoint(path, ledger);
  if (!content) return std::nullopt;
  return parse_state(path, content.value().state, state_at_weights).best;
}

std::uint64_t stored_fingerprint(const std::filesystem::path& path) {
  return parse_state(path, read_checkpoint_state(path).or_throw(), identity_of).fingerprint;
}

}  // namespace sluice
