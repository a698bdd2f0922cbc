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

bool is_read(const RelationBlock& of, const std::vector<PendingRows>& x) {
  return of.block->num_targets != 0 && x.at(of.block->source_type).defined();
}

// @param part of no other use: it may become the sum
void add(torch::Tensor& sum, const torch::Tensor& part) {
  sum = sum.defined() ? sum.add_(part) : part;
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
// as long as a target type has no more relations than the basis has matrices. With more, there are
// fewer sums by the basis.
bool RgcnConv::by_matrix(const RelationBlock& block,
                         const std::vector<RelationBlock>& blocks) const {
  const auto into = [&](const RelationBlock& each) {
    return each.block->target_type == block.block->target_type;
  };
  return !block.relations.defined() && std::ranges::count_if(blocks, into) <= coefficients_.size(1);
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

// Each relation's matrix is the sum of the basis by its coefficients: one product makes all of
// them.
void RgcnConv::add_by_matrix(const kernels::Executor& executor,
                             const std::vector<RelationBlock>& blocks,
                             const std::vector<PendingRows>& x,
                             std::vector<torch::Tensor>& out) const {
  std::vector<RelationBlock> these;
  std::vector<std::int64_t> relations;
  for (const RelationBlock& each : blocks) {
    if (!is_read(each, x) || !by_matrix(each, blocks)) continue;
    these.push_back(each);
    relations.push_back(each.relation);
  }
  if (these.empty()) return;
  const torch::Tensor which = torch::tensor(relations, torch::kInt64).to(coefficients_.device());
  const std::int64_t bases = coefficients_.size(1), rows = own_->out(), columns = own_->in();
  const torch::Tensor basis = bases_->weight().view({rows, bases, columns}).transpose(0, 1);
  const std::vector<torch::Tensor> matrices = coefficients_.index_select(0, which)
                                                  .mm(basis.reshape({bases, -1}))
                                                  .view({-1, rows, columns})
                                                  .unbind();
  for (std::size_t i = 0; i < these.size(); ++i) {
    const Block& block = *these[i].block;
    const LayerCall call{executor, these[i].block};
    add(out.at(block.target_type),
        mean_through(call, bases_->precision(), matrices[i], x[block.source_type]));
  }
}

// The sum over relations of a mean through their matrices is, matrix by matrix of the basis, one
// sum over all edges, each weighed by its relation's coefficient and the mean's share. So there is
// one product for all relations; where rows are summed before their maps, one a map.
void RgcnConv::add_by_basis(const kernels::Executor& executor,
                            const std::vector<RelationBlock>& blocks,
                            const std::vector<PendingRows>& x,
                            std::vector<torch::Tensor>& out) const {
  struct Sums {
    torch::Tensor rows, shares;
  };
  // By target type, and by source type where that has a map; behind those, all others'.
  std::vector<std::vector<Sums>> sums(x.size(), std::vector<Sums>(x.size() + 1));
  for (const RelationBlock& each : blocks) {
    if (!is_read(each, x) || by_matrix(each, blocks)) continue;
    const PendingRows& from = x[each.block->source_type];
    const LayerCall call{executor, each.block};
    const torch::Tensor weights = relation_weights(call, coefficients_, relations_of(each));
    const auto weighed = [&](const torch::Tensor& rows) {
      return weigh_neighbours(call, Columns::kShared, weights, {}, rows);
    };
    const std::size_t map = from.pending() ? each.block->source_type : x.size();
    Sums& to = sums.at(each.block->target_type)[map];
    add(to.rows, weighed(from.rows()));
    if (from.pending()) add(to.shares, weighed(from.rows().new_ones({from.rows().size(0), 1})));
  }
  for (std::size_t type = 0; type < x.size(); ++type) {
    for (std::size_t map = 0; map <= x.size(); ++map) {
      const auto& [rows, shares] = sums[type][map];
      if (!rows.defined()) continue;
      const PendingRows from = map == x.size() ? PendingRows() : x[map];
      add(out[type], from.through(bases_->precision(), bases_->weight(), rows, shares));
    }
  }
}

std::vector<torch::Tensor> RgcnConv::forward(const kernels::Executor& executor,
                                             const std::vector<RelationBlock>& blocks,
                                             std::vector<PendingRows> x,
                                             const std::vector<std::int64_t>& targets) const {
  finish(x, blocks);
  std::vector<torch::Tensor> out(x.size());
  for (std::size_t type = 0; type < x.size(); ++type)
    if (targets.at(type) != 0 && x[type].defined())
      out[type] = x[type].first_through(*own_, targets[type]);
  add_by_matrix(executor, blocks, x, out);
  add_by_basis(executor, blocks, x, out);
  return out;
}

}  // namespace sluice::nn
