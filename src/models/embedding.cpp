#include "models/embedding.h"

#include <sluice/error.h>
#include <sluice/nn/block_ops.h>
#include <sluice/nn/learned_rows.h>

#include <fmt/format.h>

namespace sluice::models {

void Embedding::Options::describe(Schema& schema) {
  schema.field("dropout", dropout)
      .help("share of the elements of a mini-batch's rows zeroed in training")
      .range(0, 0.999);
}

Embedding::Embedding(const Options& options, const ModelContext& context)
    : options_(options),
      types_(context.target_types),
      executor_{context.threads, context.kernels},
      rows_(context.rows) {
  for (const std::size_t type : types_) {
    const std::int64_t columns = rows_ == nullptr ? 0 : rows_->dim(type);
    if (columns == context.output_width) continue;
    const std::string& name = context.schema.nodes.at(type).name;
    throw Error(
        ErrorCode::kUsage,
        columns == 0
            ? fmt::format("model 'embedding' reads learned rows of '{}', and none are learned",
                          name)
            : fmt::format("the learned rows of '{}' have {} columns, the task reads {}",
                          name,
                          columns,
                          context.output_width),
        fmt::format("set embedding.dim = {} and leave embedding.types out", context.output_width));
  }
}

BatchNeeds Embedding::needs() const {
  BatchNeeds needs;
  needs.feature_groups.clear();
  return needs;
}

Encoding Embedding::encode(const Batch& batch) {
  Encoding encoded(batch.nodes.size());
  for (const std::size_t type : types_) {
    if (batch.num_seeds(type) == 0) continue;
    torch::Tensor rows = rows_->rows(type).narrow(0, 0, batch.num_seeds(type));
    if (is_training())
      rows = nn::dropout(executor_, step_key().with("rows").with(type), options_.dropout, rows);
    encoded[type] = std::move(rows);
  }
  return encoded;
}

}  // namespace sluice::models
