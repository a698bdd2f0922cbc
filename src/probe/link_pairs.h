// Pairs of nodes for the evaluation of links: the held-out ones of a dataset's split, and those
// that are trained on. No held-out pair may be an edge of the graph that rows were learned from.
#pragma once

#include "probe/plain_graph.h"
#include "probe/probe.h"

#include <sluice/dataset.h>
#include <sluice/random.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::probe {

struct HeldOutPairs {
  std::string split;
  LinkPairs valid, test;
};

/// Pairs of a split of edges that stand apart from the relations' (`sluice-prep hold-out` makes
/// one), both ends of the type. Where it lists no examples of none for a part, as many are drawn by
/// the key. Throws kUsage where there is no such split, or where it holds edges of the graph
/// itself; kData where a pair that is held out is an edge of the graph, in either direction.
/// @param split empty: the only one of that kind
HeldOutPairs read_held_out(const Dataset& dataset,
                           std::string_view node_type,
                           const std::string& split,
                           const PlainGraph& graph,
                           RandomKey key);

/// The graph's pairs, and as many that are none, drawn by the key; of more than `most` pairs about
/// so many, drawn pair by pair.
LinkPairs training_pairs(const PlainGraph& graph, std::uint64_t most, RandomKey key);

/// `count` distinct pairs of different nodes that the graph does not link and `except` (i64 [m, 2])
/// does not name, either way round; uniform. i64 [count, 2], the lower number first. Throws kData
/// where there are not as many.
torch::Tensor draw_unlinked(const PlainGraph& graph,
                            const torch::Tensor& except,
                            std::uint64_t count,
                            RandomKey key);

}  // namespace sluice::probe
