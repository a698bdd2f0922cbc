#include "train/encoded_nodes.h"

#include "pipeline/data/graph_data_state.h"
#include "tasks/ranked_nodes.h"
#include "train/layer_pass.h"
#include "train/node_sweep.h"
#include "train/pretrained.h"
#include "train/row_tables.h"
#include "train/stored_encodings.h"

#include <sluice/dataset.h>
#include <sluice/error.h>
#include <sluice/nn/init.h>
#include <sluice/train.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

namespace sluice {
namespace {

tasks::RanksAllNodes* ranking_of(const Parts& parts) {
  return dynamic_cast<tasks::RanksAllNodes*>(parts.task.get());
}

// Node types whose rows the task asks for.
std::vector<bool> types_to_encode(const Parts& parts) {
  std::vector<bool> wanted(parts.dataset.schema().nodes.size(), false);
  for (const std::size_t type : parts.task->target_types()) wanted[type] = true;
  return wanted;
}

LayerPassOptions pass_options(const Parts& parts) {
  LayerPassOptions options;
  options.scratch = parts.options.run.dir;
  options.chunk = static_cast<std::uint64_t>(parts.options.eval.batch_size);
  return options;
}

// The first folder on the way up that is there.
std::filesystem::path folder_above(const std::filesystem::path& path) {
  std::error_code problem;
  std::filesystem::path folder = std::filesystem::absolute(path).lexically_normal();
  while (folder.has_relative_path() && !std::filesystem::exists(folder, problem))
    folder = folder.parent_path();
  return folder;
}

}  // namespace

bool ranks_encoded(const Parts& parts) {
  const tasks::RanksAllNodes* const ranks = ranking_of(parts);
  return ranks != nullptr && ranks->wants_all_nodes() && parts.model->ranked_rows() == nullptr;
}

bool ranks_encoded(const RunOptions& options, AskedFor asked) {
  const GraphSchema schema = Dataset::open(options.dataset.path).schema();
  const auto task = options.registry->tasks.create(options.task, {schema});
  const auto* const ranks = dynamic_cast<const tasks::RanksAllNodes*>(task.get());
  if (ranks == nullptr || (asked != AskedFor::kBestEnds && !ranks->wants_all_nodes())) return false;
  // On disk: nothing is made before they are opened.
  const RowTables tables(options, schema, Placement::kDisk, RowsMode::kExact, nullptr, nullptr);
  std::vector<nn::LearnedRows::Table> shapes_of_rows;
  for (const RowTables::Table& table : tables.tables())
    shapes_of_rows.push_back({table.name, table.rows});
  nn::LearnedRows rows(std::move(shapes_of_rows), torch::kCPU);
  const nn::ShapesAlone shapes;
  try {
    const auto model = make_run_model(options,
                                      {schema,
                                       task->target_types(),
                                       task->output_width(),
                                       RandomKey(options.seed),
                                       nullptr,
                                       nullptr,
                                       &rows});
    return model->ranked_rows() == nullptr;
  } catch (const std::exception&) {
    return true;  // whoever builds the model says what is wrong
  }
}

void check_space_to_rank(Parts& parts) {
  if (!ranks_encoded(parts) || parts.device.device || parts.count(Part::kTest) == 0) return;
  LayerPassOptions options = pass_options(parts);
  options.scratch = folder_above(options.scratch);
  try {
    require_pass_space(parts, types_to_encode(parts), options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
    throw Error(error.code(),
                "task.ranking = \"all\" wants rows of all nodes for the test: " + error.message(),
                "free space on this file system, set run.dir on another one, or set task.ranking = "
                "\"sampled\"",
                error.place());
  }
}

std::string ranked_among(const Parts& parts, bool by_layer) {
  const tasks::RanksAllNodes* const ranks = ranking_of(parts);
  if (ranks == nullptr || !ranks->wants_all_nodes()) return {};
  return by_layer || !ranks_encoded(parts) ? "all" : "drawn";
}

void rank_training_links(const Parts& parts) {
  if (auto* const ranks = ranking_of(parts)) ranks->expect_training_links();
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
  LayerPassOptions options = pass_options(parts);
  options.progress = progress;
  parts.data.state().caches.clear();  // of loaders before
  NodeTables tables = pass_layers(parts, types_to_encode(parts), options, figures_);
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

std::uint64_t EncodedNodes::bytes_read() const {
  std::uint64_t sum = 0;
  for (const LayerFigures& each : figures_) sum += each.bytes_read;
  return sum;
}

std::uint64_t EncodedNodes::bytes_written() const {
  std::uint64_t sum = 0;
  for (const LayerFigures& each : figures_) sum += each.bytes_written;
  return sum;
}

LoaderMemory memory_over(Parts& parts, Part part) {
  if (parts.count(part) == 0) return {};
  return loader_memory(*parts.evaluation_loader(part, {}), *parts.ledger);
}

}  // namespace sluice
