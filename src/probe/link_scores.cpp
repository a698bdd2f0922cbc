#include "nn/one_thread.h"
#include "probe/logistic.h"
#include "probe/ranking_areas.h"

#include <sluice/error.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>

namespace sluice::probe {
namespace {

using torch::Tensor;

constexpr std::int64_t kPairsAtOnce = 65536;

void check_pairs(const LinkPairs& pairs, std::int64_t rows, const char* what) {
  for (const Tensor& side : {pairs.positives, pairs.negatives}) {
    check_numbers(side, rows, what);
    if (side.dim() != 2 || side.size(1) != 2)
      throw Error(
          ErrorCode::kUsage, std::string(what) + " are no list of pairs", "give i64 [m, 2]");
  }
}

Tensor ends(const Tensor& rows, const Tensor& pairs, std::int64_t end) {
  return rows.index_select(0, pairs.select(1, end));
}

// f32 [m], a piece of the pairs at a time.
template <class Score>
Tensor scores_of(const Tensor& pairs, const Score& score) {
  Tensor scores = torch::empty({pairs.size(0)}, torch::kFloat32);
  for (std::int64_t first = 0; first < pairs.size(0); first += kPairsAtOnce) {
    const std::int64_t count = std::min(kPairsAtOnce, pairs.size(0) - first);
    scores.narrow(0, first, count).copy_(score(pairs.narrow(0, first, count)));
  }
  return scores;
}

// Of a list of pairs.
struct ScoredPairs {
  Tensor positives, negatives;  // f32 [any]

  bool finite() const {
    return positives.isfinite().all().item<bool>() && negatives.isfinite().all().item<bool>();
  }
};

/// @param scored finite: what is no number has no place in an order
LinkScores areas_of(const ScoredPairs& scored) {
  const auto& [positives, negatives] = scored;
  const Tensor wanted = std::get<0>(positives.sort(0, /*descending=*/true)).contiguous();
  const Tensor others = std::get<0>(negatives.sort(0, /*descending=*/true)).contiguous();
  const auto span = [](const Tensor& scores) {
    return std::span(scores.const_data_ptr<float>(), static_cast<std::size_t>(scores.numel()));
  };
  const RankingAreas areas = ranking_areas(span(wanted), span(others));
  return {areas.auc, areas.ap};
}

LinkScores finite_areas(const ScoredPairs& scored) {
  if (scored.finite()) return areas_of(scored);
  throw Error(ErrorCode::kData,
              "scores of pairs are no finite numbers: products of two rows are too large for f32",
              "divide the embeddings by their largest value, or lower --learning-rate");
}

// Products of both ends' rows, standardised by the columns of those that are trained on.
class Products {
 public:
  Products(const Tensor& rows, const Tensor& train) : rows_(rows) {
    const Tensor raw = ends(rows, train, 0) * ends(rows, train, 1);
    mean_ = raw.mean(0, /*keepdim=*/true);
    const Tensor deviation = (raw - mean_).square().mean(0, /*keepdim=*/true).sqrt();
    // A column that is the same everywhere but for rounding tells nothing: it is left out.
    constexpr double kRounding = 1e-6;
    scale_ = torch::where(deviation.gt(mean_.abs() * kRounding),
                          deviation.reciprocal(),
                          torch::zeros_like(deviation));
  }
  Tensor of(const Tensor& pairs) const {
    return (ends(rows_, pairs, 0) * ends(rows_, pairs, 1) - mean_) * scale_;
  }

 private:
  Tensor rows_, mean_, scale_;
};

}  // namespace

LinkScores link_scores(const Tensor& all_rows, const LinkPairs& pairs, PairScore kind) {
  const nn::OneThread one_thread;
  const torch::NoGradGuard no_gradients;
  check_rows(all_rows);
  check_pairs(pairs, all_rows.size(0), "pairs");
  const Tensor rows = kind == PairScore::kCosine
                          ? torch::nn::functional::normalize(
                                all_rows, torch::nn::functional::NormalizeFuncOptions().dim(1))
                          : all_rows;
  const auto score = [&rows](const Tensor& some) {
    return (ends(rows, some, 0) * ends(rows, some, 1)).sum(1);
  };
  return finite_areas({scores_of(pairs.positives, score), scores_of(pairs.negatives, score)});
}

LinkScores link_scores(const Tensor& all_rows,
                       const LinkPairs& train,
                       const LinkPairs& valid,
                       const LinkPairs& test,
                       const LinearProbeOptions& options) {
  const nn::OneThread one_thread;
  check_rows(all_rows);
  check_pairs(train, all_rows.size(0), "training pairs");
  check_pairs(valid, all_rows.size(0), "validation pairs");
  check_pairs(test, all_rows.size(0), "test pairs");
  const Tensor rows = all_rows.detach();
  const Tensor pairs = torch::cat({train.positives, train.negatives});
  if (train.positives.size(0) == 0 || train.negatives.size(0) == 0)
    throw Error(ErrorCode::kData,
                "there are no training pairs of both kinds to learn from",
                "the graph must hold edges, and leave some out");
  const Products products(rows, pairs);
  const Tensor truth = torch::cat(
      {torch::ones({train.positives.size(0), 1}), torch::zeros({train.negatives.size(0), 1})});
  const auto scored = [&](const LinearLayer& layer, const LinkPairs& part) {
    const auto score = [&](const Tensor& some) {
      return layer.scores(products.of(some)).squeeze(1);
    };
    return ScoredPairs{scores_of(part.positives, score), scores_of(part.negatives, score)};
  };
  // An epoch whose weights have run away has no quality.
  const auto quality = [&](const LinearLayer& now) {
    const ScoredPairs of_valid = scored(now, valid);
    return of_valid.finite() ? areas_of(of_valid).auc : std::numeric_limits<double>::quiet_NaN();
  };
  const LinearLayer layer = train_layer(
      {torch::zeros({1, rows.size(1)}), torch::zeros({1})},
      products.of(pairs),
      [&truth](const Tensor& scores) {
        return torch::nn::functional::binary_cross_entropy_with_logits(scores, truth);
      },
      quality,
      options);
  const torch::NoGradGuard no_gradients;
  return finite_areas(scored(layer, test));
}

}  // namespace sluice::probe
