// Which of a node's in-edges are sampled: uniformly, without replacement, by Floyd's algorithm.
//
// Floyd (Bentley and Floyd, "A sample of brilliance", CACM 1987) takes one draw an edge whatever
// the degree: for j from degree - k to degree - 1 it takes a number below j + 1, or j itself when
// that number is taken already.
#pragma once

#include <sluice/error.h>
#include <sluice/random.h>
#include <sluice/samplers/node_table.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

class PositionChooser {
 public:
  /// Up to here all draws are made at once, in vector registers where the CPU has AVX-512: a sample
  /// without repeats is done then. Above, and after a repeat, one by one.
  static constexpr std::size_t kLanes = 16;
  /// Up to here repeats are found by looking through the chosen; above, by a hash table.
  static constexpr std::size_t kFew = 48;

  /// Prepares for samples of at most `count` positions out of more. Errors: kResource.
  Result<void> reserve(std::size_t count, MemoryLedger* ledger);

  /// Fills `out` with distinct numbers of [begin, begin + degree), in the order they are drawn; all
  /// of them, ascending, when out.size() == degree. A pure function of the arguments, the same on
  /// every CPU. @pre out.size() <= degree; reserve() for it where it is less
  void draw(std::uint64_t begin, std::uint64_t degree, RandomKey key, std::span<std::uint64_t> out);

  /// The same numbers, ascending.
  void choose(std::uint64_t begin,
              std::uint64_t degree,
              RandomKey key,
              std::span<std::uint64_t> out);

  /// The ways of drawing, which give the same numbers of [begin, begin + degree). draw_lanes is
  /// false, and `out` unspecified, where a number came twice. @pre out.size() < degree; of
  /// draw_lanes also out.size() <= kLanes and degree < 2^31
  static bool draw_lanes(std::uint64_t begin,
                         std::uint64_t degree,
                         RandomKey key,
                         std::span<std::uint64_t> out);
  static void draw_few(std::uint64_t begin,
                       std::uint64_t degree,
                       RandomKey key,
                       std::span<std::uint64_t> out);
  void draw_many(std::uint64_t begin,
                 std::uint64_t degree,
                 RandomKey key,
                 std::span<std::uint64_t> out);

  std::uint64_t workspace_bytes() const { return workspace_of(taken_); }

 private:
  NodeTable taken_;
};

}  // namespace sluice
