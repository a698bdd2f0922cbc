// Labels at times as a list, and a brute-force evaluator of what tasks::PastLabels says of them:
// every label is looked at for every query.
#pragma once

#include "samplers/temporal_graph.h"

#include <sluice/dataset.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sluice::test {

struct Said {
  std::uint64_t node;
  std::int64_t time;
  std::int32_t label;
  float weight;
};

/// Those of a relation whose edges have classes.
inline std::vector<Said> said_by_classes(const Dataset& dataset, const std::string& relation) {
  const TemporalGraph graph = TemporalGraph::load(dataset, relation).or_throw();
  const Array labels = dataset.edge_labels(relation);
  std::vector<Said> all;
  for (std::uint64_t p = 0; p < graph.view().num_edges(); ++p)
    all.push_back({graph.view().neighbour(p),
                   graph.view().time(p),
                   labels.as<std::int32_t>()[graph.view().edge_id(p)],
                   1});
  return all;
}

class BruteForce {
 public:
  using Figures = std::map<std::string, double>;
  /// (time, node): the order of queries.
  using Query = std::pair<std::int64_t, std::uint64_t>;

  BruteForce(std::vector<Said> said, std::size_t classes)
      : said_(std::move(said)), classes_(classes) {
    std::ranges::sort(said_, {}, [](const Said& each) {
      return std::tuple(each.time, each.node, each.label, each.weight);
    });
    for (const Said& each : said_) {
      const Query query{each.time, each.node};
      if (queries_.empty() || queries_.back() != query) queries_.push_back(query);
    }
  }

  const std::vector<Query>& queries() const { return queries_; }

  /// Where train ends and valid ends, as numpy.quantile (linear) of the queries' times says.
  std::pair<std::size_t, std::size_t> quantiles(double first, double second) const {
    const auto up_to = [&](double share) {
      const double place = share * static_cast<double>(queries_.size() - 1);
      const auto low = static_cast<std::size_t>(place);
      const auto a = static_cast<double>(queries_[low].first);
      const auto b = static_cast<double>(queries_[std::min(low + 1, queries_.size() - 1)].first);
      const double bound = a + std::floor((b - a) * (place - std::floor(place)));
      return static_cast<std::size_t>(std::ranges::count_if(
          queries_, [&](const Query& query) { return static_cast<double>(query.first) <= bound; }));
    };
    return {up_to(first), up_to(second)};
  }

  /// Of queries [first, last), scored by the mean of the last `count` labels of before.
  Figures evaluate(std::size_t first, std::size_t last, std::size_t count) const {
    double over_times = 0, of_time = 0, correct = 0;
    std::size_t times = 0, nodes = 0;
    for (std::size_t q = first; q < last; ++q) {
      const std::vector<double> truth = shares(queries_[q]);
      const std::vector<double> scores = mean_before(queries_[q], count);
      of_time += gain(truth, scores);
      ++nodes;
      correct += std::ranges::max_element(truth) - truth.begin() ==
                         std::ranges::max_element(scores) - scores.begin()
                     ? 1
                     : 0;
      if (q + 1 < last && queries_[q + 1].first == queries_[q].first) continue;
      over_times += of_time / static_cast<double>(nodes);
      ++times;
      of_time = 0;
      nodes = 0;
    }
    return {{"ndcg@10", over_times / static_cast<double>(times)},
            {"accuracy", correct / static_cast<double>(last - first)}};
  }

 private:
  void add(const Query& of, std::vector<double>& out) const {
    double total = 0;
    const auto own = [&](const Said& each) { return Query{each.time, each.node} == of; };
    for (const Said& each : said_) total += own(each) ? double{each.weight} : 0.0;
    for (const Said& each : said_)
      if (own(each)) out[static_cast<std::size_t>(each.label)] += double{each.weight} / total;
  }
  std::vector<double> shares(const Query& of) const {
    std::vector<double> made(classes_);
    add(of, made);
    return made;
  }
  std::vector<double> mean_before(const Query& asked, std::size_t count) const {
    std::vector<Query> before;
    for (const Query& each : queries_)
      if (each.second == asked.second && each.first < asked.first) before.push_back(each);
    const std::size_t taken = std::min(count, before.size());
    std::vector<double> mean(classes_);
    for (std::size_t i = before.size() - taken; i < before.size(); ++i) add(before[i], mean);
    for (double& share : mean) share /= static_cast<double>(std::max<std::size_t>(taken, 1));
    return mean;
  }
  // NDCG@10; those with one score have the mean of their gains at each of their places.
  static double gain(const std::vector<double>& truth, const std::vector<double>& scores) {
    const auto discounted = [](std::size_t place) {
      return place < 10 ? 1 / std::log2(static_cast<double>(place) + 2) : 0.0;
    };
    std::vector<double> best = truth;
    std::ranges::sort(best, std::greater<>());
    double ideal = 0, gained = 0;
    for (std::size_t place = 0; place < best.size(); ++place)
      ideal += best[place] * discounted(place);
    std::map<double, std::vector<double>, std::greater<>> groups;
    for (std::size_t c = 0; c < truth.size(); ++c) groups[scores[c]].push_back(truth[c]);
    std::size_t place = 0;
    for (const auto& [score, gains] : groups) {
      double sum = 0, discounts = 0;
      for (const double each : gains) {
        sum += each;
        discounts += discounted(place++);
      }
      gained += sum / static_cast<double>(gains.size()) * discounts;
    }
    return gained / ideal;
  }

  std::vector<Said> said_;
  std::size_t classes_;
  std::vector<Query> queries_;
};

}  // namespace sluice::test
