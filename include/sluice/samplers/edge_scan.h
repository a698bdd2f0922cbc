// EdgeScan: goes through the in-edges of nodes in one relation, all of them or so many drawn of
// each, a piece at a time.
//
// Memory is bounded by a piece, whatever the degrees: a hub taken whole is cut. A topology on disk
// is asked for a large piece at once, so that it can sort and merge its reads. Used by samplers
// that look at more edges than they keep. Not thread-safe.
#pragma once

#include <sluice/error.h>
#include <sluice/random.h>
#include <sluice/samplers/charged_buffer.h>
#include <sluice/samplers/choose_positions.h>
#include <sluice/topology.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

class EdgeScan {
 public:
  static constexpr std::size_t kResidentPiece = 2048;  ///< stays in the first-level caches
  static constexpr std::size_t kPagedPiece = std::size_t{1} << 19;

  struct Request {
    Topology* topology = nullptr;
    std::span<const std::uint64_t> targets;  ///< nodes, repeats allowed; must stay
    std::int64_t fanout = -1;                ///< uniform without replacement; -1: all
    RandomKey key{0};                        ///< of the draws; folded with each target's id
  };

  /// Edges of a piece, by target in the order of the request, then by position.
  struct Piece {
    std::span<const std::uint32_t> targets;    ///< index into Request::targets
    std::span<const std::uint64_t> positions;  ///< in the relation's edge arrays
    std::span<const std::uint64_t> sources;
    bool empty() const { return positions.empty(); }
  };

  /// `ledger` must be the same at each call, or this a new object. Errors: kResource, and what the
  /// topology fails with. @pre at most 2^32 targets
  Result<void> begin(const Request& request, MemoryLedger* ledger);

  /// The next piece, valid until the next call; empty: there are no more.
  Result<Piece> next();

  /// Where the in-edges of target i are. @pre begin()
  const EdgeRange& range(std::size_t i) const { return ranges_.data()[i]; }
  std::uint64_t workspace_bytes() const {
    return workspace_of(chooser_, ranges_, targets_, positions_, sources_);
  }

 private:
  bool drawn(std::size_t target) const;
  std::size_t piece_size() const;
  std::size_t fill(std::size_t most);

  PositionChooser chooser_;
  ChargedBuffer<EdgeRange> ranges_;
  ChargedBuffer<std::uint32_t> targets_;
  ChargedBuffer<std::uint64_t> positions_;
  ChargedBuffer<std::uint64_t> sources_;

  Request request_;
  std::uint64_t num_edges_ = 0;  // of all pieces
  std::size_t target_ = 0;       // the next edge's
  std::uint64_t taken_ = 0;      // edges of it that are behind
  MemoryLedger* ledger_ = nullptr;
};

}  // namespace sluice
