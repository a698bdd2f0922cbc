// The operations of nn/block_ops.h that attention is made of, and sums by weights of edges.
#include "nn/function_support.h"

#include "kernels/table.h"

#include <sluice/nn/block_ops.h>

namespace sluice::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct WeighNeighbours : torch::autograd::Function<WeighNeighbours> {
  static Tensor forward(AutogradContext* context,
                        const LayerCall& call,
                        Columns columns,
                        const Tensor& weights,
                        const Tensor& own_weights,
                        const Tensor& x) {
    hold(context, call);
    context->save_for_backward({weights, own_weights, x});
    const std::int64_t width =
        columns == Columns::kShared ? weights.size(1) * x.size(1) : x.size(1);
    Tensor out = torch::empty({call.block->num_targets, width}, weights.options());
    kernels::on(call.executor)
        .segment_weighted_sum(call.executor,
                              source_lists(*call.block),
                              rows_of(weights),
                              rows_of(own_weights),
                              rows_to_read(x),
                              rows_of(out));
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const LayerCall& call = held(context);
    const variable_list saved = context->get_saved_variables();
    const Tensor &weights = saved[0], &own_weights = saved[1], &x = saved[2];
    const Tensor grad = grads[0].contiguous();
    Tensor grad_weights, grad_own, grad_x;
    if (context->needs_input_grad(0)) {
      grad_weights = torch::empty_like(weights);
      kernels::on(call.executor)
          .edge_dot(call.executor,
                    source_lists(*call.block),
                    rows_of(grad),
                    rows_to_read(x),
                    rows_of(grad_weights));
    }
    if (context->needs_input_grad(1)) {
      const std::int64_t targets = grad.size(0), heads = own_weights.size(1);
      const std::int64_t width = grad.size(1) / heads;
      const Tensor own = x.narrow(0, 0, targets).view({targets, -1, width});
      grad_own = (grad.view({targets, heads, width}) * own).sum(-1);
    }
    if (context->needs_input_grad(2)) {
      grad_x = torch::empty(x.sizes(), grad.options());
      kernels::on(call.executor)
          .segment_weighted_sum(call.executor,
                                target_lists(*call.block),
                                rows_of(weights),
                                rows_of(own_weights),
                                rows_of(grad),
                                rows_of(grad_x));
    }
    return {Tensor(), Tensor(), grad_weights, grad_own, grad_x};
  }
};

struct AddEnds : torch::autograd::Function<AddEnds> {
  static Tensor forward(AutogradContext* context,
                        const LayerCall& call,
                        const Tensor& from_target,
                        const Tensor& from_source) {
    hold(context, call);
    Tensor out =
        torch::empty({call.block->num_edges(), from_target.size(1)}, from_target.options());
    kernels::on(call.executor)
        .edge_add(call.executor,
                  source_lists(*call.block),
                  rows_of(from_target),
                  rows_of(from_source),
                  rows_of(out));
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const LayerCall& call = held(context);
    const Tensor grad = grads[0].contiguous();
    const auto sum_over = [&](const kernels::RowLists& lists) {
      Tensor sums = torch::empty({lists.count, grad.size(1)}, grad.options());
      kernels::on(call.executor)
          .segment_edge_sum(call.executor, lists, rows_of(grad), rows_of(sums));
      return sums;
    };
    Tensor grad_target, grad_source;
    if (context->needs_input_grad(0)) grad_target = sum_over(source_lists(*call.block));
    if (context->needs_input_grad(1)) grad_source = sum_over(target_lists(*call.block));
    return {Tensor(), grad_target, grad_source};
  }
};

struct DotEnds : torch::autograd::Function<DotEnds> {
  static Tensor forward(AutogradContext* context,
                        const LayerCall& call,
                        std::int64_t heads,
                        const Tensor& from_target,
                        const Tensor& from_source) {
    hold(context, call);
    context->save_for_backward({from_target, from_source});
    Tensor out = torch::empty({call.block->num_edges(), heads}, from_target.options());
    kernels::on(call.executor)
        .edge_dot(call.executor,
                  source_lists(*call.block),
                  rows_of(from_target),
                  rows_of(from_source),
                  rows_of(out));
    return out;
  }

