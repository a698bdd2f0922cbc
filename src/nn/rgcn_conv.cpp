#include <sluice/nn/rgcn_conv.h>

#include <sluice/nn/block_ops.h>
#include <sluice/nn/init.h>

#include <cmath>

namespace sluice::nn {
namespace {

// A relation's matrix then starts with the variance by Glorot, however many the basis has.
double coefficient_bound(const RgcnConvOptions& options) {
  const auto in = static_cast<double>(options.in), out = static_cast<double>(options.out);
  const auto bases = static_cast<double>(options.bases);
  return std::sqrt(3 * (bases * in + out) / (bases * (in + out)));
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

// Whether a type's rows are added up before their map: for all relations that read them, or none.
bool RgcnConv::sums_first(std::size_t type,
                          const PendingRows& rows,
                          const std::vector<RelationBlock>& blocks) const {
  const std::int64_t before = rows.columns_before(), in = own_->in();
  const std::int64_t bases = coefficients_.size(1);
  std::int64_t mapped = 0, summed = 0;
  for (const auto& [block, relations] : blocks) {
    if (block->source_type != type) continue;
    AggregationShape shape{
        block->num_sources, block->num_targets, block->num_edges(), bases * in, own_->out()};
    // Rows are mapped once, whatever the number of relations.
    if (mapped == 0) mapped = shape.sources * before * in;
    mapped += shape.aggregated_first();
    shape.in = bases * before;
    summed += shape.aggregated_first();
  }
  return summed < mapped;
}

// The sum over relations of a mean through their matrices is, matrix by matrix of the basis, one
// sum over all edges, each weighed by its relation's coefficient and the mean's share. So there is
// one product for all relations; where rows are summed before their maps, one a map.
std::vector<torch::Tensor> RgcnConv::forward(const kernels::Executor& executor,
                                             const std::vector<RelationBlock>& blocks,
                                             std::vector<PendingRows> x,
                                             const std::vector<std::int64_t>& targets) const {
  for (std::size_t type = 0; type < x.size(); ++type)
    if (x[type].pending() && !sums_first(type, x[type], blocks)) x[type].finish();
  struct Sums {
    torch::Tensor rows, shares;
  };
  // By target type, and by source type where that has a map; behind those, all others'.
  std::vector<std::vector<Sums>> sums(x.size(), std::vector<Sums>(x.size() + 1));
  const auto onto = [](torch::Tensor& sum, const torch::Tensor& part) {
    sum = sum.defined() ? sum.add_(part) : part;
  };
  for (const RelationBlock& each : blocks) {
    const PendingRows& from = x.at(each.block->source_type);
    if (!from.defined()) continue;
    const LayerCall call{executor, each.block};
    const torch::Tensor weights = relation_weights(call, coefficients_, each.relations);
    const auto weighed = [&](const torch::Tensor& rows) {
      return weigh_neighbours(call, Columns::kShared, weights, {}, rows);
    };
    Sums& to =
        sums.at(each.block->target_type)[from.pending() ? each.block->source_type : x.size()];
    onto(to.rows, weighed(from.rows()));
    if (from.pending()) onto(to.shares, weighed(from.rows().new_ones({from.rows().size(0), 1})));
  }
  std::vector<torch::Tensor> out(x.size());
  for (std::size_t type = 0; type < x.size(); ++type) {
    if (targets.at(type) == 0) continue;
    if (x[type].defined()) out[type] = x[type].first_through(*own_, targets[type]);
    for (std::size_t source = 0; source <= x.size(); ++source) {
      const auto& [rows, shares] = sums[type][source];
      if (!rows.defined()) continue;
      onto(out[type],
           source == x.size() ? bases_->forward(rows) : x[source].through(*bases_, rows, shares));
    }
  }
  return out;
}

}  // namespace sluice::nn
