#include "train/checks.h"

#include "tasks/encoder_task.h"
#include "tasks/past_labels.h"
#include "train/encoded_nodes.h"

#include <sluice/tasks/link_task.h>
#include <sluice/tasks/pair_model.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr const char* kValidation = "valid.";

Place dataset_place(const Parts& parts) {
  return Place{parts.options.dataset.path, -1, -1, -1};
}

// What has labels.
const char* labelled(const Parts& parts) {
  return parts.task->labels_of().relation ? "edges" : "nodes";
}

// "none of the 2 valid nodes of split 'default' has a label (0 of 2)"
std::string without_labels(const Parts& parts, Part part) {
  const std::uint64_t count = parts.count(part);
  return fmt::format("none of the {} {} {} of split '{}' has a label (0 of {})",
                     format_count(count),
                     to_string(part),
                     labelled(parts),
                     parts.options.dataset.split,
                     format_count(count));
}

bool goes_by_validation(const Parts& parts) {
  const EarlyStoppingSection& stopping = parts.options.train.early_stopping;
  return stopping.patience > 0 || !stopping.metric.empty();
}

std::vector<std::string> of_validation(std::vector<std::string> names) {
  for (std::string& name : names) name.insert(0, kValidation);
  return names;
}

// "valid.accuracy", ...: what a test measures, by the names that a validation would have for it.
std::vector<std::string> metrics_of_tests(const Parts& parts) {
  std::vector<std::string> names;
  for (const auto& [name, value] : parts.task->make_metrics()->result()) names.push_back(name);
  return of_validation(std::move(names));
}

std::vector<std::string> metrics_of_validations(const Parts& parts,
                                                const std::vector<std::string>& tested) {
  const auto* const encoder = dynamic_cast<const tasks::EncoderTask*>(parts.task.get());
  return encoder == nullptr ? tested : of_validation(encoder->validation_metrics());
}

bool has_batch_norm(const Model& model) {
  return std::ranges::any_of(model.modules(), [](const auto& module) {
    return dynamic_cast<const torch::nn::BatchNorm1dImpl*>(module.get()) != nullptr;
  });
}

// A single row is normalised by what the mini-batches before left: not what "batch" says.
void warn_of_single_rows(const Parts& parts, Logger& log) {
  if (!has_batch_norm(*parts.model)) return;
  const auto size = static_cast<std::uint64_t>(parts.options.train.batch_size);
  const std::uint64_t seeds = parts.count(Part::kTrain);
  if (size == 1 || seeds == 1) {
    log.warn(
        "model.norm = \"batch\" and mini-batches of one seed: a layer of a single row is "
        "normalised by running statistics, which it does not change; set train.batch_size above "
        "1, or model.norm to \"layer\" or \"none\"");
  } else if (seeds % size == 1) {
    log.warn(
        "model.norm = \"batch\" and a last mini-batch of one seed in {} (train.batch_size = {}): a "
        "layer of a single row is normalised by running statistics",
        format_count(seeds),
        format_count(size));
  }
}

// Epochs of a model that learns nothing would change nothing.
void check_parameters(const Parts& parts) {
  const Model* const model = parts.model.get();
  const bool may_have_none = dynamic_cast<const PairModel*>(model) != nullptr ||
                             dynamic_cast<const tasks::PastLabels*>(model) != nullptr;
  if (!may_have_none || !model->parameters().empty() || parts.options.train.epochs == 0) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("model '{}' has no parameters: there is nothing to train",
                          parts.options.model.type),
              "set train.epochs = 0: it is validated and tested all the same");
}

}  // namespace

bool has_labels(Parts& parts, Part part) {
  return parts.task->has_labels(part, parts.data);
}