  // Each end gets the other's rows, weighed by the gradients of the edges between.
  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const LayerCall& call = held(context);
    const variable_list saved = context->get_saved_variables();
    const Tensor grad = grads[0].contiguous();
    const Tensor none = grad.new_empty({0, grad.size(1)});
    const auto weighed = [&](const kernels::RowLists& lists, const Tensor& others) {
      Tensor sums = torch::empty({lists.count, others.size(1)}, grad.options());
      kernels::on(call.executor)
          .segment_weighted_sum(
              call.executor, lists, rows_of(grad), rows_of(none), rows_of(others), rows_of(sums));
      return sums;
    };
    Tensor grad_target, grad_source;
    if (context->needs_input_grad(0)) grad_target = weighed(source_lists(*call.block), saved[1]);
    if (context->needs_input_grad(1)) grad_source = weighed(target_lists(*call.block), saved[0]);
    return {Tensor(), Tensor(), grad_target, grad_source};
  }
};

struct EdgeSoftmax : torch::autograd::Function<EdgeSoftmax> {
  static variable_list forward(AutogradContext* context,
                               const LayerCall& call,
                               const Tensor& logits,
                               const Tensor& own_logits) {
    hold(context, call);
    Tensor weights = torch::empty_like(logits);
    Tensor own_weights = torch::empty_like(own_logits);
    kernels::on(call.executor)
        .edge_softmax(call.executor,
                      source_lists(*call.block),
                      rows_of(logits),
                      rows_of(own_logits),
                      rows_of(weights),
                      rows_of(own_weights));
    context->save_for_backward({weights, own_weights});
    return {weights, own_weights};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const LayerCall& call = held(context);
    const variable_list saved = context->get_saved_variables();
    Tensor grad_logits = torch::empty_like(saved[0]);
    Tensor grad_own_logits = torch::empty_like(saved[1]);
    kernels::on(call.executor)
        .edge_softmax_backward(call.executor,
                               source_lists(*call.block),
                               rows_of(saved[0]),
                               rows_of(saved[1]),
                               rows_of(grads[0].contiguous()),
                               rows_of(grads[1].contiguous()),
                               rows_of(grad_logits),
                               rows_of(grad_own_logits));
    return {Tensor(), grad_logits, grad_own_logits};
  }
};

}  // namespace

Tensor weigh_neighbours(const LayerCall& call,
                        Columns columns,
                        const Tensor& weights,
                        const Tensor& own_weights,
                        const Tensor& x) {
  check_rows(weights, call.block->num_edges(), "edges");
  if (own_weights.defined()) check_rows(own_weights, call.block->num_targets, "targets");
  check_rows_to_read(x, call.block->num_sources, "sources");
  // A function takes no undefined tensor: none are no rows.
  const Tensor own =
      own_weights.defined() ? own_weights.contiguous() : weights.new_empty({0, weights.size(1)});
  return WeighNeighbours::apply(call, columns, weights.contiguous(), own, x.contiguous());
}

Tensor add_ends(const LayerCall& call, const Tensor& from_target, const Tensor& from_source) {
  check_rows(from_target, call.block->num_targets, "targets");
  check_rows(from_source, call.block->num_sources, "sources");
  return AddEnds::apply(call, from_target.contiguous(), from_source.contiguous());
}

Tensor dot_ends(const LayerCall& call,
                std::int64_t heads,
                const Tensor& from_target,
                const Tensor& from_source) {
  check_rows(from_target, call.block->num_targets, "targets");
  check_rows(from_source, call.block->num_sources, "sources");
  return DotEnds::apply(call, heads, from_target.contiguous(), from_source.contiguous());
}

std::pair<Tensor, Tensor> edge_softmax(const LayerCall& call,
                                       const Tensor& logits,
                                       const Tensor& own_logits) {
  check_rows(logits, call.block->num_edges(), "edges");
  check_rows(own_logits, call.block->num_targets, "targets");
  const variable_list both = EdgeSoftmax::apply(call, logits.contiguous(), own_logits.contiguous());
  return {both[0], both[1]};
}

// An own row of so small a logit weighs exactly 0 beside any edge.
Tensor edge_softmax(const LayerCall& call, const Tensor& logits) {
  constexpr float kNothing = -1e30f;
  return edge_softmax(
             call,
             logits,
             torch::full({call.block->num_targets, logits.size(1)}, kNothing, logits.options()))
      .first;
}

}  // namespace sluice::nn
