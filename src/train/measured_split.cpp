#include "train/measured_split.h"

#include "tasks/encoder_task.h"
#include "train/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

namespace sluice {
namespace {

std::vector<std::uint64_t> sorted(const Array& list) {
  const std::span<const std::uint64_t> ids = list.as<std::uint64_t>();
  std::vector<std::uint64_t> all(ids.begin(), ids.end());
  std::ranges::sort(all);
  return all;
}

// Nodes that `measured` validates or tests and `trained` trains on.
std::int64_t num_seen(const Split& trained, const Split& measured) {
  const std::vector<std::uint64_t> seen = sorted(trained.train);
  const auto among_seen = [&](std::uint64_t id) { return std::ranges::binary_search(seen, id); };
  return std::ranges::count_if(measured.valid.as<std::uint64_t>(), among_seen) +
         std::ranges::count_if(measured.test.as<std::uint64_t>(), among_seen);
}

const EdgeSplitSchema* edge_split_of(const GraphSchema& schema, const std::string& name) {
  const auto found = std::ranges::find(schema.edge_splits, name, &EdgeSplitSchema::name);
  return found == schema.edge_splits.end() ? nullptr : &*found;
}

// Edges that stand apart are not the graph's, which the other split trained on.
bool may_test_trained(const EdgeSplitSchema& trained, const EdgeSplitSchema& measured) {
  const bool trained_apart = trained.relation.empty() && trained.train != 0;
  return !measured.relation.empty() || trained_apart;
}

}  // namespace

void check_measured_split(const std::string& trained, const Parts& parts, const Place& place) {
  const std::string& measured = parts.options.dataset.split;
  if (trained == measured) return;
  if (dynamic_cast<const tasks::EncoderTask*>(parts.task.get()) != nullptr) return;
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::kUsage,
                fmt::format("weights that were trained with split '{}' cannot be measured by split "
                            "'{}': {}",
                            trained,
                            measured,
                            why),
                "leave --set dataset.split out, or train a new run in another directory",
                place);
  };
  const GraphSchema& schema = parts.dataset.schema();
  const EdgeSplitSchema* const links_before = edge_split_of(schema, trained);
  const EdgeSplitSchema* const links_now = edge_split_of(schema, measured);
  if (links_before != nullptr && links_now != nullptr &&
      may_test_trained(*links_before, *links_now))
    refuse("links that it tests may be links that were trained on");
  if (schema.split(trained) == nullptr || schema.split(measured) == nullptr) return;
  const Split before = parts.dataset.split(trained), now = parts.dataset.split(measured);
  if (before.node_type != now.node_type) return;
  if (const std::int64_t seen = num_seen(before, now); seen != 0)
    refuse(fmt::format("{} of the nodes that it validates or tests were trained on", seen));
}

}  // namespace sluice
