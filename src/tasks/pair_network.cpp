#include "tasks/pair_network.h"

#include "tasks/pair_scores.h"

#include <sluice/error.h>

#include <string>

namespace sluice::tasks {

void PairNetworkOptions::describe(Schema& schema) {
  schema.field("hidden", hidden).help("columns of hidden layers").range(1, 1 << 16);
  schema.field("layers", layers)
      .help("layers of the network, the last gives the score")
      .range(1, 64);
  schema.field("clocks", clocks)
      .help("events of pair, destination and step count exp(-age / clock), for each of these")
      .unit("ticks")
      .range(1e-9, 1e18);
  describe_direction(schema, direction);
}

PairNetwork::PairNetwork(const Options& options, const ModelContext& context) : options_(options) {
  auto width = static_cast<std::int64_t>(PairFeatures::width(options.clocks.size()));
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    const std::int64_t out = layer + 1 == options.layers ? 1 : options.hidden;
    const RandomKey key = context.key.with("layer").with(static_cast<std::uint64_t>(layer));
    linears_.push_back(
        register_module("layer" + std::to_string(layer),
                        std::make_shared<nn::Linear>(width, out, nn::Bias::kZero, key)));
    width = out;
  }
}

void PairNetwork::read(const PairHistory& history, MemoryLedger* ledger) {
  features_.reset();  // before the new ones take their room
  features_ = std::make_unique<PairFeatures>(
      history, PairFeatureOptions{options_.clocks, options_.direction}, ledger);
}

torch::Tensor PairNetwork::features_of(const PairRequest& request) {
  if (!features_)
    throw Error(ErrorCode::kInternal, "a network of pairs is asked before it read a history");
  const std::size_t candidates = request.candidates(), width = features_->width();
  torch::Tensor features =
      torch::empty({static_cast<std::int64_t>(request.sources.size() * candidates),
                    static_cast<std::int64_t>(width)},
                   torch::kFloat32);
  const std::span<float> out(features.data_ptr<float>(),
                             static_cast<std::size_t>(features.numel()));
  for (std::size_t i = 0; i < request.sources.size(); ++i)
    features_->fill(request, i, out.subspan(i * candidates * width, candidates * width));
  return features.to(linears_.front()->weight().device());
}

torch::Tensor PairNetwork::score(const PairRequest& request) {
  torch::Tensor x = features_of(request);
  for (std::size_t layer = 0; layer < linears_.size(); ++layer) {
    if (layer != 0) x = torch::relu(x);
    x = linears_[layer]->forward(x);
  }
  return x.view({static_cast<std::int64_t>(request.sources.size()), -1});
}

}  // namespace sluice::tasks
