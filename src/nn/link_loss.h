// Losses of links: beside all candidates, or beside some that are none. Internal to rooms over nn.
#pragma once

#include <sluice/executor.h>
#include <sluice/nn/decoder.h>

#include <torch/torch.h>

#include <cstdint>
#include <memory>

namespace sluice::nn {

enum class LinkLoss {
  kLogistic,        ///< whether each is a link, links and others weighing the same
  kSoftmax,         ///< which one of the link and its others is the link
  kAll,             ///< which one of all candidates is the link
  kMargin,          ///< that a link scores so much above its others
  kSelfAdversarial  ///< as kLogistic, others weighed by what they score (Sun et al. 2019)
};

/// -log of the softmax of each query's scores beside all candidates, at its own: f32 [n]. Scores
/// are made tile by tile, and again in the backward: never [n, candidates] at once. Exact.
/// @param executor of the tensors' device @param queries f32 [n, width], of decoder->query() @param
/// candidates f32 [m, width]
/// @param own i64 [n]: which candidate is the query's @param tile scores at once, at the least a
/// column of them; 0: as many as suit the processor @pre !decoder->learns_to_combine()
torch::Tensor all_softmax(const kernels::Executor& executor,
                          const std::shared_ptr<const Decoder>& decoder,
                          const torch::Tensor& queries,
                          const torch::Tensor& candidates,
                          const torch::Tensor& own,
                          std::int64_t tile = 0);

/// Scores of links and of others beside them.
struct ScoredLinks {
  torch::Tensor links;      ///< f32 [n]
  torch::Tensor others;     ///< f32 [n, k]
  torch::Tensor there;      ///< bool [n, k]: which others count
  std::int64_t known = 0;   ///< how many these are, of kLogistic and kMargin
  torch::Tensor weights{};  ///< f32 [n], of kSelfAdversarial; undefined: all alike
};

struct LinkLossOptions {
  LinkLoss kind = LinkLoss::kLogistic;
  double margin = 1;       ///< of kMargin
  double temperature = 1;  ///< of kSelfAdversarial: the higher, the more the hardest others weigh
};

/// Whether a loss reads ScoredLinks::known.
bool counts_others(LinkLoss kind);

/// A scalar, the mean over what counts. @param executor of the tensors' device
/// @pre the kind is not kAll
torch::Tensor loss_beside_others(const kernels::Executor& executor,
                                 const LinkLossOptions& options,
                                 const ScoredLinks& scored);

}  // namespace sluice::nn
