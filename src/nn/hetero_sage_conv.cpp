#include <sluice/nn/hetero_sage_conv.h>

#include "nn/mean_through.h"

#include <sluice/nn/block_ops.h>

#include <string>

namespace sluice::nn {

HeteroSageConv::HeteroSageConv(const HeteroSageConvOptions& options, RandomKey key)
    : options_(options.sage),
      neighbours_out_(options_.combine == Combine::kConcat ? options_.out / 2 : options_.out),
      own_(options.num_types),
      neighbours_(options.num_relations) {
  const bool concat = options_.combine == Combine::kConcat;
  for (const std::size_t type : options.written)
    own_[type] = register_module(
        "own" + std::to_string(type),
        std::make_shared<Linear>(options_.in,
                                 concat ? options_.out - neighbours_out_ : options_.out,
                                 Bias::kZero,
                                 key.with("own").with(type)));
  for (const TypedRelation& each : options.relations)
    neighbours_[each.relation] =
        register_module("neighbours" + std::to_string(each.relation),
                        std::make_shared<Linear>(options_.in,
                                                 neighbours_out_,
                                                 concat ? Bias::kZero : Bias::kNone,
                                                 key.with("neighbours").with(each.relation)));
}

// Through the relation's matrix, without its bias: [targets, neighbours_out_].
torch::Tensor HeteroSageConv::aggregate(const LayerCall& over, const PendingRows& x) const {
  const Linear& linear = *neighbours_[over.block->relation];
  if (options_.aggregator == Aggregator::kMax)
    return nn::linear(linear.precision(), max_neighbours(over, x.rows()), linear.weight(), {});
  return mean_through(over, linear.precision(), linear.weight(), x);
}

// Maps now what is not to be summed before.
void HeteroSageConv::finish(std::vector<PendingRows>& x,
                            const std::vector<BlockRef>& blocks) const {
  for (std::size_t type = 0; type < x.size(); ++type) {
    if (!x[type].pending()) continue;
    MapOrder order(x[type]);
    for (const BlockRef& each : blocks)
      if (each->source_type == type) order.add(*each, 1, neighbours_out_);
    if (options_.aggregator == Aggregator::kMax || !order.sums_first()) x[type].finish();
  }
}

// @param own, neighbours either may be undefined, which adds nothing; own is written to
torch::Tensor HeteroSageConv::joined(torch::Tensor own, const torch::Tensor& neighbours) const {
  if (!own.defined() && !neighbours.defined()) return {};
  if (options_.combine == Combine::kConcat) {
    const torch::Tensor& like = own.defined() ? own : neighbours;
    const auto part = [&like](const torch::Tensor& of, std::int64_t columns) {
      return of.defined() ? of : like.new_zeros({like.size(0), columns});
    };
    return torch::cat(
        {part(own, options_.out - neighbours_out_), part(neighbours, neighbours_out_)}, 1);
  }
  if (!own.defined()) return neighbours;
  return neighbours.defined() ? own.add_(neighbours) : own;
}

std::vector<torch::Tensor> HeteroSageConv::forward(const LayerCall& call,
                                                   const std::vector<BlockRef>& blocks,
                                                   std::vector<PendingRows> x,
                                                   const std::vector<std::int64_t>& targets) const {
  finish(x, blocks);
  std::vector<torch::Tensor> sums(x.size()), out(x.size());
  for (const BlockRef& block : blocks) {
    if (block->num_targets == 0 || !x.at(block->source_type).defined()) continue;
    const torch::Tensor part = aggregate({call.executor, block, call.key}, x[block->source_type]);
    torch::Tensor& sum = sums.at(block->target_type);
    sum = sum.defined() ? sum.add_(part) : part;  // of no other use
  }
  // A relation's bias belongs to its targets: it is there whether or not the mini-batch has rows of
  // the sources' type, so it comes with the targets' own rows.
  for (const BlockRef& block : blocks) {
    const torch::Tensor& bias = neighbours_[block->relation]->bias();
    if (block->num_targets == 0 || !bias.defined() || !x.at(block->target_type).defined()) continue;
    torch::Tensor& sum = sums.at(block->target_type);
    sum = sum.defined() ? sum + bias : bias.expand({block->num_targets, neighbours_out_});
  }
  for (std::size_t type = 0; type < x.size(); ++type) {
    if (!own_[type] || targets.at(type) == 0) continue;
    torch::Tensor own;
    if (x[type].defined()) own = x[type].first_through(*own_[type], targets[type]);
    out[type] = joined(own, sums[type]);
  }
  return out;
}

}  // namespace sluice::nn
