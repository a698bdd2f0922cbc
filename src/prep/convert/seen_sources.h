// SeenSources: which sources of a hub's in-edges came before, in bounded memory: sources fall into
// slices that are gone through one after the other. Private to the converter.
#pragma once

#include <sluice/memory.h>

#include <cstdint>
#include <vector>

namespace sluice {

class SeenSources {
 public:
  /// Keeps a bit a source or a table of those that come up, whichever takes fewer slices.
  /// @param edges that will be asked for, at most
  /// @param memory_bytes for a slice, charged to `ledger`; a hash table may double it while a slice
  /// has more sources than its share
  SeenSources(std::uint64_t num_sources,
              std::uint64_t edges,
              std::uint64_t memory_bytes,
              MemoryLedger* ledger);

  std::uint64_t slices() const noexcept { return slices_; }
  /// Forgets everything; from now on only sources of `slice` are looked at.
  void begin(std::uint64_t slice);
  /// False if `source` belongs to this slice and was seen since it began.
  bool first_time(std::uint64_t source);

 private:
  bool insert(std::uint64_t source);
  void grow();

  std::uint64_t sources_a_slice_ = 0;  // 0: by hash
  std::uint64_t slices_ = 1;
  std::uint64_t slice_ = 0;
  MemoryLedger* ledger_;
  Charge charge_;
  std::vector<bool> bits_;
  std::vector<std::uint64_t> table_;  // a power of two of places: source + 1; 0 is empty
  std::uint64_t used_ = 0;
};

}  // namespace sluice
