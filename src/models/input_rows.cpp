#include <sluice/models/input_rows.h>

#include <sluice/error.h>
#include <sluice/nn/init.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace sluice::models {

void throw_no_inputs(const ModelContext& context, std::string_view model) {
  if (context.schema.nodes.size() == 1)
    throw Error(ErrorCode::kUsage,
                fmt::format("model '{}' needs node features, and '{}' has none",
                            model,
                            context.schema.nodes[0].name),
                "import features for this node type, or learn rows: embedding.dim = 64");
  throw Error(
      ErrorCode::kUsage,
      fmt::format("model '{}' needs node features, and no node type that it reads has any", model),
      "import features for a node type, or learn rows: embedding.dim = 64");
}

ProjectedRows::ProjectedRows(const ModelContext& context,
                             std::string_view model,
                             const std::vector<bool>& read,
                             std::int64_t width)
    : width_(width) {
  const RandomKey key = context.key.with("inputs");
  for (std::size_t type = 0; type < read.size(); ++type) {
    types_.push_back({NodeRows(context, type), nullptr, {}});
    Type& of = types_.back();
    if (!read[type]) continue;
    const std::string number = std::to_string(type);
    if (of.rows.width() != 0) {
      of.linear = register_module(
          "type" + number,
          std::make_shared<nn::Linear>(of.rows.width(), width, nn::Bias::kZero, key.with(type)));
    } else {
      of.constant =
          register_parameter("constant" + number, nn::glorot(key.with(type), {1, width}, 1, width));
    }
  }
  if (std::ranges::none_of(types_, [](const Type& type) { return type.linear != nullptr; }))
    throw_no_inputs(context, model);
}

nn::PendingRows ProjectedRows::rows_of(const Batch& batch, std::size_t type) const {
  const std::int64_t count = batch.nodes.at(type).ids.numel();
  const Type& of = types_[type];
  if (count == 0) return {};
  if (of.linear) return nn::PendingRows(of.rows.of(batch), of.linear.get());
  if (!of.constant.defined()) return {};
  return nn::PendingRows(of.constant.expand({count, width_}));
}

std::vector<nn::PendingRows> ProjectedRows::pending(const Batch& batch) const {
  std::vector<nn::PendingRows> rows(types_.size());
  for (std::size_t type = 0; type < rows.size(); ++type) rows[type] = rows_of(batch, type);
  return rows;
}

std::vector<nn::PendingRows> ProjectedRows::pending(const Batch& batch,
                                                    const std::vector<std::size_t>& types) const {
  std::vector<nn::PendingRows> rows(types_.size());
  for (const std::size_t type : types) rows.at(type) = rows_of(batch, type);
  return rows;
}

}  // namespace sluice::models
