// MemoryTable: what a budget goes to, line by line and phase by phase, and how that is printed.
#pragma once

#include "budget/memory_phases.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

struct MemoryLine {
  std::string name;
  std::uint64_t bytes = 0;
  std::string note;
  MemoryUse use = MemoryUse::kAlways;
};

struct MemoryTable {
  std::uint64_t budget = 0;
  std::uint64_t least = 0;  ///< the smallest budget that works, whole MiB
  std::vector<MemoryPhase> phases = std::vector<MemoryPhase>(1);
  std::vector<MemoryLine> lines;

  bool fits() const { return least <= budget; }
  /// Of all lines that are there in a phase.
  std::uint64_t bytes(const MemoryPhase& phase) const;
  /// Nothing where there are no bytes.
  void add(MemoryLine line);
  void need(std::uint64_t bytes);  ///< sets `least`
  /// Aligned text: a line each, a column a phase, and their sums.
  std::string table() const;
};

}  // namespace sluice
