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

// The sum over relations of a mean through their matrices is, matrix by matrix of the basis, one
// sum over all edges, each weighed by its relation's coefficient and the mean's share. So there is
// one product for all relations.
std::vector<torch::Tensor> RgcnConv::forward(const kernels::Executor& executor,
                                             const std::vector<RelationBlock>& blocks,
                                             const std::vector<torch::Tensor>& x,
                                             const std::vector<std::int64_t>& targets) const {
  std::vector<torch::Tensor> sums(x.size()), out(x.size());
  for (const RelationBlock& each : blocks) {
    if (!x.at(each.block->source_type).defined()) continue;
    const LayerCall call{executor, each.block};
    const torch::Tensor weights = relation_weights(call, coefficients_, each.relations);
    const torch::Tensor sum =
        weigh_neighbours(call, Columns::kShared, weights, {}, x.at(each.block->source_type));
    torch::Tensor& all = sums.at(each.block->target_type);
    all = all.defined() ? all + sum : sum;
  }
  for (std::size_t type = 0; type < x.size(); ++type) {
    if (targets.at(type) == 0) continue;
    if (x[type].defined()) out[type] = own_->forward(x[type].narrow(0, 0, targets[type]));
    if (!sums[type].defined()) continue;
    const torch::Tensor found = bases_->forward(sums[type]);
    out[type] = out[type].defined() ? out[type] + found : found;
  }
  return out;
}

}  // namespace sluice::nn
