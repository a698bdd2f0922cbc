#include "budget/memory_table.h"

#include <fmt/format.h>
#include <sluice/units.h>

#include <algorithm>
#include <utility>

namespace sluice {

std::uint64_t MemoryTable::bytes(const MemoryPhase& phase) const {
  std::uint64_t sum = 0;
  for (const MemoryLine& line : lines) sum += phase.takes(line.use) ? line.bytes : 0;
  return sum;
}

void MemoryTable::add(MemoryLine line) {
  if (line.bytes != 0) lines.push_back(std::move(line));
}

void MemoryTable::need(std::uint64_t bytes) {
  least = (bytes + kMiB - 1) / kMiB * kMiB;
}

std::string MemoryTable::table() const {
  std::size_t width = 5;
  for (const MemoryLine& line : lines) width = std::max(width, line.name.size());
  const auto row = [&](std::string_view name, const auto& cell_of) {
    std::string text = fmt::format("  {:<{}}", name, width);
    for (const MemoryPhase& phase : phases) text += fmt::format("  {:>12}", cell_of(phase));
    return text;
  };
  std::string text;
  if (phases.size() > 1) text = row("", [](const MemoryPhase& phase) { return phase.name; }) + "\n";
  for (const MemoryLine& line : lines) {
    text += row(line.name, [&](const MemoryPhase& phase) {
      return phase.takes(line.use) ? format_bytes(line.bytes) : "-";
    });
    text += fmt::format("  {}\n", line.note);
  }
  text += row("total", [&](const MemoryPhase& phase) { return format_bytes(bytes(phase)); });
  return text + fmt::format("  of {}", format_bytes(budget));
}

}  // namespace sluice
