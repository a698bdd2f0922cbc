#include <sluice/tasks/node_task.h>

#include "tasks/encoded_rows.h"

#include <sluice/nn/tensor_view.h>
#include <sluice/samplers/node_queries.h>

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace sluice::tasks {

std::uint64_t NodeTask::expected(Part part,
                                 const GraphSchema& schema,
                                 const std::string& split) const {
  if (part == Part::kAll) return schema.nodes.at(target_type_).count;
  const SplitSchema* const found = schema.split(split);
  if (found == nullptr) return 0;
  if (part == Part::kTrain) return found->train;
  return part == Part::kValid ? found->valid : found->test;
}

void NodeTask::open(const TaskData& data) {
  Split split = data.dataset.split(data.split);
  const std::string& target = data.dataset.schema().nodes[target_type_].name;
  if (split.node_type != target)
    throw Error(ErrorCode::kUsage,
                fmt::format("split '{}' is of node type '{}', the task is about '{}'",
                            data.split,
                            split.node_type,
                            target),
                "choose another [dataset] split or [task] node_type");
  if (stages_.since.empty()) {
    splits_[static_cast<std::size_t>(Era::kNew)] = std::move(split);
  } else {
    divide_split(split, data.dataset.schema().nodes[target_type_].count, data.dataset.ledger());
  }
}

std::uint64_t NodeTask::count(Part part, const GraphData& data) const {
  if (part == Part::kAll) return last_of(era_, data) - first_of(era_);
  return static_cast<std::uint64_t>(nodes(part, data).numel());
}

Array NodeTask::nodes(Part part, const GraphData& data) const {
  const Split& split = split_of(era_);
  if (part == Part::kTrain) return split.train;
  if (part == Part::kValid) return split.valid;
  if (part == Part::kTest) return split.test;
  const std::uint64_t first = first_of(era_), last = last_of(era_, data);
  Array all =
      Array::make(DType::kU64, {static_cast<std::int64_t>(last - first)}, data.ledger(), "seeds")
          .or_throw();
  const std::span<std::uint64_t> ids = all.as<std::uint64_t>();
  std::iota(ids.begin(), ids.end(), first);
  return all;
}

std::unique_ptr<QuerySource> NodeTask::queries(const QueryRequest& request,
                                               const GraphData& data) const {
  NodeQueryOptions asked;
  asked.nodes = nodes(request.part, data);
  asked.type = target_type_;
  asked.batch_size = request.batch_size;
  asked.shuffle = request.shuffle;
  asked.key = request.key;
  asked.sampler = request.sampler;
  if (request.sampler && request.sampler->needs_times())
    asked.times = data.node_times(target_type_);
  return std::make_unique<NodeQueries>(data.schema(), std::move(asked), request.ledger);
}

bool NodeTask::has_labels(Part part, const GraphData& data) const {
  constexpr std::size_t kRowsAtOnce = 1024;
  const Array ids = nodes(part, data);
  const std::span<const std::uint64_t> all = ids.as<std::uint64_t>();
  for (std::size_t at = 0; at < all.size(); at += kRowsAtOnce) {
    const Array labels = data.labels(all.subspan(at, std::min(kRowsAtOnce, all.size() - at)));
    if (labels.shape().empty() || labels_that_count(labels) > 0) return true;
  }
  return false;
}

torch::Tensor NodeTask::outputs(Model& model, const Batch& batch) {
  torch::Tensor rows = encoded_rows(model.encode(batch), batch, target_type_, output_width());
  // Where each seed is asked about once it is in the order of the seeds.
  if (batch.num_queries() == batch.num_seeds(target_type_)) return rows;
  return rows.index_select(0, nn::as_tensor(batch.queries.nodes));
}

torch::Tensor NodeTask::training_loss(Model& model, const Batch& batch, RandomKey) {
  return loss(outputs(model, batch), batch);
}

}  // namespace sluice::tasks
