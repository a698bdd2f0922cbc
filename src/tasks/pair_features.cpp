#include "tasks/pair_features.h"

#include "tasks/pair_scores.h"

#include <sluice/no_node.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace sluice::tasks {
namespace {

constexpr TemporalCut kEndOfTime{std::numeric_limits<std::int64_t>::max(), kNoEdge};

// Counts and spans of ticks, which go over many orders, as numbers of about 1.
float scaled_log(double value) {
  return static_cast<float>(std::log1p(value) / 8);
}

// How long ago, 0 for never: whether it ever was is a number of its own.
float scaled_gap(std::optional<std::int64_t> last, std::int64_t time) {
  return last ? scaled_log(static_cast<double>(ticks_between(*last, time))) : 0.0F;
}

PairHistory steps_of(const PairHistory& history, MemoryLedger* ledger) {
  ThreadArena arena;
  return history.steps(arena, ledger).or_throw();
}

// The pairs of a node lie one behind the other, by the other node.
template <class Add>
void add_pairs(std::span<const PairEvent> of_node, const Add& add) {
  while (!of_node.empty()) {
    const auto end =
        std::ranges::upper_bound(of_node, of_node.front().other, {}, &PairEvent::other);
    const auto size = static_cast<std::size_t>(end - of_node.begin());
    add(of_node.first(size));
    of_node = of_node.subspan(size);
  }
}

}  // namespace

PairFeatures::PairFeatures(const PairHistory& history,
                           PairFeatureOptions options,
                           MemoryLedger* ledger)
    : history_(history),
      options_(std::move(options)),
      steps_(steps_of(history, ledger)),
      of_pairs_(history.all_pairs(), options_.clocks),
      of_destinations_(history.all_to(), options_.clocks),
      of_steps_(steps_.all_pairs(), options_.clocks),
      sums_(options_.clocks.size()) {
  for (std::uint64_t node = 0; node < history.num_destinations(); ++node)
    of_destinations_.add(history.to(node, kEndOfTime));
  for (std::uint64_t node = 0; node < history.num_sources(); ++node)
    add_pairs(history.pairs_from(node), [&](auto list) { of_pairs_.add(list); });
  for (std::uint64_t node = 0; node < steps_.num_sources(); ++node)
    add_pairs(steps_.pairs_from(node), [&](auto list) { of_steps_.add(list); });
}

PairFeatures::Asked PairFeatures::ask(const PairRequest& request, std::size_t i) const {
  Asked asked{request.sources[i], request.times[i], request.bounds[i], {}};
  asked.of_source = history_.of_source(asked.source, options_.direction, asked.bound);
  const auto met = history_.from(asked.source, asked.bound);
  asked.met_any = !met.empty();
  if (asked.met_any) asked.last_met = met.back().other;
  return asked;
}

void PairFeatures::fill(const PairRequest& request, std::size_t i, std::span<float> out) {
  const std::size_t candidates = request.candidates();
  const Asked asked = ask(request, i);
  for (std::size_t n = 0; n < candidates; ++n) {
    const auto own = out.subspan(n * width(), width());
    const std::uint64_t destination = request.destinations[i * candidates + n];
    std::ranges::fill(own, 0.0F);
    if (destination != kNoNode) fill_one(asked, destination, own);
  }
}

void PairFeatures::fill_one(const Asked& asked, std::uint64_t destination, std::span<float> out) {
  const TemporalCut& bound = asked.bound;
  const auto pair = history_.between(asked.source, destination, bound);
  const PairLists either = history_.of_pair(asked.source, destination, options_.direction, bound);
  const PairLists of_destination = history_.of_destination(destination, options_.direction, bound);
  const auto steps = asked.met_any ? steps_.between(asked.last_met, destination, bound)
                                   : std::span<const PairEvent>();
  // Events of the source since it last met the destination.
  const auto from = history_.from(asked.source, bound);
  const std::size_t since =
      pair.empty()
          ? from.size()
          : from.size() - history_.from(asked.source, {pair.back().time, pair.back().id}).size();
  const auto last_step =
      steps.empty() ? std::nullopt : std::optional<std::int64_t>(steps.back().time);
  const std::array<float, kPlain> plain{
      either.count() != 0 ? 1.0F : 0.0F,
      scaled_log(static_cast<double>(either.count())),
      scaled_gap(either.last(), asked.time),
      scaled_log(static_cast<double>(since)),
      from.empty() ? 0.0F : static_cast<float>(pair.size()) / static_cast<float>(from.size()),
      asked.met_any && asked.last_met == destination ? 1.0F : 0.0F,
      scaled_log(static_cast<double>(asked.of_source.count())),
      scaled_gap(asked.of_source.last(), asked.time),
      of_destination.count() != 0 ? 1.0F : 0.0F,
      scaled_log(static_cast<double>(of_destination.count())),
      scaled_gap(of_destination.last(), asked.time),
      steps.empty() ? 0.0F : 1.0F,
      scaled_log(static_cast<double>(steps.size())),
      scaled_gap(last_step, asked.time)};
  std::ranges::copy(plain, out.begin());
  auto to = out.subspan(kPlain);
  const auto put = [&](const DecayedSums& of, std::span<const PairEvent> events) {
    of.at(events, asked.time, sums_);
    for (std::size_t c = 0; c < sums_.size(); ++c) to[c] = std::log1p(sums_[c]);
    to = to.subspan(sums_.size());
  };
  put(of_pairs_, pair);
  put(of_destinations_, history_.to(destination, bound));
  put(of_steps_, steps);
}

}  // namespace sluice::tasks
