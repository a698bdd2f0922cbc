#include "storage/feature/slot_index.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

#include <cstdint>
#include <iterator>
#include <unordered_map>
#include <vector>

using namespace sluice;

namespace {

// An index and what it should hold, by the obvious means.
struct Pair {
  explicit Pair(std::uint32_t slots, unsigned least_bits = 0)
      : index(slots, least_bits), ids(slots), taken(slots, false) {}

  auto id_of() const {
    // Only slots that are in the index may be asked for.
    return [this](std::uint32_t slot) {
      REQUIRE(taken.at(slot));
      return ids[slot];
    };
  }

  void insert(std::uint64_t id, std::uint32_t slot) {
    ids[slot] = id;
    taken[slot] = true;
    wanted[id] = slot;
    index.insert(id, slot);
  }
  void erase(std::uint32_t slot) {
    index.erase(slot, id_of());
    wanted.erase(ids[slot]);
    taken[slot] = false;
  }
  void check(std::uint64_t id) const {
    const auto found = wanted.find(id);
    REQUIRE(index.find(id, id_of()) ==
            (found == wanted.end() ? SlotIndex::kNoSlot : found->second));
    const std::uint32_t guess = index.guess(id);
    REQUIRE((guess == SlotIndex::kNoSlot || guess < ids.size()));
  }
  SlotIndex index;
  std::vector<std::uint64_t> ids;
  std::vector<bool> taken;
  std::unordered_map<std::uint64_t, std::uint32_t> wanted;
};

// Ids whose hashes have the same highest bits: all of them have one home in a small index.
std::vector<std::uint64_t> crowded_ids(std::size_t count) {
  constexpr std::uint64_t kInverse = 0xf1de83e19937733dull;  // of the hash's factor, modulo 2^64
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < count; ++i)
    ids.push_back(((std::uint64_t{0x5a} << 56) + i) * kInverse);
  return ids;
}

}  // namespace

TEST_CASE("an index of slots finds what a map does while ids come and go") {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const RandomKey key(seed);
    const auto slots = static_cast<std::uint32_t>(1 + key.below(seed % 3 == 0 ? 4 : 700, 0));
    const std::uint64_t range = 1 + key.below(std::uint64_t{4} * slots, 1);
    // As of small indexes, and of those so large that other bits have less and less room.
    constexpr unsigned kBits[] = {0, 27, 28, 30, 31, 32};
    Pair pair(slots, kBits[seed % std::size(kBits)]);
    for (std::uint64_t step = 0; step < 4000; ++step) {
      const auto slot = static_cast<std::uint32_t>(key.below(slots, 10 + 3 * step));
      const std::uint64_t id = key.below(range, 11 + 3 * step);
      if (pair.taken[slot]) {
        pair.erase(slot);
      } else if (pair.wanted.count(id) == 0) {
        pair.insert(id, slot);
      }
      pair.check(id);
      pair.check(key.below(range, 12 + 3 * step));
    }
    for (std::uint64_t id = 0; id < range; ++id) pair.check(id);
    pair.index.clear();
    pair.wanted.clear();
    for (std::uint64_t id = 0; id < range; ++id) pair.check(id);
  }
}

TEST_CASE("ids that all want one place are found, farther from it than an entry can say") {
  const std::vector<std::uint64_t> ids = crowded_ids(300);
  for (const unsigned least_bits : {0u, 26u, 29u, 31u, 32u}) {
    CAPTURE(least_bits);
    Pair pair(300, least_bits);
    for (std::uint32_t slot = 0; slot < ids.size(); ++slot) pair.insert(ids[slot], slot);
    for (const std::uint64_t id : ids) pair.check(id);
    const RandomKey key(7);
    for (std::uint64_t step = 0; step < 600; ++step) {
      const auto slot = static_cast<std::uint32_t>(key.below(ids.size(), step));
      pair.taken[slot] ? pair.erase(slot) : pair.insert(ids[slot], slot);
      pair.check(ids[slot]);
      pair.check(ids[key.below(ids.size(), 1000 + step)]);
    }
    for (const std::uint64_t id : ids) pair.check(id);
  }
}
