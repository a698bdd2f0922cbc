// What rows of nodes, learned without labels, tell of them: a linear probe, clusters, and links.
//
// Rows are frozen. Results are functions of the arguments and the key: neither the number of
// threads nor the order of calls matters. Functions may be called by several threads; tensors are
// the host's. Callers: tasks that learn without labels, and `sluice-train probe`.
#pragma once

#include <sluice/options.h>
#include <sluice/random.h>

#include <torch/torch.h>

#include <cstdint>

namespace sluice::probe {

struct LinearProbeOptions {
  std::int64_t epochs = 300;
  double learning_rate = 0.01;
  double weight_decay = 1e-4;
  void describe(Schema& schema);
};

/// Accuracy by part, at the epoch that is best on `valid` (the first of equals; where `valid` is
/// empty the last); F1 of `test` at the same epoch. NaN for a part without labelled rows.
struct ProbeScores {
  double train, valid, test, f1_micro, f1_macro;
};

/// Numbers of rows, i64 [any] each; those without a label are passed over.
struct NodeParts {
  torch::Tensor train, valid, test;
};

/// Logistic regression as GraphMAE's authors measure by it: one linear layer over the rows as they
/// are, weights drawn uniformly within 1 / sqrt(d) by the key, Adam over the full batch, weight
/// decay added to the gradient of weights and biases.
///
/// @param rows f32 [n, d]
/// @param labels i64 [n], -1: none: softmax and cross-entropy; or f32 or u8 [n, classes] of 0 and
/// 1, several classes a row: a sigmoid a class, binary cross-entropy, and accuracy is the share of
/// rows with all classes right
/// Throws Error: kUsage for shapes, kData where no training row has a label or a value of `rows`
/// is not finite.
ProbeScores linear_probe(const torch::Tensor& rows,
                         const torch::Tensor& labels,
                         const NodeParts& parts,
                         const LinearProbeOptions& options,
                         RandomKey key);

/// Normalised mutual information (by the arithmetic mean of the entropies) and the adjusted Rand
/// index (Hubert and Arabie 1985), of clusters and classes.
struct ClusterScores {
  double nmi, ari;
};

/// Clusters labelled rows by k-means, and compares the clusters with the classes.
/// @param rows f32 [n, d] @param labels i64 [n], -1: none; rows without are left out
/// @param clusters usually the number of classes; 1 to the number of labelled rows
ClusterScores cluster_scores(const torch::Tensor& rows,
                             const torch::Tensor& labels,
                             std::int64_t clusters,
                             RandomKey key);

/// Areas under the curves of ROC and of precision over recall, ties as in sluice-train's `auc` and
/// `ap`: half in the one, one threshold in the other.
struct LinkScores {
  double auc, ap;
};

/// Pairs of nodes, i64 [m, 2] each: those that are linked, and as many or more that are not.
struct LinkPairs {
  torch::Tensor positives, negatives;
};

/// How two rows become a score.
enum class PairScore { kDot, kCosine };

/// Scores of pairs by their rows alone; nothing is trained.
LinkScores link_scores(const torch::Tensor& rows, const LinkPairs& pairs, PairScore score);

/// Scores of pairs by a logistic regression over the Hadamard product of their rows, its columns
/// standardised over `train`, trained on that; the figures of `test` at the epoch with the best AUC
/// on `valid` (the first of equals; where `valid` is empty the last). Begins at zero: no key.
LinkScores link_scores(const torch::Tensor& rows,
                       const LinkPairs& train,
                       const LinkPairs& valid,
                       const LinkPairs& test,
                       const LinearProbeOptions& options);

}  // namespace sluice::probe
