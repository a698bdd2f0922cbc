// Temporal link prediction over a dataset that was appended to: events by the stage they came in,
// and old ones that are asked about again.
#include "samplers/replay_buffer.h"
#include "tasks/temporal_link_prediction.h"

#include <sluice/loader.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace sluice::tasks {
namespace {

constexpr std::uint64_t kNoBound = std::numeric_limits<std::uint64_t>::max();

[[noreturn]] void refuse_stages(const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::kUsage, "task 'temporal_link_prediction': " + message, hint);
}

}  // namespace

std::uint64_t TemporalLinkPrediction::num_ids(const GraphSchema& schema) const {
  const RelationSchema& relation = schema.relations.at(relation_);
  return relation.appended == 0 ? std::max(relation.edges, relation.edge_id_bound)
                                : relation.appended_id_bound;
}

void TemporalLinkPrediction::divide(const DataStages& stages) {
  if (options_.split.by == SplitBy::kStored || options_.split.by == SplitBy::kTime)
    refuse_stages("its split says nothing of events that are appended later",
                  "train the first run with task.split_by = \"ratio\" or \"quantile\"");
  if (!options_.stored_negatives.empty())
    refuse_stages("stored destinations are those of one split, not of what is appended",
                  "leave task.stored_negatives out, and set task.ranked");
  since_ = stages.since;
}

// Each stage by itself, as if it were all.
void TemporalLinkPrediction::attach_stages() {
  std::optional<EventParts> old;
  std::uint64_t first = 0;
  const auto stage = [&](std::uint64_t last) {
    const EventLinks events = all_->with_ids(first, last, ledger_).or_throw();
    if (events.size() == 0)
      refuse_stages(fmt::format("no event has an edge id from {} on", first),
                    "append events first (sluice-prep append)");
    if (options_.split.by == SplitBy::kRatio &&
        EventParts::expected(Part::kTrain, options_.split, events.size()) == 0)
      refuse_stages(
          fmt::format("of {} events from edge id {} on, the split leaves none for training",
                      events.size(),
                      first),
          "append more events before going on (sluice-prep append)");
    return EventParts(events, options_.split, nullptr, ledger_);
  };
  for (const std::uint64_t last : since_) {
    EventParts parts = stage(last);
    first = last;
    old = old ? EventParts::joined(*old, parts, ledger_) : std::move(parts);
  }
  // The old ones first: the new ones' nodes are seen with theirs.
  ask(Era::kOld, *std::move(old));
  ask(Era::kNew, stage(kNoBound));
}

std::shared_ptr<const ReplayBuffer> TemporalLinkPrediction::make_buffer(
    const ReplayOptions& options, const GraphData& /*data*/) const {
  const bool one_type = source_type_ == destination_type_;
  return std::make_shared<const ReplayBuffer>(
      ReplayBuffer::of_links(*asked_of(Era::kOld).parts.links(Part::kTrain),
                             one_type ? num_sources_ : num_sources_ + num_destinations_,
                             one_type ? 0 : num_sources_,
                             options,
                             ledger_)
          .or_throw());
}

std::unique_ptr<QuerySource> TemporalLinkPrediction::replayed(
    const QueryRequest& request,
    const GraphData& data,
    std::shared_ptr<const ReplayBuffer> buffer,
    std::uint64_t batches) const {
  const Asked& old = asked_of(Era::kOld);
  EventQueryOptions options = query_options(request);
  options.negatives = old.training;
  options.replayed = ReplayedQueries{std::move(buffer), batches};
  return std::make_unique<EventQueries>(
      data.schema(), old.parts.links(Part::kTrain), std::move(options));
}

}  // namespace sluice::tasks
