// The sets of partitions that a bucket order goes through, one after the other.
#pragma once

#include <sluice/random.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace sluice {

/// Partitions that are resident together, in no order.
using ResidentSet = std::vector<std::uint32_t>;

/// 0 to count - 1 in an order of the key's.
std::vector<std::uint32_t> shuffled_partitions(std::uint32_t count, RandomKey key);

/// BETA (MariusGNN): in rounds, each partition that is not yet finished goes through the last slot;
/// then those in the other slots, which have met all, give way one by one.
/// @param key nothing: partitions in their own order. @pre 2 <= slots <= partitions
std::vector<ResidentSet> beta_sets(std::uint32_t partitions,
                                   std::uint32_t slots,
                                   std::optional<RandomKey> key);

/// Legend's rule for any number of slots: all but two slots hold their partitions until these have
/// met all others; the two rotate, the older going first, and the next is the one that covers most
/// open pairs with those that stay. @pre 3 <= slots < partitions
std::vector<ResidentSet> legend_sets(std::uint32_t partitions, std::uint32_t slots, RandomKey key);

}  // namespace sluice