std::string best_metric(const Parts& parts) {
  const EarlyStoppingSection& chosen = parts.options.train.early_stopping;
  if (chosen.metric.empty()) return kValidation + parts.task->main_metric();
  const std::vector<std::string> tested = metrics_of_tests(parts);
  const std::vector<std::string> known = metrics_of_validations(parts, tested);
  if (std::ranges::count(known, chosen.metric) != 0) return chosen.metric;
  if (std::ranges::count(tested, chosen.metric) != 0)
    throw Error(ErrorCode::kUsage,
                fmt::format("train.early_stopping.metric = \"{}\": a validation of task '{}' does "
                            "not measure it, only a test does",
                            chosen.metric,
                            parts.options.task.type),
                fmt::format("set it to one of {}", fmt::join(known, ", ")));
  throw unknown_name("metric for train.early_stopping.metric", chosen.metric, known);
}

std::string chosen_metric(const Parts& parts) {
  const std::string& named = parts.options.train.early_stopping.metric;
  if (!named.starts_with(kValidation)) return parts.task->main_metric();
  return named.substr(std::string(kValidation).size());
}

void check_trainable(Parts& parts) {
  const RunOptions& options = parts.options;
  if (parts.count(Part::kTrain) == 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("split '{}' has no training seeds", options.dataset.split),
                "choose another [dataset] split",
                dataset_place(parts));
  }
  if (!has_labels(parts, Part::kTrain)) {
    throw Error(
        ErrorCode::kUsage,
        without_labels(parts, Part::kTrain) + ": there is nothing to learn from",
        fmt::format("choose another [dataset] split, or import labels of its {}", labelled(parts)),
        dataset_place(parts));
  }
  (void)best_metric(parts);
  check_parameters(parts);
  check_ranks_encoded(parts);
  if (!goes_by_validation(parts)) return;
  if (parts.count(Part::kValid) == 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("early stopping needs validation seeds, and split '{}' has none",
                            options.dataset.split),
                "leave out train.early_stopping, or choose another [dataset] split",
                dataset_place(parts));
  }
  if (!has_labels(parts, Part::kValid)) {
    throw Error(
        ErrorCode::kUsage,
        without_labels(parts, Part::kValid) + ", and early stopping goes by them",
        fmt::format(
            "leave out train.early_stopping (--set train.early_stopping.patience=0), choose "
            "another [dataset] split, or import labels of its {}",
            labelled(parts)),
        dataset_place(parts));
  }
}

void check_not_empty(Parts& parts, Part part) {
  if (parts.count(part) != 0) return;
  throw Error(
      ErrorCode::kUsage,
      fmt::format(
          "the {} part of split '{}' is empty", to_string(part), parts.options.dataset.split),
      "choose another --part");
}

void check_measurable(Parts& parts, Part part) {
  check_not_empty(parts, part);
  if (has_labels(parts, part)) return;
  throw Error(ErrorCode::kUsage,
              without_labels(parts, part) + ": there is nothing to measure by",
              fmt::format("choose another --part, or import labels of its {}; predict needs none",
                          labelled(parts)),
              dataset_place(parts));
}

void warn_of_run(Parts& parts, Logger& log) {
  for (const std::string& warning : parts.task->warnings(parts.data)) log.warn("{}", warning);
  if (parts.count(Part::kValid) > 0 && !has_labels(parts, Part::kValid))
    log.warn("{}: no epoch is validated, and none is the best",
             without_labels(parts, Part::kValid));
  if (parts.count(Part::kTest) > 0 && !has_labels(parts, Part::kTest))
    log.warn("{}: nothing is tested", without_labels(parts, Part::kTest));
  warn_of_single_rows(parts, log);
}

void warn_of_hidden_links(const Parts& parts, Part part, Logger& log) {
  const auto* const links = dynamic_cast<const tasks::LinkTask*>(parts.task.get());
  if (links == nullptr || !links->hides_asked(part) || parts.model->num_layers() == 0) return;
  log.warn(
      "a mini-batch of the {0} part does not see the links that it asks about, so what comes out "
      "depends on eval.batch_size = {1} and says less the larger that is; `evaluate --exact --part "
      "{0}` sees the whole graph",
      to_string(part),
      parts.options.eval.batch_size);
}

}  // namespace sluice
