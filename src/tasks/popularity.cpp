#include "tasks/popularity.h"

#include "tasks/pair_scores.h"
#include "tasks/shared_events.h"

#include <cmath>
#include <ranges>

namespace sluice::tasks {
namespace {

// Beyond so many half-lives an event changes no sum of f64.
constexpr double kForgotten = 64;

double decayed_sum(std::span<const PairEvent> events, std::int64_t time, double half_life) {
  double sum = 0;
  for (const PairEvent& event : std::views::reverse(events)) {
    const double age = static_cast<double>(ticks_between(event.time, time)) / half_life;
    if (age > kForgotten) break;
    sum += std::exp2(-age);
  }
  return sum;
}

// In [0, 1), the more the higher.
double below_one(double popularity) {
  return popularity / (1 + popularity);
}

}  // namespace

void PopularityOptions::describe(Schema& schema) {
  schema
      .choice("by",
              by,
              {{"node", PopularityBy::kNode, "events of the destination"},
               {"pair", PopularityBy::kPair, "events of the pair"},
               {"pair_then_node",
                PopularityBy::kPairThenNode,
                "pairs that have met by their events, before all others by the destination's"},
               {"shared_then_node",
                PopularityBy::kSharedThenNode,
                "pairs with an event among the latest `shared` of both ends before all others, "
                "both by node"}})
      .help("which events are counted");
  schema.field("half_life", half_life)
      .help("an event counts half as much after each of these; 0: all alike")
      .unit("ticks")
      .range(0, 9e18);
  schema.field("shared", shared)
      .help("of by \"shared_then_node\": events that each end remembers")
      .unit("events")
      .range(1, 1 << 20);
  describe_direction(schema, direction);
}

Popularity::Popularity(const Options& options, const ModelContext& /*context*/)
    : options_(options) {}

torch::Tensor Popularity::score(const PairRequest& request) {
  const PairHistory& history = request.history;
  const auto weight = [&](const PairLists& lists, std::int64_t time) {
    if (options_.half_life == 0) return static_cast<double>(lists.count());
    const auto half_life = static_cast<double>(options_.half_life);
    return decayed_sum(lists.first, time, half_life) + decayed_sum(lists.second, time, half_life);
  };
  SharedEvents shared(history, options_.direction, static_cast<std::size_t>(options_.shared));
  std::size_t begun = request.sources.size();  // the query whose source `shared` is about
  return score_candidates(
      request, [&](std::size_t i, std::uint64_t source, std::uint64_t destination) {
        const TemporalCut& bound = request.bounds[i];
        const auto by_node = [&] {
          return weight(history.of_destination(destination, options_.direction, bound),
                        request.times[i]);
        };
        if (options_.by == PopularityBy::kNode) return by_node();
        if (options_.by == PopularityBy::kSharedThenNode) {
          if (begun != i) shared.begin(source, bound);
          begun = i;
          return below_one(by_node()) + (shared.count(destination) != 0 ? 1 : 0);
        }
        const PairLists met = history.of_pair(source, destination, options_.direction, bound);
        const double by_pair = weight(met, request.times[i]);
        if (options_.by == PopularityBy::kPair) return by_pair;
        return met.count() != 0 ? 1 + by_pair : below_one(by_node());
      });
}

}  // namespace sluice::tasks
