// Metrics of temporal links against their definitions, with many equal scores; how events are
// divided.
#include "tasks/temporal_link_metrics.h"

#include "models/support.h"
#include "samplers/temporal_support.h"
#include "support/expect_error.h"
#include "tasks/event_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

using namespace sluice;
using namespace sluice::testing;
using tasks::EventParts;
using tasks::EventSplitOptions;
using tasks::SplitBy;

namespace {

// Scores of q events and of `width` others each, whole numbers below `levels`; every seventh of the
// others is not there.
struct MetricCase {
  std::int64_t queries, width;
  torch::Tensor scores;  // f32 [q, 1 + width]
  std::vector<std::int64_t> rows;

  MetricCase(std::int64_t q, std::int64_t w, std::uint64_t levels, std::uint64_t seed)
      : queries(q), width(w), scores(torch::empty({q, 1 + w})) {
    const RandomKey key(seed);
    float* const to = scores.data_ptr<float>();
    for (std::int64_t i = 0; i < scores.numel(); ++i)
      to[i] = static_cast<float>(key.below(levels, static_cast<std::uint64_t>(i)));
    for (std::int64_t i = 0; i < q * w; ++i) rows.push_back(i % 7 == 6 ? -1 : i);
  }
  Batch batch(std::int64_t first, std::int64_t count) const {
    Batch made;
    made.queries.kind = QueryKind::kLinks;
    std::vector<std::int64_t> ends(static_cast<std::size_t>(count));
    made.queries.sources = array_of(ends);
    made.queries.destinations = array_of(ends);
    made.queries.negatives =
        array_of(std::vector<std::int64_t>(rows.begin() + first * width,
                                           rows.begin() + (first + count) * width),
                 {count, width});
    return made;
  }
  double own(std::int64_t i) const { return scores[i][0].item<double>(); }
  double other(std::int64_t i, std::int64_t n) const { return scores[i][1 + n].item<double>(); }
  bool there(std::int64_t i, std::int64_t n) const {
    return rows[static_cast<std::size_t>(i * width + n)] >= 0;
  }
};

std::map<std::string, double> measured(const MetricCase& of,
                                       const std::vector<EventColumns>& columns) {
  const auto metrics = tasks::make_temporal_link_metrics(columns, nullptr);
  const std::int64_t half = of.queries / 2;
  metrics->add(of.scores.narrow(0, half, of.queries - half), of.batch(half, of.queries - half));
  metrics->add(of.scores.narrow(0, 0, half), of.batch(0, half));
  return metrics->result();
}

// scikit-learn's average_precision_score: the sum over thresholds of precision times what recall
// gains.
double average_precision(const std::vector<double>& events, const std::vector<double>& others) {
  double sum = 0;
  for (const double threshold : std::set<double>(events.begin(), events.end())) {
    const auto at_least = [&](double score) { return score >= threshold; };
    const auto hits = static_cast<double>(std::ranges::count_if(events, at_least));
    const auto all = hits + static_cast<double>(std::ranges::count_if(others, at_least));
    const auto gained = static_cast<double>(std::ranges::count(events, threshold));
    sum += gained / static_cast<double>(events.size()) * hits / all;
  }
  return sum;
}

double area_under_curve(const std::vector<double>& events, const std::vector<double>& others) {
  double won = 0;
  for (const double event : events) {
    for (const double other : others) won += event > other ? 1 : event == other ? 0.5 : 0;
  }
  return won / static_cast<double>(events.size() * others.size());
}

std::shared_ptr<const TemporalGraph> graph_at(const std::vector<std::int64_t>& times) {
  sluice::test::Events events;
  for (std::size_t i = 0; i < times.size(); ++i) events.push_back({i, i + 1, times[i], 10 + i});
  return std::make_shared<const TemporalGraph>(
      sluice::test::make_temporal(events, times.size() + 1));
}

EventLinks links_at(const std::vector<std::int64_t>& times) {
  ThreadArena arena(1);
  return EventLinks::make(graph_at(times), arena, nullptr).or_throw();
}

std::vector<std::uint64_t> ids_in(const Links& links) {
  std::vector<std::uint64_t> numbers(links.size()), sources(links.size()), targets(links.size());
  std::vector<std::uint64_t> ids(links.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  links.find(numbers, {sources, targets, ids}).or_throw();
  return ids;
}

std::array<std::uint64_t, 3> sizes_of(const EventParts& parts) {
  return {parts.count(Part::kTrain), parts.count(Part::kValid), parts.count(Part::kTest)};
}

}  // namespace

TEST_CASE("AP and AUC are those of all events and others, ties as one threshold") {
  for (std::uint64_t seed = 1; seed < 40; ++seed) {
    CAPTURE(seed);
    const MetricCase of(5 + static_cast<std::int64_t>(seed), 2, 2 + seed % 5, seed);
    const auto figures =
        measured(of, {{EventNegativeKind::kRandom, 1}, {EventNegativeKind::kHistorical, 1}});
    std::vector<double> events;
    std::array<std::vector<double>, 2> others;
    for (std::int64_t i = 0; i < of.queries; ++i) {
      events.push_back(of.own(i));
      for (std::int64_t n = 0; n < 2; ++n)
        if (of.there(i, n)) others.at(static_cast<std::size_t>(n)).push_back(of.other(i, n));
    }
    CHECK(figures.at("ap") == doctest::Approx(average_precision(events, others[0])));
    CHECK(figures.at("auc") == doctest::Approx(area_under_curve(events, others[0])));
    CHECK(figures.at("ap.historical") == doctest::Approx(average_precision(events, others[1])));
    CHECK(figures.at("auc.historical") == doctest::Approx(area_under_curve(events, others[1])));
    CHECK_FALSE(figures.contains("mrr"));
  }
}

TEST_CASE("an event's rank is the mean of its places among equal scores") {
  for (std::uint64_t seed = 1; seed < 40; ++seed) {
    CAPTURE(seed);
    const MetricCase of(8, 30, 2 + seed % 9, seed);
    const auto figures = measured(of, {{EventNegativeKind::kAll, 30}});
    double reciprocal = 0, first_ten = 0;
    for (std::int64_t i = 0; i < of.queries; ++i) {
      double best = 1, worst = 1;
      for (std::int64_t n = 0; n < of.width; ++n) {
        if (!of.there(i, n)) continue;
        best += of.other(i, n) > of.own(i) ? 1 : 0;
        worst += of.other(i, n) >= of.own(i) ? 1 : 0;
      }
      reciprocal += 2 / (best + worst);
      first_ten += (best + worst) / 2 <= 10 ? 1 : 0;
    }
    CHECK(figures.at("mrr") == doctest::Approx(reciprocal / 8));
    CHECK(figures.at("hits@10") == doctest::Approx(first_ten / 8));
    CHECK_FALSE(figures.contains("ap"));
  }
}

TEST_CASE("an event with nobody to be ranked among has no rank") {
  MetricCase of(8, 30, 5, 3);
  std::fill(of.rows.begin(), of.rows.begin() + 5 * 30, -1);
  MetricCase last(3, 30, 5, 3);
  last.scores = of.scores.slice(0, 5);
  last.rows.assign(of.rows.begin() + 5 * 30, of.rows.end());
  const std::vector<EventColumns> columns{{EventNegativeKind::kAll, 30}};
  const auto all = measured(of, columns), ranked = measured(last, columns);
  CHECK(all.at("mrr") == doctest::Approx(ranked.at("mrr")));
  CHECK(all.at("hits@10") == doctest::Approx(ranked.at("hits@10")));
}

TEST_CASE("events of nodes that training has not seen have figures of their own") {
  auto seen = std::make_shared<tasks::SeenNodes>();
  seen->sources = seen->destinations = array_of<std::uint8_t>({1, 1, 0});
  const auto metrics = tasks::make_temporal_link_metrics({{EventNegativeKind::kOther, 1}}, seen);
  Batch batch;
  batch.seeds = {array_of<std::uint64_t>({2, 0, 1})};
  batch.queries.kind = QueryKind::kLinks;
  batch.queries.sources = array_of<std::int64_t>({1, 1});       // node 0 twice
  batch.queries.destinations = array_of<std::int64_t>({2, 0});  // node 1, then 2, which is new
  batch.queries.negatives = array_of<std::int64_t>({0, 2}, {2, 1});
  metrics->add(torch::tensor({{1.f, 0.f}, {0.f, 1.f}}), batch);
  CHECK(metrics->result().at("mrr") == 0.75);
  CHECK(metrics->result().at("mrr.new_nodes") == 0.5);
}

TEST_CASE("scores that are not finite leave no figure, and neither does no event") {
  const MetricCase of(4, 1, 3, 1);
  const std::vector<EventColumns> columns{{EventNegativeKind::kRandom, 1}};
  for (const auto& [name, value] : tasks::make_temporal_link_metrics(columns, nullptr)->result()) {
    CAPTURE(name);
    CHECK(std::isnan(value));
  }
  const auto metrics = tasks::make_temporal_link_metrics(columns, nullptr);
  torch::Tensor scores = of.scores.clone();
  scores[1][0] = std::numeric_limits<float>::quiet_NaN();
  metrics->add(scores, of.batch(0, 4));
  for (const auto& [name, value] : metrics->result()) {
    CAPTURE(name);
    CHECK(std::isnan(value));
  }
}

TEST_CASE("events are divided by shares, by quantiles of times and by times") {
  const EventLinks all = links_at({0, 0, 1, 2, 3, 3, 3, 8, 9, 10});
  EventSplitOptions options;
  options.shares = {0.5, 0.2, 0.3};
  CHECK(sizes_of(EventParts(all, options, nullptr, nullptr)) ==
        std::array<std::uint64_t, 3>{5, 2, 3});
  // numpy.quantile(times, [0.5, 0.85]) is [3, 8.65].
  options.by = SplitBy::kQuantile;
  options.shares = {0.5, 0.35, 0.15};
  const EventParts quantiles(all, options, nullptr, nullptr);
  CHECK(sizes_of(quantiles) == std::array<std::uint64_t, 3>{7, 1, 2});
  CHECK(quantiles.training_first() == 0);
  CHECK(quantiles.training_last() == 3);
  CHECK(quantiles.training_end() == 8);
  options.by = SplitBy::kTime;
  options.times = {2, 9};
  CHECK(sizes_of(EventParts(all, options, nullptr, nullptr)) ==
        std::array<std::uint64_t, 3>{4, 5, 1});
}

TEST_CASE("a stored split lists events by id, and each part is in the order of time") {
  const EventLinks all = links_at({5, 4, 3, 2, 1});  // ids 10 to 14
  EventSplitOptions options;
  options.by = SplitBy::kStored;
  EdgeSplit split;
  split.train = array_of<std::uint64_t>({12, 14, 13});
  split.valid = array_of<std::uint64_t>({11});
  split.test = array_of<std::uint64_t>({10});
  const EventParts parts(all, options, &split, nullptr);
  CHECK(ids_in(*parts.links(Part::kTrain)) == std::vector<std::uint64_t>{14, 13, 12});
  CHECK(ids_in(*parts.links(Part::kAll)) == std::vector<std::uint64_t>{14, 13, 12, 11, 10});
  split.train = {};
  const EventParts others(all, options, &split, nullptr);
  CHECK(ids_in(*others.links(Part::kTrain)) == std::vector<std::uint64_t>{14, 13, 12});
  split.test = array_of<std::uint64_t>({10, 99});
  CHECK(sluice::test::expect_error([&] { EventParts(all, options, &split, nullptr); }).code() ==
        ErrorCode::kUsage);
}

TEST_CASE("splits that leave no training are refused") {
  EventSplitOptions options;
  const std::vector<std::vector<double>> bad_shares{{0.5, 0.5}, {0, 0.5, 0.5}, {0.5, 0.5, 0.5}};
  for (const std::vector<double>& shares : bad_shares) {
    options.shares = shares;
    CHECK(sluice::test::expect_error([&] { options.check(); }).code() == ErrorCode::kUsage);
  }
  options.by = SplitBy::kTime;
  const std::vector<std::vector<std::int64_t>> bad_times{{1}, {2, 1}};
  for (const std::vector<std::int64_t>& times : bad_times) {
    options.times = times;
    CHECK(sluice::test::expect_error([&] { options.check(); }).code() == ErrorCode::kUsage);
  }
  options.times = {-1, 5};
  CHECK(sluice::test::expect_error([&] {
          EventParts(links_at({0, 1}), options, nullptr, nullptr);
        }).code() == ErrorCode::kUsage);
}
