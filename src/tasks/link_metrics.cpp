#include "tasks/link_metrics.h"

#include "probe/ranking_areas.h"

#include <sluice/nn/tensor_view.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace sluice::tasks {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// log(1 + exp(x)) without overflow.
double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

/// All scores of one kind, in tensors, so that the ledger knows of them.
class Scores {
 public:
  void add(std::span<const float> scores) {
    if (scores.empty()) return;
    const auto count = static_cast<std::int64_t>(scores.size());
    torch::Tensor chunk = torch::empty({count}, torch::kFloat32);
    std::ranges::copy(scores, chunk.data_ptr<float>());
    chunks_.push_back(std::move(chunk));
  }
  /// Descending, as f32 [n].
  torch::Tensor sorted() const {
    if (chunks_.empty()) return torch::empty({0}, torch::kFloat32);
    return std::get<0>(torch::cat(chunks_).sort(0, /*descending=*/true)).contiguous();
  }

 private:
  std::vector<torch::Tensor> chunks_;
};

std::span<const float> values_of(const torch::Tensor& scores) {
  return {scores.data_ptr<float>(), static_cast<std::size_t>(scores.numel())};
}

// Ranks summed up, each of a link at one end.
class Ranks {
 public:
  void add(double rank) {
    ++count_;
    sum_ += rank;
    reciprocal_ += 1 / rank;
    for (std::size_t i = 0; i < kHits.size(); ++i) hits_[i] += rank <= kHits[i] ? 1u : 0u;
  }
  void put_into(std::map<std::string, double>& figures) const {
    const auto mean = [this](double sum) {
      return count_ == 0 ? kNone : sum / static_cast<double>(count_);
    };
    figures["mrr"] = mean(reciprocal_);
    figures["mean_rank"] = mean(sum_);
    for (std::size_t i = 0; i < kHits.size(); ++i)
      figures[fmt::format("hits@{}", kHits[i])] = mean(static_cast<double>(hits_[i]));
  }

 private:
  static constexpr std::array<int, 3> kHits{1, 3, 10};

  double sum_ = 0, reciprocal_ = 0;
  std::array<std::uint64_t, kHits.size()> hits_{};
  std::uint64_t count_ = 0;
};

class LinkMetrics final : public MetricAccumulator {
 public:
  void add(const torch::Tensor& outputs, const Batch& batch) override {
    const torch::Tensor scores = outputs.detach().to(torch::kFloat32).contiguous();
    const auto columns = static_cast<std::size_t>(scores.size(1));
    const std::span<const float> all = values_of(scores);
    const Queries& queries = batch.queries;
    const std::span<const std::uint8_t> truth =
        queries.truth.empty() ? std::span<const std::uint8_t>() : queries.truth.as<std::uint8_t>();
    const std::span<const std::int64_t> negatives = queries.negatives.empty()
                                                        ? std::span<const std::int64_t>()
                                                        : queries.negatives.as<std::int64_t>();
    const bool both = lists_sources(queries);
    const std::span<const std::int64_t> sources =
        both ? queries.shared_sources.as<std::int64_t>() : std::span<const std::int64_t>();
    const std::size_t beside = both ? static_cast<std::size_t>(queries.shared_sources.size(1)) : 0;
    const std::size_t ranked = columns - 1 - (both ? 1 + beside : 0);
    std::vector<float> links, others;
    for (std::size_t row = 0; row < all.size() / columns; ++row) {
      const auto of_row = all.subspan(row * columns, columns);
      all_finite_ = all_finite_ &&
                    std::ranges::all_of(of_row, [](float score) { return std::isfinite(score); });
      const bool is_link = truth.empty() || truth[row] != 0;
      (is_link ? links : others).push_back(of_row[0]);
      add_loss(of_row[0], is_link);
      if (ranked > 0)
        add_destinations(of_row.first(1 + ranked), negatives.subspan(row * ranked, ranked), others);
      if (both) add_rank(of_row.subspan(1 + ranked), sources.subspan(row * beside, beside));
    }
    links_.add(links);
    others_.add(others);
  }

  std::map<std::string, double> result() const override {
    std::map<std::string, double> figures{{"auc", kNone}, {"ap", kNone}, {"loss", kNone}};
    Ranks().put_into(figures);
    if (!all_finite_) return figures;
    if (link_losses_ + other_losses_ > 0)
      figures["loss"] = mean(link_loss_, link_losses_) + mean(other_loss_, other_losses_);
    ranks_.put_into(figures);
    const torch::Tensor links = links_.sorted(), others = others_.sorted();
    if (links.numel() == 0 || others.numel() == 0) return figures;
    const probe::RankingAreas areas = probe::ranking_areas(values_of(links), values_of(others));
    figures["auc"] = areas.auc;
    figures["ap"] = areas.ap;
    return figures;
  }

 private:
  static double mean(double sum, std::uint64_t count) {
    return count == 0 ? 0 : sum / static_cast<double>(count);
  }

