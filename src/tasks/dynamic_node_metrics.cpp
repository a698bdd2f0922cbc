#include "tasks/dynamic_node_metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace sluice::tasks {
namespace {

constexpr std::size_t kFirstPlaces = 10;

double discount(std::size_t place) {
  return 1 / std::log2(static_cast<double>(place) + 2);
}

std::size_t place_of_largest(std::span<const double> values) {
  return static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
}

// A gain each at its time, in tensors, so that the ledger knows of them.
class GainsAtTimes {
 public:
  void add(std::span<const std::int64_t> times, std::span<const double> gains) {
    const auto count = static_cast<std::int64_t>(times.size());
    torch::Tensor own_times = torch::empty({count}, torch::kInt64);
    torch::Tensor own_gains = torch::empty({count}, torch::kFloat64);
    std::ranges::copy(times, own_times.data_ptr<std::int64_t>());
    std::ranges::copy(gains, own_gains.data_ptr<double>());
    times_.push_back(std::move(own_times));
    gains_.push_back(std::move(own_gains));
  }
  // Of a time's mean, over times. The same however gains came in, if in the order of time.
  double mean_over_times() const {
    const auto [times, order] = torch::cat(times_).sort(/*stable=*/true, 0, /*descending=*/false);
    const torch::Tensor gains = torch::cat(gains_).index_select(0, order).contiguous();
    const std::int64_t* const when = times.const_data_ptr<std::int64_t>();
    const double* const gain = gains.const_data_ptr<double>();
    double sum = 0;
    std::int64_t distinct = 0;
    for (std::int64_t i = 0; i < gains.numel(); ++distinct) {
      const std::int64_t first = i;
      double of_time = 0;
      for (; i < gains.numel() && when[i] == when[first]; ++i) of_time += gain[i];
      sum += of_time / static_cast<double>(i - first);
    }
    return sum / static_cast<double>(distinct);
  }

 private:
  std::vector<torch::Tensor> times_, gains_;
};

// The loss of scores against shares that sum to 1.
double soft_cross_entropy(std::span<const double> shares, std::span<const double> scores) {
  const double most = std::ranges::max(scores);
  double exponentials = 0, expected = 0;
  for (const double score : scores) exponentials += std::exp(score - most);
  for (std::size_t c = 0; c < shares.size(); ++c) expected += shares[c] * (scores[c] - most);
  return std::log(exponentials) - expected;
}

class DynamicNodeMetrics final : public MetricAccumulator {
 public:
  DynamicNodeMetrics(std::shared_ptr<const NodeLabels> labels, LabelAccuracy accuracy)
      : labels_(std::move(labels)), accuracy_(accuracy) {}

  void add(const torch::Tensor& outputs, const Batch& batch) override {
    const torch::Tensor rows = outputs.detach().to(torch::kFloat64).contiguous();
    const auto width = static_cast<std::size_t>(rows.size(1));
    const auto nodes = batch.queries.ids.as<std::uint64_t>();
    const auto times = batch.queries.times.as<std::int64_t>();
    std::vector<double> shares(width), gains;
    std::vector<std::int64_t> measured;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::span<const double> scores(rows.const_data_ptr<double>() + i * width, width);
      const auto place = labels_->find(nodes[i], times[i]);
      if (!place) continue;
      if (std::ranges::any_of(scores, [](double score) { return !std::isfinite(score); })) {
        all_finite_ = false;
        continue;
      }
      std::ranges::fill(shares, 0.0);
      labels_->add_shares(*place, shares);
      gains.push_back(add_one(shares, scores));
      measured.push_back(times[i]);
    }
    gains_.add(measured, gains);
  }

  std::map<std::string, double> result() const override {
    const double none = std::numeric_limits<double>::quiet_NaN();
    const bool sound = all_finite_ && count_ != 0;
    const auto count = static_cast<double>(count_);
    std::map<std::string, double> figures{{"ndcg@10", sound ? gains_.mean_over_times() : none},
                                          {"loss", sound ? loss_ / count : none}};
    if (accuracy_ == LabelAccuracy::kMeasured)
      figures["accuracy"] = sound ? static_cast<double>(correct_) / count : none;
    return figures;
  }

 private:
  // The gain.
  double add_one(std::span<const double> shares, std::span<const double> scores) {
    loss_ += soft_cross_entropy(shares, scores);
    if (place_of_largest(shares) == place_of_largest(scores)) ++correct_;
    ++count_;
    return ndcg(shares, scores, kFirstPlaces);
  }

  std::shared_ptr<const NodeLabels> labels_;
  LabelAccuracy accuracy_;
  GainsAtTimes gains_;
  double loss_ = 0;
  std::uint64_t count_ = 0, correct_ = 0;
  bool all_finite_ = true;
};

}  // namespace

double ndcg(std::span<const double> gains, std::span<const double> scores, std::size_t first) {
  const std::size_t places = std::min(first, gains.size());
  std::vector<double> best(gains.begin(), gains.end());
  std::ranges::sort(best, std::greater<>());
  double ideal = 0;
  for (std::size_t place = 0; place < places; ++place) ideal += best[place] * discount(place);
  if (!(ideal > 0)) return 0;
  std::vector<std::size_t> order(gains.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
  });
  double gained = 0;
  for (std::size_t begin = 0; begin < places;) {
    double gain = 0, discounts = 0;
    std::size_t end = begin;
    for (; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end) {
      gain += gains[order[end]];
      if (end < places) discounts += discount(end);
    }
    gained += gain / static_cast<double>(end - begin) * discounts;
    begin = end;
  }
  return gained / ideal;
}

std::unique_ptr<MetricAccumulator> make_dynamic_node_metrics(
    std::shared_ptr<const NodeLabels> labels, LabelAccuracy accuracy) {
  return std::make_unique<DynamicNodeMetrics>(std::move(labels), accuracy);
}

}  // namespace sluice::tasks
