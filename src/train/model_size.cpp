#include "train/model_size.h"

#include "budget/memory_ratios.h"
#include "core/threads.h"
#include "tasks/encoder_task.h"
#include "train/pretrained.h"
#include "train/weights.h"

#include <sluice/nn/init.h>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <variant>

namespace sluice {
namespace {

constexpr std::int64_t kFewOutputs = 64;
// Hidden columns of a smaller model are a multiple of it: heads divide them.
constexpr std::int64_t kFewHidden = 840;

std::uint64_t rows_at_once(std::int64_t batch_size, std::uint64_t seeds) {
  return std::min(static_cast<std::uint64_t>(batch_size), seeds);
}

// The integer option of the model's called "hidden"; null where it has none.
std::int64_t* hidden_of(const RunOptions& options, Schema& schema) {
  if (!options.model.options) return nullptr;
  options.model.options->describe(schema);
  for (const auto& field : schema.fields()) {
    if (field->key() != "hidden") continue;
    if (auto* const* value = std::get_if<std::int64_t*>(&field->target())) return *value;
  }
  return nullptr;
}

// A copy with options of its own, and a model of so many hidden columns.
RunOptions with_hidden(const RunOptions& options, std::int64_t hidden) {
  const Config config = Config::parse(RunOptions(options).text(), "config.resolved.toml");
  RunOptions copy = resolve_options(config, *options.registry);
  Schema schema;
  if (std::int64_t* value = hidden_of(copy, schema)) *value = hidden;
  return copy;
}

std::uint64_t scaled(std::uint64_t bytes, double ratio) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * ratio);
}

/// @param narrow the schema that the task sees
ModelSize count_model(const RunOptions& options,
                      const GraphSchema& schema,
                      const Work& work,
                      const GraphSchema& narrow) {
  const auto task = options.registry->tasks.create(options.task, {narrow});
  const nn::ShapesAlone shapes;
  const ModelContext context{schema,
                             task->target_types(),
                             task->output_width(),
                             RandomKey(options.seed),
                             nullptr,
                             nullptr};
  const auto model = make_run_model(options, context);
  OptimizerContext parameters;
  parameters.parameters = parameters_of(*model, *task);
  const auto optimizer = options.registry->optimizers.create(options.train.optimizer, parameters);

  ModelSize size;
  size.outputs = task->output_width();
  Schema keys;
  if (const std::int64_t* hidden = hidden_of(options, keys)) size.hidden = *hidden;
  for (const auto& [name, tensor] : weights_of(*model, *task)) {
    size.weights += tensor.nbytes();
    size.largest = std::max<std::uint64_t>(size.largest, tensor.nbytes());
  }
  const auto* const trains = dynamic_cast<const tasks::EncoderTask*>(task.get());
  if (trains != nullptr && trains->target_start() != tasks::TargetStart::kNone)
    for (const torch::Tensor& tensor : model->parameters()) size.weights += tensor.nbytes();
  for (const auto& [name, tensor] : optimizer->named_state()) size.optimizer += tensor.nbytes();
  const auto queries = [&](Part part) {
    return task->expected(part, schema, options.dataset.split);
  };
  size.output_rows = rows_at_once(options.eval.batch_size, queries(work.evaluated));
  if (work.kind != Work::Kind::kTrain) return size;
  size.gradients = size.weights;
  // Outputs and their gradients.
  size.output_rows =
      std::max(size.output_rows, 2 * rows_at_once(options.train.batch_size, queries(Part::kTrain)));
  return size;
}

}  // namespace

std::optional<ModelSize> size_of_model(const RunOptions& options,
                                       const GraphSchema& schema,
                                       const Work& work,
                                       std::int64_t outputs) {
  try {
    return count_model(options, schema, work, narrow_labels(schema, outputs));
  } catch (const std::exception&) {
    return std::nullopt;  // whoever builds the model says what is wrong
  }
}

std::optional<SmallerRun> smaller_run(const RunOptions& options,
                                      const GraphSchema& schema,
                                      const Work& work,
                                      const ModelSize& size,
                                      std::uint64_t bytes) {
  std::int64_t outputs = size.outputs, hidden = size.hidden;
  for (;;) {
    const bool few = outputs <= kFewOutputs && hidden <= kFewHidden;
    if (outputs > kFewOutputs) outputs = std::max(kFewOutputs, outputs / 2);
    if (hidden > kFewHidden) hidden = std::max(kFewHidden, hidden / 2 / kFewHidden * kFewHidden);
    SmallerRun smaller{with_hidden(options, hidden), outputs < size.outputs ? outputs : 0, {}};
    const auto counted = size_of_model(smaller.options, schema, work, smaller.outputs);
    if (!counted) return std::nullopt;
    smaller.size = *counted;
    if (few || counted->least() <= bytes) return smaller;
  }
}

