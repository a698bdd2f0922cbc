// RecordDraws: which of a node's in-edges its record holds in a period: uniform without
// replacement, and a pure function of (key, epoch, period, node, degree, count).
//
// `refresh` draws all anew every period (Floyd, as samplers draw). `on_the_fly` gives each place of
// a record draws of its own: place j is drawn for the v-th time in the first period p where
// floor(gamma p + phase_j) = v, phases spread evenly over [0, 1), so that a share gamma of the
// places changes each period. A draw that another place holds is repeated, places drawn longest ago
// first: so each period's edges are distinct, and every set of them equally likely; in exchange a
// place now and then changes with one that it had to give way to. Not thread-safe.
#pragma once

#include <sluice/error.h>
#include <sluice/memory.h>
#include <sluice/random.h>
#include <sluice/samplers/choose_positions.h>
#include <sluice/samplers/node_table.h>
#include <sluice/snapshot.h>

#include <cstdint>
#include <span>

namespace sluice {

class RecordDraws {
 public:
  /// @param key of the run's seed and the relation
  RecordDraws(const SnapshotOptions& options, RandomKey key);

  /// Prepares for records of at most `count` edges. Charged as "sampler workspace".
  Result<void> reserve(std::size_t count, MemoryLedger* ledger);

  /// Fills `out` with distinct numbers below `degree`, by place; all, ascending, when there are as
  /// many. @pre out.size() <= degree, and reserved
  void draw(std::uint64_t epoch,
            std::uint64_t period,
            std::uint64_t node,
            std::uint64_t degree,
            std::span<std::uint64_t> out);

  /// Periods since the edges of a record of `count` were drawn, the mean and the most of them.
  struct Age {
    double mean = 0;
    std::uint64_t most = 0;
  };
  Age age(std::uint64_t period, std::size_t count) const;
  std::uint64_t workspace_bytes() const { return workspace_of(chooser_, taken_, places_); }

 private:
  // Fixed point with 32 bits behind it: the same on every machine.
  static constexpr unsigned kOneLog2 = 32;
  // A place and the period that it was last drawn in.
  struct Place {
    std::uint64_t drawn;
    std::uint32_t place;
    std::uint64_t version;
  };

  Place place_of(std::size_t place,
                 std::size_t count,
                 std::uint64_t turn,
                 std::uint64_t period) const;
  void draw_by_place(RandomKey key,
                     std::uint64_t period,
                     std::uint64_t degree,
                     std::span<std::uint64_t> out);

  SnapshotMode mode_;
  std::uint64_t gamma_;
  RandomKey key_;
  PositionChooser chooser_;
  NodeTable taken_;
  ChargedBuffer<Place> places_;
};

}  // namespace sluice
