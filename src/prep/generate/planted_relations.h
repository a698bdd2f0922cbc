// A heterogeneous graph whose labels show by the relation alone: items, and kinds of nodes that
// point to them by any number of relations. A neighbour's features tell its class, and an item's
// own class lies as many classes before it as its relation says. The relations of a kind are spread
// evenly over the classes, so that neighbours whose relation is not told say little or nothing.
#pragma once

#include "prep/generate/synthetic_nodes.h"

#include <sluice/options.h>
#include <sluice/random.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

struct PlantedRelationOptions {
  std::int64_t relations = 0;
  std::int64_t kinds = 2;
  std::int64_t items = 50'000;
  std::int64_t sources = 20'000;
  std::int64_t edges = 1'000'000;
  std::vector<std::int64_t> widths;
  std::vector<std::string> dtypes;
  std::int64_t skew = 1;

  void describe(Schema& schema);
};

/// The edges of one relation, each a pure function of its number; classes are numbers of nodes
/// modulo `classes`.
struct PlantedLinks {
  std::uint64_t sources, targets;
  std::uint64_t classes;  ///< at most as many as there are sources, or targets
  std::uint64_t shift;    ///< from a target's class to that of its sources
  double homophily;       ///< chance that the source is of that class; else it is any
  RandomKey key;
  std::int64_t skew = 1;  ///< how few sources have most edges, as skewed_draw.h has it

  std::pair<std::uint64_t, std::uint64_t> operator()(std::uint64_t edge) const;
  /// A source out of `members`. @param one the edge's key
  std::uint64_t drawn(std::uint64_t members, RandomKey one) const;
};

/// How far a relation shifts: the relations of a kind are those of one remainder modulo `kinds`.
std::uint64_t planted_shift(std::uint64_t relation,
                            const PlantedRelationOptions& options,
                            std::uint64_t classes);

/// Writes types "item" (labelled, with a split; its features say nothing of its class) and "kind0",
/// "kind1", ..., and relations "r0", "r1", ... to the items. Throws Error.
void write_planted_relations(DatasetWriter& writer,
                             const PlantedRelationOptions& options,
                             const SyntheticNodeOptions& node_options,
                             double homophily,
                             RandomKey key,
                             PrepContext& context);

}  // namespace sluice
