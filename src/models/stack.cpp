#include <sluice/models/stack.h>

#include <sluice/error.h>
#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

#include <memory>

namespace sluice::models {
namespace {

std::size_t only_type(const ModelContext& context, std::string_view name) {
  if (context.target_types.size() == 1) return context.target_types[0];
  throw Error(ErrorCode::kUsage,
              fmt::format("model '{}' gives rows of one node type, the task asks for those of {}",
                          name,
                          context.target_types.size()),
              "choose a model for heterogeneous graphs, or a relation between nodes of one type");
}

// What there is of the nodes of the type that is asked for, as it is.
class TargetRows final : public InputRows {
 public:
  TargetRows(const ModelContext& context, std::string_view model, Reads reads)
      : type_(only_type(context, model)),
        types_(context.schema.nodes.size()),
        rows_(context, type_),
        reads_(reads) {
    check_homogeneous(context.schema, model, reads);
    if (rows_.width() != 0) return;
    throw Error(ErrorCode::kUsage,
                fmt::format("model '{}' needs node features, and '{}' has none",
                            model,
                            context.schema.nodes[type_].name),
                "import features for this node type, or learn rows: embedding.dim = 64");
  }

  std::int64_t width() const override { return rows_.width(); }
  TypedRows forward(const Batch& batch) const override {
    TypedRows rows(types_);
    rows[type_] = rows_.of(batch);
    if (reads_ == Reads::kRows && rows[type_].defined())
      rows[type_] = rows[type_].narrow(0, 0, batch.num_seeds(type_));
    return rows;
  }

 private:
  static void check_homogeneous(const GraphSchema& schema, std::string_view name, Reads reads) {
    if (reads == Reads::kRows) return;
    if (schema.nodes.size() == 1 && schema.relations.size() == 1) return;
    throw Error(ErrorCode::kUsage,
                fmt::format("model '{}' is for one node type and one relation; this dataset has "
                            "{} node types and {} relations",
                            name,
                            schema.nodes.size(),
                            schema.relations.size()),
                "choose a model for heterogeneous graphs, or import the relation by itself");
  }

  std::size_t type_, types_;
  NodeRows rows_;
  Reads reads_;
};

}  // namespace

torch::Tensor degrees_of(const BatchNodes& nodes) {
  if (nodes.degrees.numel() == nodes.ids.numel()) return nn::as_tensor(nodes.degrees);
  throw Error(ErrorCode::kInternal, "a batch without the degrees that its model needs");
}

Stack::Stack(const StackOptions& options,
             const ModelContext& context,
             std::string_view name,
             Reads reads)
    : TypedStack(options,
                 context,
                 name,
                 {std::make_shared<TargetRows>(context, name, reads), only_type(context, name)}),
      reads_(reads),
      target_type_(only_type(context, name)) {}

std::int64_t Stack::num_layers() const {
  return reads_ == Reads::kRows ? 0 : TypedStack::num_layers();
}

nn::BlockRef Stack::block_of(const Batch& batch, std::int64_t layer) const {
  if (reads_ == Reads::kRows) return nullptr;
  const auto at = static_cast<std::size_t>(layer);
  if (batch.layers.size() != static_cast<std::size_t>(num_layers()) ||
      batch.layers[at].size() != 1) {
    throw Error(ErrorCode::kInternal,
                fmt::format("a batch of {} layers for a model of {}, or not of one relation",
                            batch.layers.size(),
                            num_layers()));
  }
  return std::make_shared<const Block>(batch.layers[at][0]);
}

TypedRows Stack::propagate(std::int64_t layer,
                           const nn::LayerCall& call,
                           const std::vector<nn::PendingRows>& x,
                           const Batch& batch) const {
  TypedRows rows(x.size());
  const torch::Tensor own = x[target_type_].whole();
  if (own.defined())
    rows[target_type_] =
        convolve(layer, {call.executor, block_of(batch, layer), call.key}, own, batch);
  return rows;
}

}  // namespace sluice::models
