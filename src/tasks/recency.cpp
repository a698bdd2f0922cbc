#include "tasks/recency.h"

#include "tasks/pair_scores.h"
#include "tasks/shared_events.h"

namespace sluice::tasks {

void RecencyOptions::describe(Schema& schema) {
  schema
      .choice("by",
              by,
              {{"node", RecencyBy::kNode, "when the destination last met anybody"},
               {"pair", RecencyBy::kPair, "when the pair last met"},
               {"pair_then_node",
                RecencyBy::kPairThenNode,
                "pairs that have met by when they last did, before all others by node"},
               {"shared_then_node",
                RecencyBy::kSharedThenNode,
                "pairs with an event among the latest `shared` of both ends before all others, "
                "both by node"}})
      .help("what is the later, the better");
  schema.field("shared", shared)
      .help("of by \"shared_then_node\": events that each end remembers")
      .unit("events")
      .range(1, 1 << 20);
  describe_direction(schema, direction);
}

Recency::Recency(const Options& options, const ModelContext& /*context*/) : options_(options) {}

torch::Tensor Recency::score(const PairRequest& request) {
  const PairHistory& history = request.history;
  SharedEvents shared(history, options_.direction, static_cast<std::size_t>(options_.shared));
  std::size_t begun = request.sources.size();  // the query whose source `shared` is about
  return score_candidates(
      request, [&](std::size_t i, std::uint64_t source, std::uint64_t destination) {
        const TemporalCut& bound = request.bounds[i];
        const auto by_node = [&] {
          return recency_score(
              request.times[i],
              history.of_destination(destination, options_.direction, bound).last());
        };
        if (options_.by == RecencyBy::kNode) return by_node();
        if (options_.by == RecencyBy::kSharedThenNode) {
          if (begun != i) shared.begin(source, bound);
          begun = i;
          return by_node() + (shared.count(destination) != 0 ? kRecencySpan : 0);
        }
        const auto last = history.of_pair(source, destination, options_.direction, bound).last();
        if (options_.by == RecencyBy::kPair) return recency_score(request.times[i], last);
        return last ? recency_score(request.times[i], last) + kRecencySpan : by_node();
      });
}

}  // namespace sluice::tasks
