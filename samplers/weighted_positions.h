// Which of a node's in-edges are sampled when edges have weights.
//
// Without replacement by the exponential race of Efraimidis and Spirakis ("Weighted random sampling
// with a reservoir", IPL 2006): each edge waits for a time of its own, exponential at the rate of
// its weight, and the k first are taken: as k draws one after the other, each in proportion to the
// weights that are left. With replacement by inverting the sum of the weights. Either reads all
// weights of the node: a hub costs its degree. Nothing is prepared, so a graph needs no memory
// beyond its weights.
#pragma once

#include <sluice/error.h>
#include <sluice/random.h>
#include <sluice/samplers/charged_buffer.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

class WeightedChooser {
 public:
  /// Edges that can be drawn: those of a weight above 0.
  static std::uint64_t count(std::span<const float> weights);

  /// Prepares for samples of at most `count`. Errors: kResource.
  Result<void> reserve(std::size_t count, MemoryLedger* ledger);

  /// Fills `out` with positions begin + i, ascending; i is drawn by weights[i] (finite, not
  /// negative). A pure function of the arguments. @pre out.size() <= count(weights), or where
  /// `replace` count(weights) > 0; reserve()
  void draw(std::uint64_t begin,
            std::span<const float> weights,
            RandomKey key,
            bool replace,
            std::span<std::uint64_t> out);

  std::uint64_t workspace_bytes() const { return workspace_of(entries_); }

 private:
  // An edge and its time in the race, or a point of the sum of weights.
  struct Entry {
    double at;
    std::uint64_t position;
    bool operator<(const Entry& other) const {
      return at != other.at ? at < other.at : position < other.position;
    }
  };

  void race(std::span<const float> weights, RandomKey key, std::size_t count);
  void invert(std::span<const float> weights, RandomKey key, std::size_t count);

  ChargedBuffer<Entry> entries_;
};

}  // namespace sluice
