// EdgeRule: which part of a split each edge of a relation belongs to; HeldOutEdges: those that are
// not for training. Torch-free.
//
// A model of links must not see the links that it is asked about. So mini-batches draw from the
// training edges alone (GraphDataOptions::edge_rules); the others are listed beside.
#pragma once

#include <sluice/array.h>
#include <sluice/error.h>

#include <cstdint>
#include <string>

namespace sluice {

/// kNone, of edges alone: neither learned from, asked about nor seen.
enum class Part { kTrain, kValid, kTest, kAll, kNone };

std::string to_string(Part part);

struct HeldOutEdges;

/// Edges beside another one: of the same ends, or of these either way round.
enum class Twins { kStay, kSameEnds, kEitherWay };

class EdgeRule {
 public:
  virtual ~EdgeRule() = default;
  /// The part of an edge, anything but kAll. A function of its arguments alone; thread-safe.
  virtual Part part(std::uint64_t source, std::uint64_t target, std::uint64_t edge_id) const = 0;
  /// Whether part() looks at edge ids, which cost reads of their own where edges are on disk.
  virtual bool needs_edge_ids() const { return false; }
  /// Which training edges are in no part, since they tell of one of valid or test: for rules that
  /// part() alone does not make so.
  virtual Twins twins() const { return Twins::kStay; }
  /// Whether the relation has all edges that the rule lists. Errors: kData.
  virtual Result<void> check(const HeldOutEdges& /*found*/) const { return {}; }
};

/// Links by their ends, n of them.
struct LinkArrays {
  Array sources;  ///< u64 [n]: dense ids
  Array targets;  ///< u64 [n]
  Array ids;      ///< u64 [n]: edge ids, or LabelsOf::more's; empty: they have none
  Array truth;    ///< u8 [n]: 0 of an example that is no link; empty: all are
  Array times{};  ///< i64 [n]: of each; empty for links without
};

/// Edges of one relation that are not for training, in the order of the relation's edges.
struct HeldOutEdges {
  Array positions;  ///< u64 [n], ascending: where they stood among the relation's edges
  LinkArrays valid, test;

  /// Those of Part::kNone.
  std::int64_t in_no_part() const {
    return positions.numel() - valid.sources.numel() - test.sources.numel();
  }
};

}  // namespace sluice
