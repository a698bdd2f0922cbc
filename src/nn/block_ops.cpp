#include "nn/block_ops.h"

#include "nn/function_support.h"
#include "nn/tensor_view.h"

#include "kernels/table.h"

#include <sluice/error.h>

namespace sluice::nn {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// In a struct, as a function takes no undefined tensor as an argument of its own.
struct Scales {
  Tensor source, target;
};

struct SumNeighbours : torch::autograd::Function<SumNeighbours> {
  static Tensor forward(AutogradContext* context,
                        const LayerCall& call,
                        const Tensor& x,
                        const Scales& scales) {
    hold(context, call);
    context->save_for_backward({scales.source, scales.target});
    Tensor out = torch::empty({call.block->num_targets, x.size(1)}, x.options());
    kernels::on(call.executor)
        .segment_sum(call.executor,
                     source_lists(*call.block),
                     {floats_or_null(scales.source), floats_or_null(scales.target)},
                     rows_of(x),
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
                       {floats_or_null(scales[1]), floats_or_null(scales[0])},
                       rows_of(grad),
                       rows_of(grad_x));
    }
    return {Tensor(), grad_x, Tensor()};
  }
};

struct MaxNeighbours : torch::autograd::Function<MaxNeighbours> {
  static Tensor forward(AutogradContext* context, const LayerCall& call, const Tensor& x) {
    hold(context, call);
    Tensor out = torch::empty({call.block->num_targets, x.size(1)}, x.options());
    Tensor winner = torch::empty(out.sizes(), out.options().dtype(torch::kInt32));
    kernels::on(call.executor)
        .segment_max(call.executor,
                     source_lists(*call.block),
                     rows_of(x),
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
                      const Tensor& target_scale) {
  check_rows(x, call.block->num_sources, "sources");
  return SumNeighbours::apply(call, x.contiguous(), Scales{source_scale, target_scale});
}

Tensor max_neighbours(const LayerCall& call, const Tensor& x) {
  check_rows(x, call.block->num_sources, "sources");
  return MaxNeighbours::apply(call, x.contiguous());
}

Tensor sampled_degrees(const Block& block) {
  return as_tensor(block.offsets).diff().to(torch::kFloat32);
}

}  // namespace sluice::nn
