// What a run says of all nodes: which are best at an end of links.
#include "tasks/ranked_nodes.h"
#include "train/checks.h"
#include "train/encoded_nodes.h"
#include "train/evaluation.h"
#include "train/layer_pass.h"
#include "train/layer_run.h"
#include "train/node_row_file.h"
#include "train/opened_run.h"
#include "train/predictions.h"

#include <sluice/nn/tensor_view.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

namespace sluice {
namespace {

using AllNodesClock = std::chrono::steady_clock;

double seconds_of(AllNodesClock::time_point begin) {
  return std::chrono::duration<double>(AllNodesClock::now() - begin).count();
}

// A table under ids of node types: one column of ids each.
struct OutsideIds {
  std::vector<ExternalIds> ids;
  PredictionSchema schema;

  void add(const Parts& parts, const IdColumn& column) {
    const NodeTypeSchema& type = parts.dataset.schema().nodes.at(column.type);
    ids.push_back(parts.dataset.ids(type.name));
    schema.ids.push_back({column.name, longest_id(ids.back(), type.count)});
  }
};

// f32 [q * k, columns]: rank, score, and the type where links have some.
torch::Tensor values_of_best(const BestEnds& best, const Batch& host, bool typed) {
  const std::int64_t queries = best.scores.size(0), count = best.scores.size(1);
  const torch::Tensor ranks =
      torch::arange(1, count + 1, torch::kFloat32).unsqueeze(0).expand({queries, count});
  std::vector<torch::Tensor> columns{ranks, best.scores};
  if (typed)
    columns.push_back(
        nn::as_tensor(host.labels).to(torch::kFloat32).unsqueeze(1).expand({queries, count}));
  return torch::stack(columns, 2).view({queries * count, -1}).contiguous();
}

// Each node `count` times, one after the other.
Array repeated(const Array& nodes, std::int64_t count) {
  return nn::as_array(
      nn::as_tensor(nodes).view(torch::kInt64).repeat_interleave(count).view(torch::kUInt64));
}

// Of what is written a row: those that are marked.
Array rows_kept(const Array& all, const torch::Tensor& kept) {
  return nn::as_array(
      nn::as_tensor(all).view(torch::kInt64).flatten().index_select(0, kept).view(torch::kUInt64));
}

void warn_of_fewer(std::uint64_t written, std::uint64_t wanted, std::int64_t count, Logger& log) {
  if (written == wanted) return;
  log.warn(
      "some links have fewer than {} nodes to be told, {} rows are left out: the other nodes make "
      "training links there, or their scores are not finite",
      count,
      wanted - written);
}

// Whether the task can be asked about all nodes, and the model does not give them as they are.
bool wants_encoded(const Parts& parts) {
  return dynamic_cast<const tasks::RanksAllNodes*>(parts.task.get()) != nullptr &&
         parts.model->ranked_rows() == nullptr;
}

void check_to_encode(Parts& parts, Part part) {
  check_not_empty(parts, part);
  try {
    (void)layers_to_pass(parts);
  } catch (const Error& error) {
    throw Error(error.code(),
                "--top wants rows of all nodes: " + error.message(),
                "leave --top out",
                error.place());
  }
}

std::unique_ptr<Opened> open_for_best(const std::string& directory,
                                      const std::vector<std::string>& sets,
                                      const EvaluateOptions& wanted,
                                      const TrainContext& context) {
  constexpr AskedFor kAsked = AskedFor::kBestEnds;
  if (!ranks_encoded(kept_options(directory, sets, context.registry), kAsked))
    return open_run(directory, sets, wanted, context, check_not_empty, kAsked);
  return open_for_layers(directory, sets, wanted, context, check_to_encode, kAsked);
}

}  // namespace

PredictReport predict_best_run(const std::string& directory,
                               const std::vector<std::string>& sets,
                               const EvaluateOptions& wanted,
                               const BestRequest& best,
                               const std::filesystem::path& out,
                               const TrainContext& context) {
  const auto begin = AllNodesClock::now();
  PredictionFile::check_name(out);
  RunDirectory::check_output(directory, out);
  const auto opened = open_for_best(directory, sets, wanted, context);
  Parts& parts = *opened->run.parts;
  const std::vector<IdColumn> columns = parts.task->prediction_ids();
  const std::size_t looked = best.end == LinkEnd::kSource ? 0 : 1;
  if (columns.size() != 2)
    throw Error(ErrorCode::kUsage,
                "this task is not about links: it has no ends to be found",
                "leave --top out");
  ask_about_file(parts, wanted, AskedTargets::kLookedFor);
  OutsideIds table;
  for (const IdColumn& column : columns) table.add(parts, column);
  const auto nodes =
      static_cast<std::int64_t>(parts.dataset.schema().nodes.at(columns[looked].type).count);
  const std::int64_t count = std::min(best.count, nodes);
  const std::optional<std::size_t> relation = parts.task->labels_of().relation;
  const bool typed = relation.has_value();
  table.schema.columns = {"rank", "score"};
  if (typed) {
    table.schema.columns.emplace_back("type");
    table.schema.names = parts.dataset.schema().relations.at(*relation).labels->names;
    table.schema.name_column.clear();
  }
  table.schema.dtype = DType::kF32;
  table.schema.rows = parts.count(wanted.part) * static_cast<std::uint64_t>(count);
  LoaderMemory memory = opened->run.plan.loader;
  std::optional<EncodedNodes> encoded;
  if (wants_encoded(parts)) {
    encoded.emplace(parts, context.progress, context.log);
    memory = memory_over(parts, wanted.part);
  }
  const auto file = PredictionFile::create(out, table.ids, table.schema);
  std::uint64_t written = 0;
  const auto write = [&](const Batch& batch) {
    const BestEnds found = parts.task->best_ends(*parts.model, batch, best.end, count);
    const Batch& host = batch.on_host();
    std::vector<Array> ends = parts.task->predicted_nodes(host);
    ends[1 - looked] = repeated(ends[1 - looked], count);
    ends[looked] = found.nodes;
    // Where few nodes are left, what stands behind them is no prediction.
    const torch::Tensor kept = found.scores.flatten().isfinite().nonzero().squeeze(1);
    const torch::Tensor values = values_of_best(found, host, typed).index_select(0, kept);
    for (Array& nodes_of_end : ends) nodes_of_end = rows_kept(nodes_of_end, kept);
    const std::vector<std::uint8_t> known(static_cast<std::size_t>(values.size(0)), 1);
    file->append(ends, nn::as_array(values), known);
    written += known.size();
  };
  (void)for_each_batch(parts, wanted.part, memory, 0, context.progress, write);
  file->commit();
  warn_of_fewer(written, table.schema.rows, count, context.log);
  return {out.string(), written, 0, seconds_of(begin), {}};
}

}  // namespace sluice
