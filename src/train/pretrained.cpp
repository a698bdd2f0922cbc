#include "train/pretrained.h"

#include "models/readout.h"
#include "tasks/self_supervised.h"
#include "train/opened_run.h"
#include "train/weights.h"

#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSelfSupervised = "self_supervised";
constexpr std::string_view kHeadWeights = "head.";
constexpr std::string_view kEncoderWeights = "encoder.";

[[noreturn]] void throw_unusable(const std::string& from, const std::string& why) {
  throw Error(ErrorCode::kUsage,
              fmt::format("[pretrained] from = \"{}\" has no encoder for this run: {}", from, why),
              "give both runs the same [model] and dataset.normalize, the first with task.type = "
              "\"self_supervised\"",
              Place{from, -1, -1, -1});
}

// The integer option of a run's task.
std::int64_t width_of(RunOptions& before) {
  Schema schema;
  if (before.task.options) before.task.options->describe(schema);
  for (const auto& field : schema.fields())
    if (field->key() == "width")
      if (auto* const* value = std::get_if<std::int64_t*>(&field->target())) return **value;
  return tasks::SelfSupervisedOptions{}.width;
}

// Values of a model's options as text, by key, that its rows depend on where its weights are given:
// weights of the same shapes are those of another model where one differs.
std::map<std::string, std::string> shaping_options(const RunOptions& run) {
  std::map<std::string, std::string> values;
  Schema schema;
  if (run.model.options) run.model.options->describe(schema);
  for (const auto& field : schema.fields()) {
    const bool of_training = field->key().find("dropout") != std::string::npos;
    if (!of_training && field->key() != "execution")
      values.emplace(field->key(), field->value_text());
  }
  return values;
}

void check_same_model(const RunOptions& before, const RunOptions& now) {
  const std::string& from = now.pretrained.from;
  if (before.model.type != now.model.type)
    throw_unusable(
        from,
        fmt::format("its model is '{}', and this run's '{}'", before.model.type, now.model.type));
  const std::map<std::string, std::string> values = shaping_options(before);
  for (const auto& [key, value] : shaping_options(now)) {
    const auto was = values.find(key);
    if (was != values.end() && was->second != value)
      throw_unusable(from,
                     fmt::format("its model.{} is {}, and this run's {}", key, was->second, value));
  }
  // The encoder would read rows of another size than those that it learned from.
  const auto name_of = [](Normalize way) { return way == Normalize::kRowL1 ? "row_l1" : "none"; };
  if (before.dataset.normalize != now.dataset.normalize)
    throw_unusable(from,
                   fmt::format("its dataset.normalize is \"{}\", and this run's \"{}\"",
                               name_of(before.dataset.normalize),
                               name_of(now.dataset.normalize)));
}

// The options of the run that an encoder is taken from, which must fit this one.
RunOptions checked_pretraining(const RunOptions& options) {
  const std::string& from = options.pretrained.from;
  RunOptions before = kept_options(from, {}, *options.registry);
  if (before.task.type != kSelfSupervised)
    throw_unusable(from, fmt::format("its task is '{}'", before.task.type));
  check_same_model(before, options);
  return before;
}

}  // namespace

std::shared_ptr<Model> make_run_model(const RunOptions& options, const ModelContext& context) {
  const PretrainedSection& pretrained = options.pretrained;
  if (pretrained.from.empty()) return options.registry->models.create(options.model, context);
  ModelContext of_encoder = context;
  of_encoder.output_width = pretrained.width;
  return std::make_shared<models::Readout>(
      options.registry->models.create(options.model, of_encoder),
      pretrained.width,
      pretrained.frozen ? models::EncoderWeights::kFrozen : models::EncoderWeights::kTrained,
      context);
}

void resolve_pretrained(RunOptions& options) {
  PretrainedSection& pretrained = options.pretrained;
  if (pretrained.from.empty()) return;
  if (options.task.type == kSelfSupervised)
    throw Error(ErrorCode::kUsage,
                "[pretrained] is for tasks with labels, and this run's task is 'self_supervised'",
                "leave it out, or set task.type = \"node_classification\"");
  pretrained.from = fs::absolute(pretrained.from).lexically_normal().string();
  if (pretrained.width != 0) return;
  RunOptions before = checked_pretraining(options);
  pretrained.width = width_of(before);
}

void take_pretrained(Parts& parts) {
  const std::string& from = parts.options.pretrained.from;
  if (from.empty()) return;
  (void)checked_pretraining(parts.options);  // a config may have told the width itself
  const StoredWeights stored = read_weights(stored_checkpoint(from, CheckpointKind::kBest));
  NamedTensors weights;
  for (const CheckpointTensor& tensor : stored.tensors)
    if (!tensor.name.starts_with(kHeadWeights))
      weights.emplace(std::string(kEncoderWeights) + tensor.name, nn::as_tensor(tensor.value));
  NamedTensors own;
  for (const auto& [name, tensor] : parts.weights()) {
    if (!name.starts_with(kEncoderWeights)) continue;
    const auto found = weights.find(name);
    if (found == weights.end() || found->second.sizes() != tensor.sizes())
      throw_unusable(from,
                     fmt::format("weight '{}' is missing or of another shape there",
                                 name.substr(kEncoderWeights.size())));
    own.emplace(name, tensor);
  }
  if (own.size() != weights.size())
    throw_unusable(from, "it has weights that this run's model does not have");
  copy_into(own, weights);
}

}  // namespace sluice
