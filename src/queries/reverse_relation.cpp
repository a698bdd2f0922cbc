#include "queries/reverse_relation.h"

#include "samplers/edge_lookup.h"

#include <sluice/random.h>
#include <sluice/sampler.h>
#include <sluice/samplers/links.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sluice {
namespace {

// Whether all of some edges of a relation have one that leads back in another.
bool leads_back(const GraphData& data, std::size_t relation, std::size_t other) {
  constexpr std::uint64_t kSample = 64;
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
  EdgeLookup lookup;
  lookup.find(*data.graph().relations.at(other), targets, sources, found, data.ledger()).or_throw();
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
    const bool may_be =
        that.source == asked.target && that.target == asked.source && that.edges == asked.edges;
    if (may_be && leads_back(data, relation, other)) return other;
  }
  return std::nullopt;
}

}  // namespace sluice
