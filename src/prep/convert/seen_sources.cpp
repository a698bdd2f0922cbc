#include "prep/convert/seen_sources.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kMinPlaces = 1 << 10;

std::uint64_t pieces(std::uint64_t all, std::uint64_t each) {
  return std::max<std::uint64_t>(1, (all + each - 1) / each);
}

// Spreads ids over the whole word (the finaliser of MurmurHash3).
std::uint64_t mix(std::uint64_t id) {
  id ^= id >> 33;
  id *= 0xff51afd7ed558ccdULL;
  id ^= id >> 33;
  id *= 0xc4ceb9fe1a85ec53ULL;
  return id ^ (id >> 33);
}

}  // namespace

SeenSources::SeenSources(std::uint64_t num_sources,
                         std::uint64_t edges,
                         std::uint64_t memory_bytes,
                         MemoryLedger* ledger)
    : ledger_(ledger) {
  // A table is at most 3/4 full.
  const std::uint64_t places =
      std::max(kMinPlaces, std::bit_floor(memory_bytes / sizeof(std::uint64_t)));
  const std::uint64_t by_bits = pieces(num_sources, std::max<std::uint64_t>(64, memory_bytes * 8));
  // Half of the places: slices by hash are not all of one size.
  const std::uint64_t by_table = pieces(edges, places / 2);
  slices_ = std::min(by_bits, by_table);
  std::uint64_t bytes = 0;
  if (by_bits <= by_table) {
    sources_a_slice_ = pieces(num_sources, slices_);
    bytes = sources_a_slice_ / 8 + 8;
  } else {
    bytes =
        std::min(places, std::bit_ceil(std::max(kMinPlaces, 2 * edges))) * sizeof(std::uint64_t);
  }
  if (ledger != nullptr) charge_ = ledger->charge("edges", bytes).or_throw();
  if (sources_a_slice_ != 0) {
    bits_.resize(sources_a_slice_);
  } else {
    table_.resize(bytes / sizeof(std::uint64_t));
  }
}

void SeenSources::begin(std::uint64_t slice) {
  slice_ = slice;
  used_ = 0;
  std::fill(bits_.begin(), bits_.end(), false);
  std::fill(table_.begin(), table_.end(), 0);
}

bool SeenSources::first_time(std::uint64_t source) {
  if (sources_a_slice_ != 0) {
    if (source / sources_a_slice_ != slice_) return true;
    const bool seen = bits_[source % sources_a_slice_];
    bits_[source % sources_a_slice_] = true;
    return !seen;
  }
  // The table's places come from the low bits.
  if ((mix(source) >> 32) % slices_ != slice_) return true;
  if (used_ >= table_.size() / 4 * 3) grow();
  const bool fresh = insert(source);
  used_ += fresh ? 1 : 0;
  return fresh;
}

bool SeenSources::insert(std::uint64_t source) {
  const std::uint64_t mask = table_.size() - 1;
  for (std::uint64_t at = mix(source) & mask;; at = (at + 1) & mask) {
    if (table_[at] == source + 1) return false;
    if (table_[at] != 0) continue;
    table_[at] = source + 1;
    return true;
  }
}

void SeenSources::grow() {
  Charge more;
  if (ledger_ != nullptr)
    more = ledger_->charge("edges", 2 * table_.size() * sizeof(std::uint64_t)).or_throw();
  std::vector<std::uint64_t> old(2 * table_.size());
  old.swap(table_);
  for (const std::uint64_t each : old)
    if (each != 0) (void)insert(each - 1);
  charge_ = std::move(more);
}

}  // namespace sluice
