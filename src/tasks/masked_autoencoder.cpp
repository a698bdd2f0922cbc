#include "tasks/masked_autoencoder.h"

#include "nn/batch_views.h"
#include "nn/keyed_draws.h"
#include "nn/moving_average.h"
#include "nn/prelu_slope.h"
#include "nn/pretext_losses.h"

#include <sluice/error.h>
#include <sluice/nn/init.h>

namespace sluice::tasks {
namespace {

using torch::Tensor;

Tensor replaced(const Tensor& rows, const Tensor& where, const Tensor& by) {
  return torch::where(where.unsqueeze(1), by, rows);
}

}  // namespace

MaskedAutoencoder::MaskedAutoencoder(const MaskedAutoencoderOptions& options,
                                     std::int64_t features,
                                     std::int64_t width,
                                     RandomKey key)
    : options_(options) {
  const ContrastOptions& contrast = options.contrast;
  const LatentOptions& latent = options.latent;
  if (!decodes() && contrast.weight == 0 && options.variance.weight == 0 && latent.weight == 0)
    throw Error(ErrorCode::kUsage,
                "all parts of the loss have weight 0: there is nothing to learn",
                "set task.masked.weight = 1");
  token_ = register_parameter("token", nn::zeros({1, features}));
  if (decodes()) {
    bridge_ = register_module(
        "bridge", std::make_shared<nn::Linear>(width, width, nn::Bias::kNone, key.with("bridge")));
    decoder_ = register_module(
        "decoder",
        std::make_shared<FeatureDecoder>(
            options.masked.decoder, ProjectionWidths{width, width, features}, key.with("decoder")));
    if (options.masked.remask == Remask::kRandom && decoder_->num_layers() != 0)
      remask_token_ = register_parameter("remask_token", nn::zeros({1, width}));
  }
  const auto project = [&](const char* name, std::int64_t hidden, const char* drawn_by) {
    return register_module(
        name,
        std::make_shared<Projection>(ProjectionWidths{width, hidden, width}, key.with(drawn_by)));
  };
  if (contrast.weight != 0) {
    first_projection_ = project("first_projection", contrast.hidden, "first projection");
    second_projection_ = project("second_projection", contrast.hidden, "second projection");
  }
  if (latent.weight == 0) return;
  projection_ = project("projection", latent.hidden, "projection");
  target_projection_ = project("target_projection", latent.hidden, "projection");  // begins alike
  nn::stop_gradients(*target_projection_);
  predictor_slope_ = register_parameter("predictor_slope", nn::first_prelu_slope());
  predictor_ = register_module(
      "predictor",
      std::make_shared<nn::Linear>(width, width, nn::Bias::kZero, key.with("predictor")));
}

MaskedAutoencoder::Seen MaskedAutoencoder::look(const PretextStep& step) const {
  const MaskedOptions& masked = options_.masked;
  Seen seen{nn::first_layers(step.batch, step.encoder.num_layers()),
            features_of(step),
            nn::node_ids(step.batch, step.type),
            {},
            {}};
  seen.masked = nn::chosen(step.key.with("masked nodes"), seen.ids, masked.rate);
  const Batch view =
      nn::with_dropped_edges(seen.inner, step.key.with("masked view"), masked.edge_drop);
  seen.embedding = encode_view(
      step.encoder, view, step.type, corrupted(step, seen), step.key.with("masked view"));
  return seen;
}

Tensor MaskedAutoencoder::corrupted(const PretextStep& step, const Seen& seen) const {
  Tensor rows = replaced(seen.features, seen.masked, token_);
  if (options_.masked.replace == 0) return rows;
  const Tensor other = seen.masked.logical_and(
      nn::chosen(step.key.with("replaced nodes"), seen.ids, options_.masked.replace));
  const Tensor order = nn::drawn_order(step.key.with("replacements"), seen.ids);
  return replaced(rows, other, seen.features.index_select(0, order));
}

// Features of the seeds, f32 [seeds, features].
Tensor MaskedAutoencoder::decoded(const PretextStep& step,
                                  const Seen& seen,
                                  std::int64_t view) const {
  Tensor rows = bridge_->forward(seen.embedding);
  const std::int64_t count = rows.size(0);
  if (decoder_->num_layers() == 0)
    return decoder_->forward({step.executor, nullptr, step.key},
                             rows.narrow(0, 0, step.num_seeds()));
  if (options_.masked.remask == Remask::kMasked)
    rows = replaced(rows, seen.masked.narrow(0, 0, count), torch::zeros({1, 1}, rows.options()));
  if (options_.masked.remask == Remask::kRandom) {
    const RandomKey key = step.key.with("hidden nodes").with(static_cast<std::uint64_t>(view));
    const Tensor hidden =
        nn::chosen(key, seen.ids.narrow(0, 0, count), options_.masked.remask_rate);
    rows = replaced(rows, hidden, remask_token_);
  }
  const auto block = std::make_shared<const Block>(step.batch.layers.back().at(0));
  return decoder_->forward({step.executor, block, step.key}, rows);
}

// Of features that are made again, and of the links that these tell.
Tensor MaskedAutoencoder::decoder_losses(const PretextStep& step, const Seen& seen) const {
  const AdjacencyOptions& adjacency = options_.adjacency;
  const Tensor first = decoded(step, seen, 0);
  Tensor loss = torch::zeros({}, first.options());
  if (options_.masked.weight != 0) {
    const Tensor rows = seen.masked.narrow(0, 0, step.num_seeds()).nonzero().flatten();
    const Tensor truth = seen.features.index_select(0, rows);
    const std::int64_t views = remask_token_.defined() ? options_.masked.remask_views : 1;
    for (std::int64_t view = 0; view < views; ++view) {
      const Tensor made = view == 0 ? first : decoded(step, seen, view);
      loss = loss + options_.masked.weight * nn::scaled_cosine_error(made.index_select(0, rows),
                                                                     truth,
                                                                     options_.masked.gamma);
    }
  }
  if (adjacency.weight == 0) return loss;
  const Tensor rows = sampled_seeds(step, "adjacency", step.num_seeds(), adjacency.nodes);
  return loss + adjacency.weight * nn::adjacency_loss(first.index_select(0, rows),
                                                      nn::linked_pairs(step.batch, step.type, rows),
                                                      {1, adjacency.square, adjacency.distance});
}

Tensor MaskedAutoencoder::contrast_loss(const PretextStep& step, const Seen& seen) const {
  const ContrastOptions& contrast = options_.contrast;
  const RandomKey key = step.key.with("contrasted view");
  const Batch view = contrast.drop == ViewDrop::kNodes
                         ? nn::with_dropped_nodes(seen.inner, key, contrast.drop_rate)
                         : nn::with_dropped_edges(seen.inner, key, contrast.drop_rate);
  const Tensor second = encode_view(step.encoder, view, step.type, seen.features, key);
  const Tensor rows = sampled_seeds(step, "contrast", step.num_seeds(), contrast.nodes);
  return nn::info_nce(first_projection_->forward(seen.embedding.index_select(0, rows)),
                      second_projection_->forward(second.index_select(0, rows)),
                      contrast.temperature);
}

Tensor MaskedAutoencoder::latent_loss(const PretextStep& step, const Seen& seen) const {
  const std::int64_t seeds = step.num_seeds();
  Tensor wanted;
  {
    const torch::NoGradGuard no_grad;
    const RandomKey key = step.key.with("target view");
    const Batch view = nn::with_dropped_edges(seen.inner, key, options_.latent.edge_drop);
    const Tensor rows = encode_view(*step.target, view, step.type, seen.features, key);
    wanted = target_projection_->forward(rows.narrow(0, 0, seeds));
  }
  const Tensor projected = projection_->forward(seen.embedding.narrow(0, 0, seeds));
  const Tensor predicted = predictor_->forward(torch::prelu(projected, predictor_slope_));
  return nn::scaled_cosine_error(predicted, wanted, 1);
}

Tensor MaskedAutoencoder::loss(const PretextStep& step) {
  const Seen seen = look(step);
  Tensor loss = torch::zeros({}, seen.embedding.options());
  if (decodes()) loss = loss + decoder_losses(step, seen);
  if (options_.contrast.weight != 0)
    loss = loss + options_.contrast.weight * contrast_loss(step, seen);
  if (options_.variance.weight != 0)
    loss = loss + options_.variance.weight *
                      nn::variance_loss(seen.embedding.narrow(0, 0, step.num_seeds()));
  if (options_.latent.weight != 0) loss = loss + options_.latent.weight * latent_loss(step, seen);
  return loss;
}

void MaskedAutoencoder::follow(double momentum) {
  if (target_projection_) nn::follow_module(*target_projection_, *projection_, momentum);
}

}  // namespace sluice::tasks
