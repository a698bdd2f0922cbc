// Pretexts that compare whole views of a mini-batch and make no features: DGI and BGRL.
#pragma once

#include "tasks/pretext.h"
#include "tasks/pretext_options.h"
#include "tasks/pretext_parts.h"

#include <cstdint>
#include <memory>

namespace sluice::tasks {

/// DGI (Velickovic et al. 2019): a bilinear score tells a node's embedding from one of the same
/// graph with its feature rows permuted, beside the mean embedding of the mini-batch's seeds.
class GraphInfomax final : public Pretext {
 public:
  GraphInfomax(std::int64_t width, RandomKey key);
  torch::Tensor loss(const PretextStep& step) override;

 private:
  std::shared_ptr<BilinearScore> score_;
};

/// BGRL (Thakoor et al. 2022): from a node's embedding in one view, with edges and feature columns
/// dropped, a predictor tells the embedding that a slowly following encoder makes of another view;
/// both ways round.
class BootstrappedViews final : public Pretext {
 public:
  BootstrappedViews(const ViewsOptions& options, std::int64_t width, RandomKey key);
  torch::Tensor loss(const PretextStep& step) override;

 private:
  ViewsOptions options_;
  std::shared_ptr<Projection> predictor_;
};

}  // namespace sluice::tasks
