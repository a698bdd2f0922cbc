#include "tasks/predicted_labels.h"

#include <sluice/batch.h>
#include <sluice/error.h>
#include <sluice/feature_store.h>
#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

#include <algorithm>

namespace sluice::tasks {
namespace {

using torch::Tensor;

constexpr std::size_t kScoresAtOnce = 4096;
constexpr std::uint64_t kScoreReadBytes = std::uint64_t{2} << 20;
constexpr const char* kPredictedLedger = "predicted labels";
constexpr const char* kPredictedHint =
    "sluice-train embed RUN --out scores.safetensors, then sluice-prep attach --name NAME, makes "
    "such a table of a run's model";

Array predicted_array(DType dtype, std::size_t count, MemoryLedger* ledger) {
  return Array::make(dtype, {static_cast<std::int64_t>(count)}, ledger, kPredictedLedger)
      .or_throw();
}

void check_predictions(const NodeTypeSchema& node, const std::string& name) {
  const auto table = std::ranges::find(node.features, name, &FeatureSchema::name);
  if (table == node.features.end())
    throw Error(ErrorCode::kUsage,
                fmt::format("task.predictions: node type '{}' has no table '{}'", node.name, name),
                kPredictedHint);
  if (table->dim != node.labels->width)
    throw Error(ErrorCode::kUsage,
                fmt::format("task.predictions: table '{}' has {} columns, and '{}' {} classes",
                            name,
                            table->dim,
                            node.name,
                            node.labels->width),
                kPredictedHint);
  if (table->sparse() || table->dtype == DType::kI8)
    throw Error(ErrorCode::kUsage,
                fmt::format("task.predictions: table '{}' is sparse or int8", name),
                kPredictedHint);
}

// u64: the nodes of both, ascending.
Array nodes_to_join(const Split& split, MemoryLedger* ledger) {
  const auto valid = split.valid.as<std::uint64_t>(), test = split.test.as<std::uint64_t>();
  Array all = predicted_array(DType::kU64, valid.size() + test.size(), ledger);
  const auto nodes = all.as<std::uint64_t>();
  std::ranges::copy(test, std::ranges::copy(valid, nodes.begin()).out);
  std::ranges::sort(nodes);
  return all;
}

}  // namespace

PredictedLabels::PredictedLabels(const Dataset& dataset,
                                 const NodeTypeSchema& node,
                                 const Split& split,
                                 const PredictionOptions& options)
    : options_(options) {
  check_predictions(node, options.table);
  const Array candidates = nodes_to_join(split, dataset.ledger());
  const auto count = static_cast<std::size_t>(candidates.numel());
  ids_ = predicted_array(DType::kU64, count, dataset.ledger());
  classes_ = predicted_array(DType::kI32, count, dataset.ledger());
  probabilities_ = predicted_array(DType::kF32, count, dataset.ledger());
  join(dataset, node, candidates);
  list_training_nodes(split, dataset.ledger());
}

void PredictedLabels::join(const Dataset& dataset,
                           const NodeTypeSchema& node,
                           const Array& candidates) {
  FeatureStoreOptions how;
  how.staging_bytes = kScoreReadBytes;
  const auto store = dataset.features(node.name, how, options_.table);
  const auto all = candidates.as<std::uint64_t>();
  for (std::size_t at = 0; at < all.size(); at += kScoresAtOnce) {
    const auto nodes = all.subspan(at, std::min(kScoresAtOnce, all.size() - at));
    Array rows = Array::make(store->schema().dtype,
                             {static_cast<std::int64_t>(nodes.size()), store->schema().dim},
                             dataset.ledger(),
                             kPredictedLedger)
                     .or_throw();
    store->gather({nodes, {}, rows.raw()}).or_throw();
    add(nodes, nn::as_tensor(rows).to(torch::kFloat32));
  }
}

// Those of some nodes that the model is sure of.
void PredictedLabels::add(std::span<const std::uint64_t> nodes, const Tensor& scores) {
  const torch::NoGradGuard no_grad;
  if (!scores.isfinite().all().item<bool>())
    throw Error(
        ErrorCode::kData,
        fmt::format("task.predictions: scores in table '{}' are not finite", options_.table),
        "attach the scores of a model that was trained to an end");
  const auto [most, winner] = torch::softmax(scores, 1).max(1);
  const auto probability = most.accessor<float, 1>();
  const auto of = winner.accessor<std::int64_t, 1>();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    if (static_cast<double>(probability[row]) <= options_.confidence) continue;
    ids_.as<std::uint64_t>()[num_joined_] = nodes[i];
    classes_.as<std::int32_t>()[num_joined_] = static_cast<std::int32_t>(of[row]);
    probabilities_.as<float>()[num_joined_] = probability[row];
    ++num_joined_;
  }
}

void PredictedLabels::list_training_nodes(const Split& split, MemoryLedger* ledger) {
  const auto train = split.train.as<std::uint64_t>();
  training_nodes_ = predicted_array(DType::kU64, train.size() + num_joined_, ledger);
  std::ranges::merge(train, joined(), training_nodes_.as<std::uint64_t>().begin());
}

std::optional<std::size_t> PredictedLabels::place_of(std::uint64_t node) const {
  const auto all = joined();
  const auto found = std::ranges::lower_bound(all, node);
  if (found == all.end() || *found != node) return std::nullopt;
  return static_cast<std::size_t>(found - all.begin());
}

std::int64_t PredictedLabels::count(const Batch& batch) const {
  const auto asked = batch.queries.ids.as<std::uint64_t>();
  const auto labels = batch.labels.as<std::int32_t>();
  std::int64_t counted = 0;
  for (std::size_t i = 0; i < labels.size(); ++i)
    counted += labels[i] >= 0 || place_of(asked[i]) ? 1 : 0;
  return counted;
}

Tensor PredictedLabels::loss(const Tensor& outputs, const Batch& batch) const {
  const Batch& host = batch.on_host();
  const std::int64_t counted = count(host);
  if (counted == 0) return outputs.sum() * 0;
  const auto asked = host.queries.ids.as<std::uint64_t>();
  const auto labels = host.labels.as<std::int32_t>();
  const auto queries = static_cast<std::int64_t>(labels.size());
  const Tensor targets = torch::empty({queries}, torch::kInt64), weights = torch::ones({queries});
  auto target = targets.accessor<std::int64_t, 1>();
  auto weight = weights.accessor<float, 1>();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    target[row] = labels[i];
    const auto place = place_of(asked[i]);
    if (!place) continue;
    // Where memory is measured a model may have fewer outputs than there are classes.
    target[row] = std::min<std::int64_t>(classes_.as<std::int32_t>()[*place], outputs.size(1) - 1);
    weight[row] = static_cast<float>(options_.weight) * probabilities_.as<float>()[*place];
  }
  const Tensor each = torch::nn::functional::cross_entropy(
      outputs,
      targets.to(outputs.device()),
      torch::nn::functional::CrossEntropyFuncOptions().ignore_index(-1).reduction(torch::kNone));
  return (each * weights.to(outputs.device())).sum() / static_cast<double>(counted);
}

}  // namespace sluice::tasks
