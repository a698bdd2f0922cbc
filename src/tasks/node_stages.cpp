// Tasks about nodes over a dataset that was appended to: nodes by the stage they came in, and old
// ones that are asked about again.
#include "samplers/replay_queries.h"

#include <sluice/tasks/node_task.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace sluice::tasks {
namespace {

// Which part an appended node is of: the same in every run, whatever its seed.
Part part_of_appended(std::uint64_t node, const std::vector<double>& shares) {
  const double drawn = RandomKey(1).with("parts of appended nodes").uniform(node);
  if (drawn < shares[0]) return Part::kTrain;
  return drawn < shares[0] + shares[1] ? Part::kValid : Part::kTest;
}

Array& nodes_of(Split& split, Part part) {
  return part == Part::kTrain ? split.train : part == Part::kValid ? split.valid : split.test;
}

// A part's nodes: those that are given, and of [first, last) those that are drawn.
struct StageNodes {
  std::span<const std::uint64_t> given;
  std::uint64_t first, last;
  Part part;

  Array list(const std::vector<double>& shares, MemoryLedger* ledger) const {
    std::uint64_t drawn = 0;
    for (std::uint64_t node = first; node < last; ++node)
      drawn += part_of_appended(node, shares) == part ? 1u : 0u;
    const auto count = static_cast<std::int64_t>(given.size() + drawn);
    Array made = Array::make(DType::kU64, {count}, ledger, "splits").or_throw();
    auto at = std::ranges::copy(given, made.as<std::uint64_t>().begin()).out;
    for (std::uint64_t node = first; node < last; ++node)
      if (part_of_appended(node, shares) == part) *at++ = node;
    return made;
  }
};

}  // namespace

std::uint64_t NodeTask::num_ids(const GraphSchema& schema) const {
  return schema.nodes.at(target_type_).count;
}

void NodeTask::divide(const DataStages& stages) {
  const std::vector<double>& shares = stages.shares;
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (shares.size() != 3 || std::abs(sum - 1) > 1e-6 || shares[0] <= 0)
    throw Error(ErrorCode::kUsage,
                "'continual.shares' is not three shares that sum to 1, that of training above 0",
                "for example continual.shares = [0.7, 0.15, 0.15]: train, valid, test");
  stages_ = stages;
}

std::uint64_t NodeTask::first_of(Era era) const {
  return era == Era::kOld || stages_.since.empty() ? 0 : stages_.since.back();
}

std::uint64_t NodeTask::last_of(Era era, const GraphData& data) const {
  if (era == Era::kNew) return data.schema().nodes[target_type_].count;
  return stages_.since.empty() ? 0 : stages_.since.back();
}

// Those that the split lists are of the first stage; all from its end on are drawn.
void NodeTask::divide_split(const Split& split, std::uint64_t count, MemoryLedger* ledger) {
  const std::uint64_t listed = stages_.since.front(), old = stages_.since.back();
  Split given = split;
  for (const Part part : {Part::kTrain, Part::kValid, Part::kTest}) {
    const auto all = std::as_const(nodes_of(given, part)).as<std::uint64_t>();
    const auto own = all.first(static_cast<std::size_t>(std::ranges::lower_bound(all, listed) -
                                                        all.begin()));  // they ascend
    const StageNodes before{own, listed, old, part}, after{{}, old, count, part};
    nodes_of(splits_.at(static_cast<std::size_t>(Era::kOld)), part) =
        before.list(stages_.shares, ledger);
    nodes_of(splits_.at(static_cast<std::size_t>(Era::kNew)), part) =
        after.list(stages_.shares, ledger);
  }
  for (Split& era : splits_) era.node_type = split.node_type;
}

std::shared_ptr<const ReplayBuffer> NodeTask::make_buffer(const ReplayOptions& options,
                                                          const GraphData& data) const {
  const GraphSchema& schema = data.schema();
  std::vector<std::uint64_t> first;
  first.reserve(schema.nodes.size());
  std::uint64_t nodes = 0;
  for (const NodeTypeSchema& type : schema.nodes)
    first.push_back(std::exchange(nodes, nodes + type.count));
  const Array& train = split_of(Era::kOld).train;
  Array numbers = Array::make(DType::kU64, train.shape(), data.ledger(), "replay").or_throw();
  std::ranges::transform(train.as<std::uint64_t>(),
                         numbers.as<std::uint64_t>().begin(),
                         [&](std::uint64_t node) { return first[target_type_] + node; });
  return std::make_shared<const ReplayBuffer>(
      ReplayBuffer::of_nodes(std::as_const(numbers).as<std::uint64_t>(),
                             nodes,
                             pass_over(data.graph(), first, data.ledger()),
                             options,
                             data.ledger())
          .or_throw());
}

std::unique_ptr<QuerySource> NodeTask::replayed(const QueryRequest& request,
                                                const GraphData& data,
                                                std::shared_ptr<const ReplayBuffer> buffer,
                                                std::uint64_t batches) const {
  ReplayNodeOptions asked;
  asked.nodes = split_of(Era::kOld).train;
  asked.type = target_type_;
  asked.batch_size = request.batch_size;
  if (request.sampler && request.sampler->needs_times())
    asked.times = data.node_times(target_type_);
  return std::make_unique<ReplayNodeQueries>(
      data.schema(), std::move(asked), ReplayedQueries{std::move(buffer), batches});
}

}  // namespace sluice::tasks
