#include "nn/pretext_losses.h"

#include "nn/dense_product.h"

namespace sluice::nn {
namespace {

using torch::Tensor;

// Rows of length 1. A row of zeros stays one and gets no gradient, which would be without bounds:
// an isolated node's that is hidden from a decoder.
Tensor unit_rows(const Tensor& rows) {
  constexpr double kLeast = 1e-8;
  const Tensor length = rows.norm(2, 1, /*keepdim=*/true);
  return torch::where(
      length.gt(kLeast), rows / length.clamp_min(kLeast), torch::zeros({1, 1}, rows.options()));
}

Tensor cosines(const Tensor& first, const Tensor& second) {
  return (unit_rows(first) * unit_rows(second)).sum(1);
}

// A loss of nothing, whose gradient is 0.
Tensor nothing(const Tensor& rows) {
  return rows.sum() * 0;
}

Tensor own_places(const Tensor& scores) {
  const Tensor places =
      torch::arange(scores.size(0), scores.options().dtype(torch::kInt64).requires_grad(false));
  return torch::nll_loss(torch::log_softmax(scores, 1), places);
}

}  // namespace

Tensor scaled_cosine_error(const Tensor& made, const Tensor& truth, double gamma) {
  if (made.size(0) == 0) return nothing(made);
  // Rounding may bring a cosine above 1, whose powers are no numbers.
  return (1 - cosines(made, truth)).clamp_min(0).pow(gamma).mean();
}

Tensor info_nce(const Tensor& first, const Tensor& second, double temperature) {
  if (first.size(0) == 0) return nothing(first) + nothing(second);
  const Tensor scores = dense_linear(unit_rows(first), unit_rows(second), {}) / temperature;
  return (own_places(scores) + own_places(scores.t())) / 2;
}

Tensor adjacency_loss(const Tensor& rows, const Tensor& linked, const PairWeights& weights) {
  const Tensor apart = torch::eye(rows.size(0), linked.options()).logical_not();
  const Tensor links = linked.logical_and(apart).to(rows.scalar_type());
  const Tensor others = linked.logical_not().logical_and(apart).to(rows.scalar_type());
  const Tensor num_links = links.sum(), num_others = others.sum();
  if (num_links.item<double>() == 0 || num_others.item<double>() == 0) return nothing(rows);
  const auto over_links = [&](const Tensor& each) { return (each * links).sum() / num_links; };
  const auto over_others = [&](const Tensor& each) { return (each * others).sum() / num_others; };
  const Tensor scores = dense_linear(rows, rows, {});
  Tensor loss = nothing(rows);
  if (weights.cross_entropy != 0) {
    // -log p and -log(1 - p), exact for large scores too.
    const Tensor cross =
        over_links(torch::softplus(-scores)) + over_others(torch::softplus(scores));
    loss = loss + cross * (weights.cross_entropy / 2);
  }
  if (weights.square == 0 && weights.distance == 0) return loss;
  const Tensor shares = torch::sigmoid(scores);
  if (weights.square != 0) {
    const Tensor square = over_links((1 - shares).square()) + over_others(shares.square());
    loss = loss + square * (weights.square / 2);
  }
  if (weights.distance != 0) {
    constexpr double kLeast = 1e-6;
    const Tensor distance =
        (over_others(shares) + kLeast).log() - (over_links(shares) + kLeast).log();
    loss = loss + distance * weights.distance;
  }
  return loss;
}

Tensor variance_loss(const Tensor& rows) {
  constexpr double kLeast = 1e-4;
  if (rows.size(0) < 2) return nothing(rows);
  return (1 - (rows.var(0, /*unbiased=*/false) + kLeast).sqrt()).clamp_min(0).mean();
}

Tensor discrimination_loss(const Tensor& real, const Tensor& fake) {
  if (real.size(0) == 0) return nothing(real) + nothing(fake);
  return (torch::softplus(-real).mean() + torch::softplus(fake).mean()) / 2;
}

Tensor cosine_distance(const Tensor& predicted, const Tensor& target) {
  if (predicted.size(0) == 0) return nothing(predicted);
  return 1 - cosines(predicted, target).mean();
}

}  // namespace sluice::nn
