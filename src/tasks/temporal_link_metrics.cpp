#include "tasks/temporal_link_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace sluice::tasks {
namespace {

constexpr double kNoFigure = std::numeric_limits<double>::quiet_NaN();

// Scores of one kind, in tensors, so that the ledger knows of them.
class ScoreList {
 public:
  void add(std::span<const double> scores) {
    if (scores.empty()) return;
    torch::Tensor chunk = torch::empty({static_cast<std::int64_t>(scores.size())}, torch::kFloat64);
    std::ranges::copy(scores, chunk.data_ptr<double>());
    chunks_.push_back(std::move(chunk));
  }
  torch::Tensor descending() const {
    if (chunks_.empty()) return torch::empty({0}, torch::kFloat64);
    return std::get<0>(torch::cat(chunks_).sort(0, /*descending=*/true)).contiguous();
  }

 private:
  std::vector<torch::Tensor> chunks_;
};

std::span<const double> numbers_of(const torch::Tensor& scores) {
  return {scores.const_data_ptr<double>(), static_cast<std::size_t>(scores.numel())};
}

struct Areas {
  double ap = kNoFigure, auc = kNoFigure;
};

// Threshold by threshold, the highest first: events and others at it come in together.
Areas areas_of(const ScoreList& event_scores, const ScoreList& other_scores) {
  const torch::Tensor events_sorted = event_scores.descending();
  const torch::Tensor others_sorted = other_scores.descending();
  const auto events = numbers_of(events_sorted), others = numbers_of(others_sorted);
  if (events.empty() || others.empty()) return {};
  double above = 0, precision = 0;
  std::size_t i = 0, j = 0;
  while (i < events.size() || j < others.size()) {
    const double score = std::max(i < events.size() ? events[i] : -HUGE_VAL,
                                  j < others.size() ? others[j] : -HUGE_VAL);
    const std::size_t first_event = i, first_other = j;
    while (i < events.size() && events[i] == score) ++i;
    while (j < others.size() && others[j] == score) ++j;
    const auto new_events = static_cast<double>(i - first_event);
    const auto new_others = static_cast<double>(j - first_other);
    above += new_others * (static_cast<double>(i) - new_events / 2);
    precision += new_events * static_cast<double>(i) / static_cast<double>(i + j);
  }
  const auto count = static_cast<double>(events.size());
  return {precision / count, above / (count * static_cast<double>(others.size()))};
}

// An event's scores beside one kind of destinations.
struct Beside {
  ScoreList events, others;
  std::vector<double> new_events, new_others;  // of a mini-batch, before they are added

  void flush() {
    events.add(new_events);
    others.add(new_others);
    new_events.clear();
    new_others.clear();
  }
};

struct RankSums {
  std::uint64_t count = 0;
  double reciprocal = 0;
  std::uint64_t first_ten = 0;

