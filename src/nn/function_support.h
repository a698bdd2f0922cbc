// What the autograd functions over kernels share: views of blocks and tensors, and a LayerCall kept
// for the backward. Internal to src/nn.
#pragma once

#include "kernels/views.h"

#include <sluice/nn/layer_call.h>

#include <torch/torch.h>

#include <cstdint>
#include <string_view>

namespace sluice::nn {

/// Targets list their sources.
inline kernels::RowLists source_lists(const Block& block) {
  return {block.offsets.as<std::int64_t>().data(),
          block.neighbours.as<std::int32_t>().data(),
          block.num_targets};
}

/// Sources list their targets, ascending by edge.
inline kernels::RowLists target_lists(const Block& block) {
  return {block.transposed_offsets.as<std::int64_t>().data(),
          block.transposed_targets.as<std::int32_t>().data(),
          block.num_sources,
          block.transposed_edges.as<std::int32_t>().data()};
}

/// @pre a contiguous f32 matrix
kernels::Rows<float> rows_of(const torch::Tensor& matrix);
/// @pre a contiguous matrix of f32 or bf16
kernels::FloatRows rows_to_read(const torch::Tensor& matrix);
/// Null for an undefined tensor.
const float* floats_or_null(const torch::Tensor& vector);

/// Throws kInternal unless `x` is an f32 matrix of `count` rows.
void check_rows(const torch::Tensor& x, std::int64_t count, std::string_view what);
/// The same of one that may be bf16 too.
void check_rows_to_read(const torch::Tensor& x, std::int64_t count, std::string_view what);

void hold(torch::autograd::AutogradContext* context, const LayerCall& call);
const LayerCall& held(torch::autograd::AutogradContext* context);

}  // namespace sluice::nn
