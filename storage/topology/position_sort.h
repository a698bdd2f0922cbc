// PositionSort: positions of edges in the caller's order become pieces sorted by page, in bounded
// memory.
//
// Pieces take turns through the file: each holds the positions of one stretch of it, so that a page
// lies in one piece, however many positions there are. (Only more than `most` positions within one
// four-thousandth of the file are split further.) Not thread-safe.
#pragma once

#include <sluice/array.h>
#include <sluice/error.h>
#include <sluice/memory.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// One position that somebody wants.
struct WantedPosition {
  std::uint32_t offset;  ///< from the piece's first position
  std::uint32_t index;   ///< in the caller's order
};

struct PositionPiece {
  std::uint64_t first = 0;                 ///< a multiple of the positions a page
  std::span<const WantedPosition> wanted;  ///< ascending by page; empty: there are no more pieces
};

class PositionSort {
 public:
  /// The most positions of one call of start(): an index has 32 bits.
  static constexpr std::size_t kMaxPositions = std::size_t{1} << 31;

  /// @param most positions a piece, at least 1; scratch is 16 bytes each, charged as "topology
  /// staging"
  PositionSort(std::uint64_t num_positions, std::size_t most, MemoryLedger* ledger);

  /// Begins with these positions, which must stay until the last piece. A page holds
  /// 2^page_log2 positions. Errors: kResource.
  Result<void> start(std::span<const std::uint64_t> positions, unsigned page_log2);

  /// The next piece; valid until the next call.
  PositionPiece next();

 private:
  // The stretches of the file that pieces take their positions from: [first, end).
  struct Stretch {
    std::uint64_t first;
    std::uint64_t end;
  };

  Result<void> reserve(std::size_t count);
  void plan_stretches();
  std::size_t collect(const Stretch& stretch);
  std::span<const WantedPosition> sort(std::size_t count);

  std::uint64_t num_positions_;
  std::size_t most_;
  MemoryLedger* ledger_;
  std::span<const std::uint64_t> positions_;
  unsigned page_log2_ = 0;
  std::vector<Stretch> stretches_;
  std::vector<std::uint32_t> bins_;
  std::size_t stretch_ = 0;  // the current one
  std::size_t next_ = 0;     // position to be looked at next, of the current stretch
  std::size_t capacity_ = 0;
  Array wanted_, sorted_;  // WantedPosition [capacity_], as u64
};

}  // namespace sluice
