// Links: links that are asked about, by number: all edges of a relation, or a list.
#pragma once

#include <sluice/edge_rule.h>
#include <sluice/error.h>
#include <sluice/topology.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace sluice {

class Links {
 public:
  /// Where the ends of some links go, each span as long as the numbers.
  struct Ends {
    std::span<std::uint64_t> sources, targets;
    std::span<std::uint64_t> ids = {};  ///< edge ids; none are asked for where it is empty
    std::span<std::uint8_t> truth =
        {};  ///< as LinkArrays::truth; none is asked for where it is empty
    std::span<std::int64_t> times = {};  ///< when each was; none is asked for where it is empty
  };

  virtual ~Links() = default;
  virtual std::uint64_t size() const = 0;
  /// Whether they have ids, by which labels are looked up: as edges of the graph do.
  virtual bool have_ids() const = 0;
  /// Whether some may be examples of none.
  virtual bool have_truth() const { return false; }
  /// Whether each was at a time.
  virtual bool have_times() const { return false; }
  /// Thread-safe. Errors: what a topology fails with. @pre numbers below size()
  virtual Result<void> find(std::span<const std::uint64_t> numbers, const Ends& out) const = 0;
};

/// All edges of a relation, by their positions.
class RelationLinks final : public Links {
 public:
  explicit RelationLinks(std::shared_ptr<Topology> topology) : topology_(std::move(topology)) {}
  std::uint64_t size() const override { return topology_->num_edges(); }
  bool have_ids() const override { return true; }
  Result<void> find(std::span<const std::uint64_t> numbers, const Ends& out) const override;

 private:
  Result<std::uint64_t> target_of(std::uint64_t position) const;

  std::shared_ptr<Topology> topology_;
};

/// A list in memory.
class ListedLinks final : public Links {
 public:
  explicit ListedLinks(LinkArrays links) : links_(std::move(links)) {}
  std::uint64_t size() const override { return static_cast<std::uint64_t>(links_.sources.numel()); }
  bool have_ids() const override { return !links_.ids.shape().empty(); }
  bool have_truth() const override { return !links_.truth.shape().empty(); }
  bool have_times() const override { return !links_.times.shape().empty(); }
  Result<void> find(std::span<const std::uint64_t> numbers, const Ends& out) const override;

 private:
  LinkArrays links_;
};

}  // namespace sluice