  void add_loss(float score, bool is_link) {
    (is_link ? link_loss_ : other_loss_) += softplus(is_link ? -score : score);
    ++(is_link ? link_losses_ : other_losses_);
  }

  /// @param scores of the link, then of others @param others rows, -1 where there is none: its
  /// score counts nowhere
  void add_rank(std::span<const float> scores, std::span<const std::int64_t> others) {
    double rank = 1;
    bool any = false;
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (others[i] < 0) continue;
      any = true;
      rank += scores[i + 1] > scores[0] ? 1 : scores[i + 1] == scores[0] ? 0.5 : 0;
    }
    if (any) ranks_.add(rank);
  }

  /// Of the first other destination that is there, auc and ap too.
  void add_destinations(std::span<const float> scores,
                        std::span<const std::int64_t> negatives,
                        std::vector<float>& others) {
    bool first = true;
    for (std::size_t i = 0; i < negatives.size(); ++i) {
      if (negatives[i] < 0) continue;
      if (std::exchange(first, false)) others.push_back(scores[i + 1]);
      add_loss(scores[i + 1], false);
    }
    add_rank(scores, negatives);
  }

  Scores links_, others_;
  Ranks ranks_;
  double link_loss_ = 0, other_loss_ = 0;
  std::uint64_t link_losses_ = 0, other_losses_ = 0;
  bool all_finite_ = true;
};

// Ranks among all nodes. Of a list with examples of none, which have no rank, auc and ap too.
class RankMetrics final : public MetricAccumulator {
 public:
  void add(const torch::Tensor& outputs, const Batch& batch) override {
    const torch::Tensor all = outputs.detach().to(torch::kFloat32).contiguous();
    scores_.add(all.narrow(1, 0, 1), batch);
    const std::span<const float> values = values_of(all);
    const auto columns = static_cast<std::size_t>(all.size(1));
    const Array& truth = batch.queries.truth;
    for (std::size_t row = 0; row < values.size() / columns; ++row) {
      if (!truth.empty() && truth.as<std::uint8_t>()[row] == 0) continue;
      for (std::size_t side = 1; side < columns; ++side) {
        const float rank = values[row * columns + side];
        all_finite_ = all_finite_ && std::isfinite(rank);
        ranks_.add(static_cast<double>(rank));
      }
    }
  }

  std::map<std::string, double> result() const override {
    std::map<std::string, double> figures = scores_.result();
    (all_finite_ ? ranks_ : Ranks()).put_into(figures);
    return figures;
  }

 private:
  LinkMetrics scores_;
  Ranks ranks_;
  bool all_finite_ = true;
};

// Some rows of a mini-batch's queries, as metrics look at them.
Batch rows_of_queries(const Batch& batch, const torch::Tensor& rows) {
  Batch some;
  some.queries.kind = batch.queries.kind;
  const auto take = [&](const Array& from) {
    return from.empty() ? Array() : nn::as_array(nn::as_tensor(from).index_select(0, rows));
  };
  some.queries.negatives = take(batch.queries.negatives);
  some.queries.truth = take(batch.queries.truth);
  if (lists_sources(batch.queries))
    some.queries.shared_sources = take(batch.queries.shared_sources);
  return some;
}

// The figures of all links, and those of each type by itself.
class MetricsByType final : public MetricAccumulator {
 public:
  MetricsByType(LinkOutputs outputs, const std::vector<std::string>& types)
      : types_(types), all_(make_link_metrics(outputs)) {
    for (std::size_t type = 0; type < types.size(); ++type)
      of_type_.push_back(make_link_metrics(outputs));
  }

  void add(const torch::Tensor& outputs, const Batch& batch) override {
    all_->add(outputs, batch);
    if (batch.labels.empty()) return;
    const torch::Tensor labels = nn::as_tensor(batch.labels);
    for (std::size_t type = 0; type < types_.size(); ++type) {
      const torch::Tensor rows = labels.eq(static_cast<std::int64_t>(type)).nonzero().squeeze(1);
      if (rows.numel() != 0)
        of_type_[type]->add(outputs.index_select(0, rows), rows_of_queries(batch, rows));
    }
  }

  std::map<std::string, double> result() const override {
    std::map<std::string, double> figures = all_->result();
    for (std::size_t type = 0; type < types_.size(); ++type)
      for (const auto& [name, value] : of_type_[type]->result())
        if (std::isfinite(value) && (name == "mrr" || name == "hits@10" || name == "auc"))
          figures[name + ":" + types_[type]] = value;
    return figures;
  }

 private:
  std::vector<std::string> types_;
  std::unique_ptr<MetricAccumulator> all_;
  std::vector<std::unique_ptr<MetricAccumulator>> of_type_;
};

}  // namespace

std::unique_ptr<MetricAccumulator> make_link_metrics(LinkOutputs outputs,
                                                     const std::vector<std::string>& types) {
  if (!types.empty()) return std::make_unique<MetricsByType>(outputs, types);
  if (outputs == LinkOutputs::kRanks) return std::make_unique<RankMetrics>();
  return std::make_unique<LinkMetrics>();
}

}  // namespace sluice::tasks
