#include "models/table_inputs.h"

#include <sluice/error.h>
#include <sluice/nn/learned_rows.h>
#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

#include <algorithm>

namespace sluice::models {
namespace {

std::size_t one_type(const ModelContext& context, std::string_view model) {
  if (context.target_types.size() == 1) return context.target_types[0];
  throw Error(ErrorCode::kUsage,
              fmt::format("model '{}' gives rows of one node type, the task asks for those of {}",
                          model,
                          context.target_types.size()),
              "choose a task about nodes of one type");
}

bool fits(const std::string& pattern, const std::string& name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
}

}  // namespace

void describe_table_dropouts(Schema& schema, double& dropout, double& table_dropout) {
  schema.field("dropout", dropout)
      .help("share of hidden elements zeroed in training")
      .range(0, 0.999);
  schema.field("table_dropout", table_dropout)
      .help("share of the tables' elements zeroed in training")
      .range(0, 0.999);
}

TableInputs::TableInputs(const ModelContext& context,
                         const std::vector<std::string>& patterns,
                         std::string_view model)
    : type_(one_type(context, model)), learned_(context.rows) {
  const NodeTypeSchema& node = context.schema.nodes.at(type_);
  const std::vector<std::string> all{"*"};
  for (const std::string& pattern : patterns.empty() ? all : patterns) {
    bool any = patterns.empty();
    for (const FeatureSchema& table : node.features) {
      if (!fits(pattern, table.name)) continue;
      any = true;
      if (find(table.name) != size()) continue;
      names_.push_back(table.name);
      widths_.push_back(table.dim);
    }
    if (!any)
      throw Error(
          ErrorCode::kUsage,
          fmt::format(
              "model '{}': node type '{}' has no feature table '{}'", model, node.name, pattern),
          "sluice-prep inspect shows them; sluice-prep propagate makes more");
  }
  const std::int64_t learned = learned_ == nullptr ? 0 : learned_->dim(type_);
  if (learned != 0) widths_.push_back(learned);
  if (widths_.empty())
    throw Error(ErrorCode::kUsage,
                fmt::format("model '{}' needs node features, and '{}' has none", model, node.name),
                "sluice-prep propagate makes some of other types' features");
}

std::size_t TableInputs::find(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? size() : static_cast<std::size_t>(found - names_.begin());
}

torch::Tensor TableInputs::rows(const Batch& batch, std::size_t table) const {
  const std::int64_t seeds = batch.num_seeds(type_);
  if (table == names_.size()) return learned_->rows(type_).narrow(0, 0, seeds);
  const torch::Tensor all = nn::as_tensor(batch.features(type_, table));
  if (all.dim() != 2 || all.size(1) != widths_[table])
    throw Error(ErrorCode::kInternal,
                fmt::format("a batch without the table '{}' of its model", names_[table]));
  return all.narrow(0, 0, seeds);
}

}  // namespace sluice::models
