#include <sluice/models/relation_first.h>

#include "models/type_flow.h"
#include "nn/recompute.h"

#include <sluice/nn/learned_rows.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace sluice::models {
namespace {

// Features that all nodes of a dataset have as f32, from which on a step's peak is worth a second
// gather: those of mini-batches are as large a share of a small dataset as need be.
constexpr double kManyFeatureBytes = 1 << 30;
// Of all features' columns and rows, those of the largest type: above it little is saved.
constexpr double kLargestShare = 0.65;

// By node type: hops from the types that are asked for, against the edges; nothing where none lead.
std::vector<std::optional<std::size_t>> metatree_depths(const ModelContext& context) {
  std::vector<std::optional<std::size_t>> depths(context.schema.nodes.size());
  std::vector<std::size_t> queue = context.target_types;
  for (const std::size_t type : queue) depths.at(type) = 0;
  const std::vector<nn::TypedRelation> relations = typed_relations(context.schema);
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const std::size_t target = queue[next];
    for (const nn::TypedRelation& each : relations) {
      if (each.target_type != target || depths[each.source_type]) continue;
      depths[each.source_type] = *depths[target] + 1;
      queue.push_back(each.source_type);
    }
  }
  return depths;
}

std::int64_t feature_columns(const NodeTypeSchema& type) {
  return type.features.empty() ? 0 : std::int64_t{type.features[0].dim};
}

Execution by_size(const GraphSchema& schema, const std::vector<bool>& read) {
  double sum = 0, largest = 0;
  for (std::size_t type = 0; type < read.size(); ++type) {
    if (!read[type]) continue;
    const double bytes = static_cast<double>(schema.nodes[type].count) *
                         static_cast<double>(feature_columns(schema.nodes[type])) * sizeof(float);
    sum += bytes;
    largest = std::max(largest, bytes);
  }
  const bool many = sum >= kManyFeatureBytes && largest <= kLargestShare * sum;
  return many ? Execution::kRelationFirst : Execution::kPlain;
}

std::uint64_t float_bytes(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns) * sizeof(float);
}

}  // namespace

void describe_execution(Schema& schema, Execution& execution) {
  schema
      .choice("execution",
              execution,
              {{"auto", Execution::kAuto, "by the size of the dataset's features"},
               {"plain", Execution::kPlain, "the first layer reads all node types at once"},
               {"relation_first",
                Execution::kRelationFirst,
                "a group of node types after the other, and again in the backward pass"}})
      .help(
          "order of the first layer over several node types: what it finds is the same but for the "
          "order of sums, and its peak of memory is that of the largest type instead of all");
}

RelationFirst::RelationFirst(const ModelContext& context,
                             const std::vector<bool>& read,
                             std::int64_t width,
                             Execution execution)
    : num_types_(context.schema.nodes.size()),
      width_(width),
      rows_(context.rows),
      execution_(execution == Execution::kAuto ? by_size(context.schema, read) : execution) {
  const std::vector<std::optional<std::size_t>> depths = metatree_depths(context);
  for (std::size_t type = 0; type < read.size(); ++type)
    if (read[type])
      types_.push_back({type,
                        feature_columns(context.schema.nodes[type]),
                        rows_ == nullptr ? 0 : rows_->dim(type)});
  std::ranges::stable_sort(types_, {}, [&](const Type& each) { return depths[each.type]; });
}

std::uint64_t RelationFirst::bytes_of(const Batch& batch, const Type& type) const {
  return float_bytes(batch.nodes.at(type.type).ids.numel(), type.features + type.learned + width_);
}

// By first fit, from the largest: so no group is larger than that, and the backward pass, which
// goes from the last to the first, comes to it when all else is done.
std::vector<std::vector<std::size_t>> RelationFirst::groups_of(const Batch& batch) const {
  struct Group {
    std::vector<std::size_t> types;
    std::uint64_t bytes = 0;
  };
  std::vector<std::pair<std::uint64_t, std::size_t>> loads;
  for (const Type& each : types_)
    if (batch.nodes.at(each.type).ids.numel() != 0)
      loads.emplace_back(bytes_of(batch, each), each.type);
  std::ranges::stable_sort(
      loads, std::ranges::greater{}, [](const auto& load) { return load.first; });
  std::vector<Group> groups;
  for (const auto& [bytes, type] : loads) {
    const auto fits = [&, more = bytes](const Group& group) {
      return group.bytes + more <= loads.front().first;
    };
    auto group = std::ranges::find_if(groups, fits);
    if (group == groups.end()) group = groups.emplace(groups.end());
    group->types.push_back(type);
    group->bytes += bytes;
  }
  std::vector<std::vector<std::size_t>> types;
  types.reserve(groups.size());
  for (Group& group : groups) types.push_back(std::move(group.types));
  return types;
}

std::vector<torch::Tensor> RelationFirst::sum(const Batch& batch,
                                              const std::vector<torch::Tensor>& parameters,
                                              const Part& part) {
  std::vector<torch::Tensor> sums(num_types_);
  for (const std::vector<std::size_t>& types : groups_of(batch)) {
    std::vector<torch::Tensor> leaves = parameters;
    for (const std::size_t type : types)
      if (rows_ != nullptr && rows_->dim(type) != 0) leaves.push_back(rows_->rows(type));
    const std::vector<torch::Tensor> found =
        nn::recompute([part, types] { return part(types); }, leaves);
    for (std::size_t type = 0; type < sums.size(); ++type) {
      if (!found.at(type).defined()) continue;
      sums[type] = sums[type].defined() ? sums[type] + found[type] : found[type];
    }
  }
  return sums;
}

void RelationFirst::note(const Batch& batch) {
  std::uint64_t features = 0, plain = 0, largest = 0;
  std::vector<std::uint64_t> by_type(num_types_);
  for (const Type& each : types_) {
    const std::uint64_t own = float_bytes(batch.nodes.at(each.type).ids.numel(), each.features);
    features += own;
    plain += bytes_of(batch, each);
    by_type[each.type] = bytes_of(batch, each) - (batch.deferred ? 0 : own);
  }
  const std::vector<std::vector<std::size_t>> groups = groups_of(batch);
  for (const std::vector<std::size_t>& types : groups) {
    std::uint64_t bytes = 0;
    for (const std::size_t type : types) bytes += by_type[type];
    largest = std::max(largest, bytes);
  }
  if (!batch.deferred) largest += features;  // which stay while the mini-batch does
  figures_.groups = std::max<std::uint64_t>(figures_.groups, groups.size());
  figures_.plain.inputs = std::max(figures_.plain.inputs, plain);
  figures_.relation_first.inputs = std::max(figures_.relation_first.inputs, largest);
  const bool twice = batch.deferred && at::GradMode::is_enabled();
  figures_.plain.gathered += features;
  figures_.relation_first.gathered += twice ? 2 * features : features;
}

}  // namespace sluice::models
