#include "tasks/view_pretexts.h"

#include "nn/batch_views.h"
#include "nn/keyed_draws.h"
#include "nn/pretext_losses.h"

namespace sluice::tasks {
namespace {

using torch::Tensor;

// A view of BGRL's, and the draws of an encoder over it.
struct AugmentedView {
  Batch batch;
  Tensor features;
};

AugmentedView augmented(const PretextStep& step, double edges, double columns, RandomKey key) {
  const Tensor features = features_of(step);
  const Tensor numbers = torch::arange(features.size(1), features.options().dtype(torch::kInt64));
  const Tensor kept =
      nn::chosen(key.with("columns"), numbers, columns).logical_not().to(features.scalar_type());
  return {nn::with_dropped_edges(step.batch, key.with("edges"), edges), features * kept};
}

}  // namespace

GraphInfomax::GraphInfomax(std::int64_t width, RandomKey key)
    : score_(register_module("score", std::make_shared<BilinearScore>(width, key.with("score")))) {}

Tensor GraphInfomax::loss(const PretextStep& step) {
  const Tensor features = features_of(step);
  const Tensor order =
      nn::drawn_order(step.key.with("permutation"), nn::node_ids(step.batch, step.type));
  const Tensor real =
      encode_view(step.encoder, step.batch, step.type, features, step.key.with("real"));
  const Tensor fake = encode_view(step.encoder,
                                  step.batch,
                                  step.type,
                                  features.index_select(0, order),
                                  step.key.with("permuted"));
  const Tensor summary = torch::sigmoid(real.mean(0));
  return nn::discrimination_loss(score_->forward(real, summary), score_->forward(fake, summary));
}

BootstrappedViews::BootstrappedViews(const ViewsOptions& options, std::int64_t width, RandomKey key)
    : options_(options),
      predictor_(register_module(
          "predictor",
          std::make_shared<Projection>(ProjectionWidths{width, options.hidden, width},
                                       key.with("predictor")))) {}

Tensor BootstrappedViews::loss(const PretextStep& step) {
  const RandomKey keys[] = {step.key.with("first view"), step.key.with("second view")};
  const AugmentedView first =
      augmented(step, options_.first_edges, options_.first_columns, keys[0]);
  const AugmentedView second =
      augmented(step, options_.second_edges, options_.second_columns, keys[1]);
  const auto encoded = [&](Model& model, const AugmentedView& view, RandomKey key) {
    return encode_view(model, view.batch, step.type, view.features, key);
  };
  Tensor of_first, of_second;
  {
    const torch::NoGradGuard no_grad;
    of_first = encoded(*step.target, first, keys[0].with("target"));
    of_second = encoded(*step.target, second, keys[1].with("target"));
  }
  const Tensor from_first = predictor_->forward(encoded(step.encoder, first, keys[0]));
  const Tensor from_second = predictor_->forward(encoded(step.encoder, second, keys[1]));
  return nn::cosine_distance(from_first, of_second) + nn::cosine_distance(from_second, of_first);
}

}  // namespace sluice::tasks
