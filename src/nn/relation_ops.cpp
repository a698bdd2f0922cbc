// The operation of nn/block_ops.h that tells edges of several relations apart.
#include "nn/function_support.h"

#include "kernels/table.h"

#include <sluice/error.h>
#include <sluice/nn/block_ops.h>
#include <sluice/nn/tensor_view.h>

#include <optional>
#include <tuple>

namespace sluice::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// One over the number of edges that have an edge's target and relation: f32 [edges, 1].
Tensor shares_of_means(const Block& block, std::int64_t num_relations, const Tensor& relations) {
  const Tensor targets = torch::repeat_interleave(as_tensor(block.offsets).diff(),
                                                  std::optional<std::int64_t>(block.num_edges()));
  const Tensor pairs = targets * num_relations + relations;
  const auto [values, places, counts] =
      torch::_unique2(pairs, /*sorted=*/true, /*return_inverse=*/true, /*return_counts=*/true);
  return counts.index_select(0, places).to(torch::kFloat32).reciprocal().unsqueeze(1);
}

struct RelationWeights : torch::autograd::Function<RelationWeights> {
  static Tensor forward(AutogradContext* context,
                        const LayerCall& call,
                        const Tensor& coefficients,
                        const Tensor& relations) {
    hold(context, call);
    const Tensor shares = shares_of_means(*call.block, coefficients.size(0), relations);
    context->save_for_backward({relations, shares});
    context->saved_data["relations"] = coefficients.size(0);
    return coefficients.index_select(0, relations) * shares;
  }

  // Each relation lists its edges, ascending: a sum has one order.
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const LayerCall& call = held(context);
    const variable_list saved = context->get_saved_variables();
    const Tensor& relations = saved[0];
    const std::int64_t count = context->saved_data.at("relations").toInt();
    const Tensor order =
        torch::argsort(relations, /*stable=*/true, /*dim=*/0, /*descending=*/false);
    const Tensor offsets = torch::searchsorted(relations.index_select(0, order),
                                               torch::arange(count + 1, relations.options()));
    const Tensor edges = order.to(torch::kInt32);
    const kernels::RowLists lists{offsets.data_ptr<std::int64_t>(),
                                  edges.data_ptr<std::int32_t>(),
                                  count,
                                  edges.data_ptr<std::int32_t>()};
    const Tensor values = (grads[0] * saved[1]).contiguous();
    Tensor sums = torch::empty({count, values.size(1)}, values.options());
    kernels::on(call.executor)
        .segment_edge_sum(call.executor, lists, rows_of(values), rows_of(sums));
    return {Tensor(), sums, Tensor()};
  }
};

}  // namespace

Tensor relation_weights(const LayerCall& call,
                        const Tensor& coefficients,
                        const Tensor& relations) {
  if (relations.dim() != 1 || relations.scalar_type() != torch::kInt64 ||
      relations.size(0) != call.block->num_edges())
    throw Error(ErrorCode::kInternal, "relations that are not those of a block's edges");
  if (relations.numel() == 0) return coefficients.index_select(0, relations);
  return RelationWeights::apply(call, coefficients, relations.contiguous());
}

}  // namespace sluice::nn
