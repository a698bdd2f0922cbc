#include "queries/reverse_relation.h"

#include "samplers/edge_lookup.h"

#include <sluice/edge_rule.h>
#include <sluice/random.h>
#include <sluice/sampler.h>
#include <sluice/samplers/links.h>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kSample = 64;

std::uint64_t edges_of(const RelationSchema& relation) {
  return relation.edges + relation.appended;
}

// Whether one may be the other turned round, by their numbers: they differ where edges were
// appended to one alone. Of few edges all may have one that leads back by chance.
bool like_in_number(const RelationSchema& one, const RelationSchema& other) {
  const auto [fewer, more] = std::minmax({edges_of(one), edges_of(other)});
  return fewer == more || (fewer >= kSample && more / 2 <= fewer);
}

using NodePairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// Marks those that were taken out of the relation they are looked for in.
void mark_held_out(const LinkArrays& held,
                   const NodePairs& pairs,
                   std::vector<std::uint8_t>& found) {
  const auto sources = held.sources.as<std::uint64_t>();
  const auto targets = held.targets.as<std::uint64_t>();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::pair pair{sources[i], targets[i]};
    for (auto at = std::ranges::lower_bound(pairs, pair); at != pairs.end() && *at == pair; ++at)
      found[static_cast<std::size_t>(at - pairs.begin())] = 1;
  }
}

// Whether all of some edges of a relation have one that leads back in another.
bool leads_back(const GraphData& data, std::size_t relation, std::size_t other) {
  const RelationLinks all(data.graph().relations.at(relation));
  if (all.size() == 0) return false;
  std::vector<std::uint64_t> numbers(std::min(kSample, all.size()));
  const RandomKey key = RandomKey(1).with("leads_back");
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = all.size() <= kSample ? i : key.below(all.size(), i);
  std::ranges::sort(numbers);
  std::vector<std::uint64_t> sources(numbers.size()), targets(numbers.size());
  std::vector<std::uint8_t> found(numbers.size());
  all.find(numbers, {sources, targets, {}, {}}).or_throw();
  NodePairs back;  // as they would stand in the other
  back.reserve(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) back.emplace_back(targets[i], sources[i]);
  std::ranges::sort(back);
  for (std::size_t i = 0; i < numbers.size(); ++i) std::tie(sources[i], targets[i]) = back[i];
  EdgeLookup lookup;
  lookup.find(*data.graph().relations.at(other), sources, targets, found, data.ledger()).or_throw();
  if (const HeldOutEdges* const held = data.held_out(other)) {
    mark_held_out(held->valid, back, found);
    mark_held_out(held->test, back, found);
  }
  return std::ranges::count(found, 1) == std::ssize(found);
}

}  // namespace

std::optional<std::size_t> unnamed_reverse(const GraphData& data,
                                           std::size_t relation,
                                           std::optional<std::size_t> reverse) {
  const auto& relations = data.schema().relations;
  const RelationSchema& asked = relations.at(relation);
  for (std::size_t other = 0; other < relations.size(); ++other) {
    const RelationSchema& that = relations[other];
    if (other == relation || other == reverse) continue;
    if (that.source != asked.target || that.target != asked.source || !like_in_number(asked, that))
      continue;
    const bool fewer = edges_of(that) < edges_of(asked);
    if (fewer ? leads_back(data, other, relation) : leads_back(data, relation, other)) return other;
  }
  return std::nullopt;
}

}  // namespace sluice
