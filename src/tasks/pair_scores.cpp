#include "tasks/pair_scores.h"

#include <limits>

namespace sluice::tasks {

void describe_direction(Schema& schema, PairDirection& direction) {
  schema
      .choice("direction",
              direction,
              {{"forward",
                PairDirection::kForward,
                "a source's events as a source, a destination's as a destination"},
               {"either", PairDirection::kEither, "a node's events in both roles"}})
      .help("which events count, of relations within one node type");
}

std::int64_t ticks_between(std::int64_t before, std::int64_t time) {
  std::int64_t ticks = 0;
  if (__builtin_sub_overflow(time, before, &ticks)) return std::numeric_limits<std::int64_t>::max();
  return ticks;
}

double recency_score(std::int64_t time, std::optional<std::int64_t> last) {
  if (!last) return -kRecencySpan;
  constexpr std::int64_t kExact = std::int64_t{1} << 49;
  const std::int64_t ticks = ticks_between(*last, time);
  return -static_cast<double>(ticks < kExact ? ticks : kExact + (ticks >> 14));
}

}  // namespace sluice::tasks
