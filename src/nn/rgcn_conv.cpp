#include <sluice/nn/rgcn_conv.h>

#include "nn/mean_through.h"

#include <sluice/nn/block_ops.h>
#include <sluice/nn/init.h>
#include <sluice/nn/tensor_view.h>

#include <algorithm>
#include <cmath>

namespace sluice::nn {
namespace {

// A relation's matrix then starts with the variance by Glorot, however many the basis has.
double coefficient_bound(const RgcnConvOptions& options) {
  const auto in = static_cast<double>(options.in), out = static_cast<double>(options.out);
  const auto bases = static_cast<double>(options.bases);
  return std::sqrt(3 * (bases * in + out) / (bases * (in + out)));
}

torch::Tensor relations_of(const RelationBlock& of) {
  if (of.relations.defined()) return of.relations;
  const torch::Device device = as_tensor(of.block->offsets).device();
  const auto options = torch::TensorOptions(torch::kInt64).device(device);
  return torch::full({of.block->num_edges()}, of.relation, options);
}

}  // namespace

RgcnConv::RgcnConv(const RgcnConvOptions& options, RandomKey key)
    : own_(register_module(
          "own", std::make_shared<Linear>(options.in, options.out, Bias::kZero, key.with("own")))),
      bases_(register_module(
          "bases",
          std::make_shared<Linear>(
              options.bases * options.in, options.out, Bias::kNone, key.with("bases")))),
      coefficients_(register_parameter("coefficients",
                                       uniform(key.with("coefficients"),
                                               {options.relations, options.bases},
                                               coefficient_bound(options)))) {}

// Whether a block's edges go through the matrix of their one relation, which is made of the basis:
// as long as a target type has no more relations than the basis has matrices. With more, sums by
// basis are fewer.
bool RgcnConv::by_matrix(const RelationBlock& block,
                         const std::vector<RelationBlock>& blocks) const {
  const auto into = [&](const RelationBlock& each) {
    return each.block->target_type == block.block->target_type;
  };
  return !block.relations.defined() && std::ranges::count_if(blocks, into) <= coefficients_.size(1);
}

torch::Tensor RgcnConv::matrix_of(std::int64_t relation) const {
  const torch::Tensor basis = bases_->weight().view({own_->out(), -1, own_->in()});
  return (basis * coefficients_[relation].view({1, -1, 1})).sum(1);
}

// Maps now what is not to be summed before.
void RgcnConv::finish(std::vector<PendingRows>& x, const std::vector<RelationBlock>& blocks) const {
  for (std::size_t type = 0; type < x.size(); ++type) {
    if (!x[type].pending()) continue;
    MapOrder order(x[type]);
    for (const RelationBlock& each : blocks)
      if (each.block->source_type == type)
        order.add(*each.block, by_matrix(each, blocks) ? 1 : coefficients_.size(1), own_->out());
    if (!order.sums_first()) x[type].finish();
  }
}

// The sum over relations of a mean through their matrices is, matrix by matrix of the basis, one
// sum over all edges, each weighed by its relation's coefficient and the mean's share. So there is
// one product for all relations; where rows are summed before their maps, one a map.
std::vector<torch::Tensor> RgcnConv::forward(const kernels::Executor& executor,
                                             const std::vector<RelationBlock>& blocks,
                                             std::vector<PendingRows> x,
                                             const std::vector<std::int64_t>& targets) const {
  finish(x, blocks);
  struct Sums {
    torch::Tensor rows, shares;
  };
  // By target type, and by source type where that has a map; behind those, all others'.
  std::vector<std::vector<Sums>> sums(x.size(), std::vector<Sums>(x.size() + 1));
  std::vector<torch::Tensor> out(x.size());
  const auto onto = [](torch::Tensor& sum, const torch::Tensor& part) {
    sum = sum.defined() ? sum.add_(part) : part;
  };
  for (std::size_t type = 0; type < x.size(); ++type)
    if (targets.at(type) != 0 && x[type].defined())
      out[type] = x[type].first_through(*own_, targets[type]);
  for (const RelationBlock& each : blocks) {
    const Block& block = *each.block;
    const PendingRows& from = x.at(block.source_type);
    if (!from.defined() || block.num_targets == 0) continue;
    const LayerCall call{executor, each.block};
    if (by_matrix(each, blocks)) {
      const torch::Tensor matrix = matrix_of(each.relation);
      onto(out.at(block.target_type), mean_through(call, bases_->precision(), matrix, from));
      continue;
    }
    const torch::Tensor weights = relation_weights(call, coefficients_, relations_of(each));
    const auto weighed = [&](const torch::Tensor& rows) {
      return weigh_neighbours(call, Columns::kShared, weights, {}, rows);
    };
    Sums& to = sums.at(block.target_type)[from.pending() ? block.source_type : x.size()];
    onto(to.rows, weighed(from.rows()));
    if (from.pending()) onto(to.shares, weighed(from.rows().new_ones({from.rows().size(0), 1})));
  }
  for (std::size_t type = 0; type < x.size(); ++type) {
    for (std::size_t source = 0; source <= x.size(); ++source) {
      const auto& [rows, shares] = sums[type][source];
      if (!rows.defined()) continue;
      const PendingRows from = source == x.size() ? PendingRows() : x[source];
      onto(out[type], from.through(bases_->precision(), bases_->weight(), rows, shares));
    }
  }
  return out;
}

}  // namespace sluice::nn
