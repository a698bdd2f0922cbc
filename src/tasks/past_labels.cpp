#include "tasks/past_labels.h"

#include <algorithm>

namespace sluice::tasks {

torch::Tensor mean_past_labels(const NodeLabels& labels,
                               std::span<const std::uint64_t> nodes,
                               std::span<const std::int64_t> times,
                               std::uint64_t count) {
  const auto width = static_cast<std::size_t>(labels.num_classes());
  torch::Tensor means = torch::zeros(
      {static_cast<std::int64_t>(nodes.size()), static_cast<std::int64_t>(width)}, torch::kFloat64);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::span<double> row(means.data_ptr<double>() + i * width, width);
    const NodeLabels::Range before = labels.before(nodes[i], times[i]);
    const std::uint64_t taken = std::min(count, before.size());
    if (taken == 0) continue;
    for (std::uint64_t place = before.last - taken; place < before.last; ++place)
      labels.add_shares(place, row);
    for (double& share : row) share /= static_cast<double>(taken);
  }
  return means;
}

void PastLabels::Options::describe(Schema& schema) {
  schema.field("labels", labels)
      .help("a node's latest labels whose mean is taken; 1: the last value")
      .range(1, 1 << 20);
}

PastLabels::PastLabels(const Options& options, const ModelContext& /*context*/)
    : options_(options) {}

Encoding PastLabels::encode(const Batch& /*batch*/) {
  throw Error(ErrorCode::kUsage,
              "model 'past_labels' takes the mean of labels at times, and encodes no nodes",
              "set task.type = \"dynamic_node_classification\", or choose another model");
}

BatchNeeds PastLabels::needs() const {
  BatchNeeds none;
  none.feature_groups.clear();
  return none;
}

}  // namespace sluice::tasks