  void add(double rank) {
    ++count;
    reciprocal += 1 / rank;
    first_ten += rank <= 10 ? 1u : 0u;
  }
};

bool is_ranked(EventNegativeKind kind) {
  return kind == EventNegativeKind::kOther || kind == EventNegativeKind::kMixed ||
         kind == EventNegativeKind::kAll || kind == EventNegativeKind::kStored;
}

std::string suffix_of(EventNegativeKind kind) {
  if (kind == EventNegativeKind::kHistorical) return ".historical";
  return kind == EventNegativeKind::kInductive ? ".inductive" : "";
}

// Log(1 + exp(x)) without overflow.
double softplus_of(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

// All figures of some events.
class Group {
 public:
  explicit Group(std::size_t kinds) : beside_(kinds) {}

  /// @param own the event's score @param others of its kind of destinations, which are not all
  /// there @param rows of them, -1: not there
  void add(std::size_t kind,
           bool ranked,
           double own,
           std::span<const double> others,
           std::span<const std::int64_t> rows) {
    if (ranked) {
      std::uint64_t higher = 0, as_high = 0;
      // Nobody to be ranked among: no rank.
      if (std::ranges::all_of(rows, [](std::int64_t row) { return row < 0; })) return;
      for (std::size_t n = 0; n < others.size(); ++n) {
        if (rows[n] < 0) continue;
        higher += others[n] > own ? 1u : 0u;
        as_high += others[n] >= own ? 1u : 0u;
      }
      return ranks_.add(1 + static_cast<double>(higher + as_high) / 2);
    }
    Beside& beside = beside_.at(kind);
    beside.new_events.push_back(own);
    for (std::size_t n = 0; n < others.size(); ++n) {
      if (rows[n] >= 0) beside.new_others.push_back(others[n]);
    }
  }
  void flush() {
    for (Beside& beside : beside_) beside.flush();
  }
  void put_into(std::map<std::string, double>& figures,
                const std::vector<EventColumns>& columns,
                const std::string& of) const {
    for (std::size_t kind = 0; kind < columns.size(); ++kind) {
      if (is_ranked(columns[kind].kind)) {
        const auto count = static_cast<double>(ranks_.count);
        figures["mrr" + of] = ranks_.count == 0 ? kNoFigure : ranks_.reciprocal / count;
        figures["hits@10" + of] =
            ranks_.count == 0 ? kNoFigure : static_cast<double>(ranks_.first_ten) / count;
        continue;
      }
      const Areas areas = areas_of(beside_[kind].events, beside_[kind].others);
      figures["ap" + suffix_of(columns[kind].kind) + of] = areas.ap;
      figures["auc" + suffix_of(columns[kind].kind) + of] = areas.auc;
    }
  }

 private:
  std::vector<Beside> beside_;
  RankSums ranks_;
};

class TemporalLinkMetrics final : public MetricAccumulator {
 public:
  TemporalLinkMetrics(const std::vector<EventColumns>& columns,
                      std::shared_ptr<const SeenNodes> seen)
      : columns_(columns), seen_(std::move(seen)), all_(columns.size()), new_(columns.size()) {}

  void add(const torch::Tensor& outputs, const Batch& batch) override {
    const torch::Tensor scores = outputs.detach().to(torch::kFloat64).contiguous();
    const auto width = static_cast<std::size_t>(scores.size(1));
    const auto all = numbers_of(scores);
    const Queries& queries = batch.queries;
    const std::span<const std::int64_t> rows = queries.negatives.empty()
                                                   ? std::span<const std::int64_t>()
                                                   : queries.negatives.as<std::int64_t>();
    for (std::size_t i = 0; i < all.size() / width; ++i) {
      const auto row = all.subspan(i * width, width);
      all_finite_ = all_finite_ &&
                    std::ranges::all_of(row, [](double score) { return std::isfinite(score); });
      const bool is_new = seen_ && is_new_query(batch, i);
      std::size_t first = 0;
      // A part that is asked about without some of the kinds has no figures of these.
      for (std::size_t kind = 0; kind < columns_.size(); ++kind) {
        if (first + columns_[kind].count >= width) break;
        const auto others = row.subspan(1 + first, columns_[kind].count);
        const auto there = rows.subspan(i * (width - 1) + first, columns_[kind].count);
        const bool ranked = is_ranked(columns_[kind].kind);
        all_.add(kind, ranked, row[0], others, there);
        if (is_new) new_.add(kind, ranked, row[0], others, there);
        if (kind == 0) add_loss(row[0], others, there);
        first += columns_[kind].count;
      }
    }
    all_.flush();
    new_.flush();
  }

  std::map<std::string, double> result() const override {
    std::map<std::string, double> figures{{"loss", kNoFigure}};
    const bool sound = all_finite_;
    const Group none(columns_.size());
    (sound ? all_ : none).put_into(figures, columns_, "");
    if (seen_) (sound ? new_ : none).put_into(figures, columns_, ".new_nodes");
    if (sound && events_ != 0 && others_ != 0)
      figures["loss"] = (event_loss_ / static_cast<double>(events_) +
                         other_loss_ / static_cast<double>(others_)) /
                        2;
    return figures;
  }

 private:
  bool is_new_query(const Batch& batch, std::size_t i) const {
    const Queries& queries = batch.queries;
    const auto node = [&](const Array& rows, std::size_t type) {
      const auto row = static_cast<std::size_t>(rows.as<std::int64_t>()[i]);
      return batch.seeds.at(type).as<std::uint64_t>()[row];
    };
    return !seen_->both(node(queries.sources, queries.type),
                        node(queries.destinations, queries.destination_type));
  }

  void add_loss(double own, std::span<const double> others, std::span<const std::int64_t> rows) {
    event_loss_ += softplus_of(-own);
    ++events_;
    for (std::size_t n = 0; n < others.size(); ++n) {
      if (rows[n] < 0) continue;
      other_loss_ += softplus_of(others[n]);
      ++others_;
    }
  }

  std::vector<EventColumns> columns_;
  std::shared_ptr<const SeenNodes> seen_;
  Group all_, new_;
  bool all_finite_ = true;
  double event_loss_ = 0, other_loss_ = 0;
  std::uint64_t events_ = 0, others_ = 0;
};

}  // namespace

std::unique_ptr<MetricAccumulator> make_temporal_link_metrics(
    const std::vector<EventColumns>& columns, std::shared_ptr<const SeenNodes> seen) {
  return std::make_unique<TemporalLinkMetrics>(columns, std::move(seen));
}

}  // namespace sluice::tasks
