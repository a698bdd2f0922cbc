#include "train/continual_options.h"

#include <sluice/error.h>

#include <algorithm>
#include <functional>

namespace sluice {

void ContinualSection::describe(Schema& schema) {
  schema.field("from", from)
      .help(
          "the run whose best weights this one begins with; `sluice-train continue` writes it, and "
          "since");
  schema.field("since", since)
      .help(
          "how many edges the task's relation had (of tasks about nodes: nodes its type) when each "
          "earlier run ended: what came after the last is trained on. Empty: all is")
      .range(1, 1e18);
  schema.field("shares", shares)
      .help(
          "of tasks about nodes: shares of train, valid and test among appended nodes, drawn by "
          "their numbers; events are divided as [task] says")
      .range(0, 1);
}

std::vector<std::uint64_t> ContinualSection::stages() const {
  if (!from.empty() && since.empty())
    throw Error(ErrorCode::kUsage,
                "'continual.from' without 'continual.since': it is not said what is new",
                "let `sluice-train continue` write both");
  if (std::ranges::adjacent_find(since, std::greater_equal<>()) != since.end())
    throw Error(ErrorCode::kUsage,
                "'continual.since' does not ascend",
                "name how many edges or nodes there were when each earlier run ended, in order");
  return {since.begin(), since.end()};
}

void ReplaySection::describe(Schema& schema) {
  schema
      .choice("choose",
              choose,
              {{"none", ReplayRule::kNone, "nothing old is trained on again"},
               {"uniform", ReplayRule::kUniform, "any old node alike"},
               {"structure",
                ReplayRule::kStructure,
                "those that leave every old node few hops from one of them (after SEA-ER)"}})
      .help("of [continual]: which old nodes' queries are asked again beside new ones");
  schema.field("size", size).help("old nodes in the buffer").unit("nodes").range(1, 1e12);
  schema.field("weight", weight)
      .help(
          "what an old query counts for in the loss beside a new one, with the buffer standing for "
          "all of them")
      .range(0, 1e6);
}

}  // namespace sluice
