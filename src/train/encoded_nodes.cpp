#include "train/encoded_nodes.h"

#include "pipeline/data/graph_data_state.h"
#include "tasks/ranked_nodes.h"
#include "train/layer_pass.h"
#include "train/node_sweep.h"
#include "train/stored_encodings.h"

#include <sluice/error.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

tasks::RanksAllNodes* ranking_of(const Parts& parts) {
  return dynamic_cast<tasks::RanksAllNodes*>(parts.task.get());
}

}  // namespace

bool ranks_encoded(const Parts& parts) {
  const tasks::RanksAllNodes* const ranks = ranking_of(parts);
  return ranks != nullptr && ranks->wants_all_nodes() && parts.model->ranked_rows() == nullptr;
}

void check_ranks_encoded(const Parts& parts) {
  if (!ranks_encoded(parts)) return;
  try {
    (void)layers_to_pass(parts);
  } catch (const Error& error) {
    throw Error(error.code(),
                "task.ranking = \"all\" wants rows of all nodes: " + error.message(),
                "set task.ranking = \"sampled\"");
  }
}

void rank_among_drawn(const Parts& parts) {
  if (ranks_encoded(parts)) ranking_of(parts)->rank_among(tasks::RankedAmong::kDrawn);
}

void size_learned_caches(Parts& parts) {
  constexpr std::uint64_t kShare = 8;  // of the budget that is left
  if (!parts.tables.any()) return;
  const auto chunk = static_cast<std::uint64_t>(parts.options.eval.batch_size);
  Batch first;
  for (const NodeTypeSchema& type : parts.dataset.schema().nodes) {
    const auto count = static_cast<std::int64_t>(std::min(type.count, chunk));
    BatchNodes& nodes = first.nodes.emplace_back();
    nodes.ids = Array::make(DType::kU64, {count}, parts.ledger.get(), "batches").or_throw();
    const auto ids = nodes.ids.as<std::uint64_t>();
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i;
  }
  parts.rows->begin(first, nn::Gradients::kNone);
  parts.rows->end();
  const LearnedNeeds needs = parts.tables.needs();
  const std::uint64_t bytes = std::max(needs.least, parts.ledger->available() / kShare);
  parts.tables.share_cache(std::min(bytes, std::max(needs.least, needs.most)), 1);
}

EncodedNodes::EncodedNodes(Parts& parts, ProgressStyle progress, Logger& log) : parts_(parts) {
  LayerPassOptions options;
  options.scratch = parts.options.run.dir;
  options.chunk = static_cast<std::uint64_t>(parts.options.eval.batch_size);
  options.progress = progress;
  std::vector<bool> wanted(parts.dataset.schema().nodes.size(), false);
  for (const std::size_t type : parts.task->target_types()) wanted[type] = true;
  parts.data.state().caches.clear();  // of loaders before
  NodeTables tables = pass_layers(parts, wanted, options, figures_);
  for (const LayerFigures& each : figures_)
    log.info("layer {}: {} rows, read {:.2f} times, {:.2f} s",
             each.layer,
             each.rows,
             each.times(),
             each.seconds);
  own_ = std::exchange(parts.model,
                       std::make_shared<StoredEncodings>(std::move(tables), *parts.ledger));
  rows_ = std::exchange(parts.rows, std::make_unique<nn::LearnedRows>());
  if (auto* const ranks = ranking_of(parts)) ranks->rank_among(tasks::RankedAmong::kAll);
}

EncodedNodes::~EncodedNodes() {
  parts_.model = std::move(own_);
  parts_.rows = std::move(rows_);
  rank_among_drawn(parts_);
}

double EncodedNodes::seconds() const {
  double sum = 0;
  for (const LayerFigures& each : figures_) sum += each.seconds;
  return sum;
}

LoaderMemory memory_over(Parts& parts, Part part) {
  if (parts.count(part) == 0) return {};
  return loader_memory(*parts.evaluation_loader(part, {}), *parts.ledger);
}

}  // namespace sluice
