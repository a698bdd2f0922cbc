#include <sluice/nn/block_ops.h>

#include "nn/dense_product.h"
#include "nn/function_support.h"

#include "kernels/table.h"

#include <sluice/nn/tensor_view.h>

namespace sluice::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// In a struct, as a function takes no undefined tensor as an argument of its own.
struct Scales {
  Tensor source, target, own;
};

kernels::SegmentScales scales_of(const Tensor& item, const Tensor& list, const Tensor& own) {
  return {floats_or_null(item),
          floats_or_null(list),
          floats_or_null(own),
          own.defined() ? own.size(0) : 0};
}

/// What sums of rows are, whatever the rows.
torch::TensorOptions sums_of(const Tensor& rows) {
  return rows.options().dtype(torch::kFloat32);
}

struct SumNeighbours : torch::autograd::Function<SumNeighbours> {
  static Tensor forward(AutogradContext* context,
                        const LayerCall& call,
                        const Tensor& x,
                        const Scales& scales) {
    hold(context, call);
    context->save_for_backward({scales.source, scales.target, scales.own});
    Tensor out = torch::empty({call.block->num_targets, x.size(1)}, sums_of(x));
    kernels::on(call.executor)
        .segment_sum(call.executor,
                     source_lists(*call.block),
                     scales_of(scales.source, scales.target, scales.own),
                     rows_to_read(x),
                     rows_of(out));
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    Tensor grad_x;
    if (context->needs_input_grad(0)) {
      const LayerCall& call = held(context);
      const variable_list scales = context->get_saved_variables();
      const Tensor grad = grads[0].contiguous();
      grad_x = torch::empty({call.block->num_sources, grad.size(1)}, grad.options());
      kernels::on(call.executor)
          .segment_sum(call.executor,
                       target_lists(*call.block),
                       scales_of(scales[1], scales[0], scales[2]),
                       rows_of(grad),
                       rows_of(grad_x));
    }
    return {Tensor(), grad_x, Tensor()};
  }
};

struct SumAndTransform : torch::autograd::Function<SumAndTransform> {
  static Tensor forward(AutogradContext* context,
                        const LayerCall& call,
                        Precision precision,
                        const Tensor& x,
                        const Tensor& own_weight,
                        const Tensor& own_bias,
                        const Tensor& neighbour_weight,
                        const Scales& scales) {
    hold(context, call);
    const Block& block = *call.block;
    Tensor sums = torch::empty({block.num_targets, x.size(1)}, x.options());
    kernels::on(call.executor)
        .segment_sum(call.executor,
                     source_lists(block),
                     scales_of({}, scales.target, {}),
                     rows_of(x),
                     rows_of(sums));
    Tensor own = x.narrow(0, 0, block.num_targets), own_by = own_weight, by = neighbour_weight;
    Tensor out;
    if (precision == Precision::kFloat32) {
      out = matrix_product(own, own_by.t());
      if (own_bias.defined()) out.add_(own_bias);
      add_matrix_product(out, sums, by.t());
    } else {
      own = rounded_rows(own);
      sums = rounded_rows(sums);
      own_by = own_by.to(torch::kBFloat16);
      by = by.to(torch::kBFloat16);
      out = torch::linear(own, own_by).addmm_(sums, by.t());
      out = out.narrow(0, 0, block.num_targets).to(torch::kFloat32).add_(own_bias);
    }
    context->save_for_backward({own, sums, own_by, by, scales.target});
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const LayerCall& call = held(context);
    const Block& block = *call.block;
    const variable_list saved = context->get_saved_variables();
    const Tensor &own = saved[0], &sums = saved[1], &own_by = saved[2], &by = saved[3];
    const Tensor grad = grads[0].contiguous();
    const bool exact = own.scalar_type() == torch::kFloat32;
    const Tensor factor = exact ? grad : rounded_rows(grad);
    const auto columns = [&](const Tensor& a, const Tensor& b) {
      return matrix_product(a.t(), b).to(torch::kFloat32);
    };
    Tensor grad_x, grad_own, grad_bias, grad_weight;
    if (context->needs_input_grad(1)) grad_own = columns(factor, own);
    if (context->needs_input_grad(2)) grad_bias = grad.sum(0);
    if (context->needs_input_grad(3)) grad_weight = columns(factor, sums);
    if (context->needs_input_grad(0)) {
      const Tensor grad_sums = matrix_product(factor, by).narrow(0, 0, block.num_targets);
      grad_x = torch::empty({block.num_sources, grad_sums.size(1)}, sums_of(grad_sums));
      kernels::on(call.executor)
          .segment_sum(call.executor,
                       target_lists(block),
                       scales_of(saved[4], {}, {}),
                       rows_to_read(grad_sums),
                       rows_of(grad_x));
      Tensor first = grad_x.narrow(0, 0, block.num_targets);
      if (exact) {
        add_matrix_product(first, factor, own_by);
      } else {
        first += factor.mm(own_by).narrow(0, 0, block.num_targets);
      }
    }
    return {Tensor(), Tensor(), grad_x, grad_own, grad_bias, grad_weight, Tensor()};
  }
};

struct MaxNeighbours : torch::autograd::Function<MaxNeighbours> {
  static Tensor forward(AutogradContext* context, const LayerCall& call, const Tensor& x) {
    hold(context, call);
    Tensor out = torch::empty({call.block->num_targets, x.size(1)}, sums_of(x));
    Tensor winner = torch::empty(out.sizes(), out.options().dtype(torch::kInt32));
    kernels::on(call.executor)
        .segment_max(call.executor,
                     source_lists(*call.block),
                     rows_to_read(x),
                     rows_of(out),
                     {winner.data_ptr<std::int32_t>(), winner.size(0), winner.size(1)});
    context->save_for_backward({winner});
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const LayerCall& call = held(context);
    const Tensor winner = context->get_saved_variables()[0];
    const Tensor grad = grads[0].contiguous();
    Tensor grad_x = torch::empty({call.block->num_sources, grad.size(1)}, grad.options());
    kernels::on(call.executor)
        .segment_max_backward(call.executor,
                              source_lists(*call.block),
                              target_lists(*call.block),
                              {winner.data_ptr<std::int32_t>(), winner.size(0), winner.size(1)},
                              rows_of(grad),
                              rows_of(grad_x));
    return {Tensor(), grad_x};
  }
};

}  // namespace

Tensor sum_neighbours(const LayerCall& call,
                      const Tensor& x,
                      const Tensor& source_scale,
                      const Tensor& target_scale,
                      const Tensor& own_scale) {
  check_rows_to_read(x, call.block->num_sources, "sources");
  return SumNeighbours::apply(call, x.contiguous(), Scales{source_scale, target_scale, own_scale});
}

Tensor sum_and_transform(const LayerCall& call,
                         Precision precision,
                         const Tensor& x,
                         const Tensor& target_scale,
                         const Tensor& own_weight,
                         const Tensor& own_bias,
                         const Tensor& neighbour_weight) {
  check_rows(x, call.block->num_sources, "sources");
  return SumAndTransform::apply(call,
                                precision,
                                x.contiguous(),
                                own_weight,
                                own_bias,
                                neighbour_weight,
                                Scales{{}, target_scale, {}});
}

Tensor max_neighbours(const LayerCall& call, const Tensor& x) {
  check_rows_to_read(x, call.block->num_sources, "sources");
  return MaxNeighbours::apply(call, x.contiguous());
}

Tensor sampled_degrees(const Block& block) {
  return as_tensor(block.offsets).diff().to(torch::kFloat32);
}

}  // namespace sluice::nn
