// Which of a node's in-edges are sampled: uniformly, without replacement, by Floyd's algorithm.
//
// Floyd (Bentley and Floyd, "A sample of brilliance", CACM 1987) takes one draw an edge whatever
// the degree: for j from degree - k to degree - 1 it takes a number below j + 1, or j itself when
// that number is taken already.
#pragma once

#include "samplers/node_table.h"

#include <sluice/error.h>
#include <sluice/random.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

class PositionChooser {
 public:
  /// Up to here the chosen are kept sorted as they come; above, a hash table finds the repeated
  /// ones.
  static constexpr std::size_t kFew = 48;

  /// Prepares for samples of at most `count` positions out of more. Errors: kResource.
  Result<void> reserve(std::size_t count, MemoryLedger* ledger);

  /// Fills `out` with distinct numbers of [begin, begin + degree), ascending; all when out.size()
  /// == degree. A pure function of the arguments. @pre out.size() <= degree; reserve() for it where
  /// it is less
  void choose(std::uint64_t begin,
              std::uint64_t degree,
              RandomKey key,
              std::span<std::uint64_t> out);

  /// The two ways, which give the same numbers below degree. @pre out.size() < degree
  static void choose_few(std::uint64_t degree, RandomKey key, std::span<std::uint64_t> out);
  void choose_many(std::uint64_t degree, RandomKey key, std::span<std::uint64_t> out);

 private:
  NodeTable taken_;
};

}  // namespace sluice