MemoryPlan scaled_up(MemoryNeeds needs,
                     const MemoryPlan& plan,
                     const ModelSize& smaller,
                     const ModelSize& whole) {
  const auto ratio = [](auto more, auto less) {
    return less == 0 ? 1.0 : static_cast<double>(more) / static_cast<double>(less);
  };
  const double columns =
      std::max(ratio(whole.outputs, smaller.outputs), ratio(whole.hidden, smaller.hidden));
  // Of a step's peak, whenever it is, either all grew as the most did; or its activations grew as
  // the columns, beside all gradients and what the optimiser makes of the largest.
  const double most = std::max(columns, ratio(whole.weights, smaller.weights));
  const std::uint64_t beside = whole.gradients + 2 * whole.largest;
  for (std::uint64_t* bytes : {&needs.step, &needs.tried})
    *bytes = std::min(scaled(*bytes, most), beside + scaled(*bytes, columns));
  // An estimate, unlike what was measured: the margin is for the trial too.
  needs.tried = memory_ratios::raised(needs.tried);
  needs.step_from = "by a step of a smaller model";
  needs.resident = whole.resident();
  needs.weights = whole.weights;
  if (needs.copied != 0) needs.copied = whole.resident();
  const MemoryPlan none = plan_memory(needs, 0);
  const std::uint64_t budget = plan.budget - plan.fixed + none.fixed;
  return plan_memory(needs, std::max(none.least, (budget + kMiB - 1) / kMiB * kMiB));
}

LargePart large_part(const RunOptions& options,
                     const GraphSchema& schema,
                     const Work& work,
                     const MemoryPlan& plan,
                     const std::optional<ModelSize>& size) {
  const auto largest = std::ranges::max_element(plan.lines, {}, &MemoryLine::bytes);
  LargePart large{largest == plan.lines.end() ? std::string()
                                              : fmt::format("the largest part is '{}', {}",
                                                            largest->name,
                                                            format_bytes(largest->bytes)),
                  "lower train.batch_size, sampler.fanout or eval.batch_size"};
  if (largest != plan.lines.end() && largest->name == "embedding partitions") {
    large.remedy = "raise embedding.partitions, or lower embedding.slots";
    return large;
  }
  // Both grow with data threads: each has room of its own, and as many mini-batches are sampled.
  const bool of_threads = largest != plan.lines.end() && (largest->name == "sampler workspace" ||
                                                          largest->name == "sampled ahead");
  const int threads =
      options.train.data_threads == 0 ? available_cores() : options.train.data_threads;
  if (of_threads && threads > 1)
    large.remedy = fmt::format(
        "lower train.data_threads, of which there are {}, train.batch_size, sampler.fanout or "
        "eval.batch_size",
        threads);
  if (!size || size->least() < plan.budget / 4) return large;
  const auto one = size_of_model(options, schema, work, 1);
  const std::string weights = fmt::format(
      "model '{}' has {} weights", options.model.type, format_count(size->weights / sizeof(float)));
  if (one && one->outputs < size->outputs && one->least() < size->least() / 2) {
    large.what = fmt::format("{} for its {} outputs (classes)",
                             weights,
                             format_count(static_cast<std::uint64_t>(size->outputs)));
    const auto task = options.registry->tasks.create(options.task, {schema});
    const auto& labels = schema.nodes.at(task->target_types().front()).labels;
    if (labels && labels->kind == LabelKind::kClass && labels->names.empty()) {
      large.what +=
          ", one for each number from 0 to the largest label; labels.kind = \"name\" makes one for "
          "each label that occurs";
      large.remedy =
          "import the labels anew with labels.kind = \"name\", or lower train.batch_size and "
          "model.hidden";
    } else {
      large.remedy = "lower train.batch_size and model.hidden, or import fewer classes";
    }
  } else if (size->hidden != 0) {
    large.what = fmt::format(
        "{}, model.hidden = {}", weights, format_count(static_cast<std::uint64_t>(size->hidden)));
    large.remedy = "lower model.hidden, model.layers or train.batch_size";
  } else {
    large.what = weights;
    large.remedy = "choose a smaller model, or lower train.batch_size";
  }
  return large;
}

}  // namespace sluice
