// Losses of learning without labels, as functions of rows: each a scalar to minimise, and 0 where
// there are no rows to take a mean over. Gradients flow into all that wants some; what is to get
// none is detached by the caller. Pure functions, on the device that the rows are on.
#pragma once

#include <torch/torch.h>

namespace sluice::nn {

/// The scaled cosine error (GraphMAE, Hou et al. 2022): the mean of (1 - cos(made, truth))^gamma
/// over rows. @param made, truth f32 [n, d] @param gamma at least 1
torch::Tensor scaled_cosine_error(const torch::Tensor& made,
                                  const torch::Tensor& truth,
                                  double gamma);

/// InfoNCE between two views of the same nodes: with s_ij = cos(first_i, second_j) / temperature,
/// the mean over i of -log(exp(s_ii) / sum over j of exp(s_ij)), and the same of columns; half of
/// each. @param first, second f32 [n, d]
torch::Tensor info_nce(const torch::Tensor& first, const torch::Tensor& second, double temperature);

/// What counts in adjacency_loss().
struct PairWeights {
  double cross_entropy = 1;
  double square = 0;
  double distance = 0;
};

/// How well dot products tell which of n nodes are linked, over all pairs of two of them, both
/// directions. With p_ij = sigmoid(row_i . row_j), and E and N the means over pairs that are linked
/// and that are not:
///   cross_entropy (E[-log p] + N[-log(1 - p)]) / 2
///   square        (E[(1 - p)^2] + N[p^2]) / 2
///   distance      log(N[p] + 1e-6) - log(E[p] + 1e-6)
/// so that the few links weigh as much as the many pairs without. 0 where all pairs are of one
/// kind. Memory is in proportion to n squared. @param rows f32 [n, d] @param linked bool [n, n],
/// symmetric; its diagonal is passed over
torch::Tensor adjacency_loss(const torch::Tensor& rows,
                             const torch::Tensor& linked,
                             const PairWeights& weights);

/// The mean over columns of max(0, 1 - sqrt(variance + 1e-4)), the variance that of the rows as
/// they are, by n (GCMAE's discrimination loss): rows that all become alike are told apart. 0 of
/// fewer than two rows. @param rows f32 [n, d]
torch::Tensor variance_loss(const torch::Tensor& rows);

/// The mean binary cross-entropy of scores that should be high for `real` and low for `fake`, half
/// of each (DGI, Velickovic et al. 2019). @param real, fake f32 [n]
torch::Tensor discrimination_loss(const torch::Tensor& real, const torch::Tensor& fake);

/// The mean over rows of 2 - 2 cos(predicted, target), halved: one direction of BGRL's loss
/// (Thakoor et al. 2022), 0 where all point alike. @param predicted, target f32 [n, d]
torch::Tensor cosine_distance(const torch::Tensor& predicted, const torch::Tensor& target);

}  // namespace sluice::nn
