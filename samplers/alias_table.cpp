#include <sluice/samplers/alias_table.h>

#include <sluice/units.h>

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint32_t kAlways = std::numeric_limits<std::uint32_t>::max();

std::uint32_t threshold(double probability) {
  const double scaled = probability * 0x1.0p32;
  return scaled >= static_cast<double>(kAlways) ? kAlways : static_cast<std::uint32_t>(scaled);
}

// Fills columns with what is left of light weights, topped up by heavy ones. `weights` are scaled
// to a mean of 1. `waiting` holds the light ones from the front, the heavy ones from the back.
void pair_up(std::span<double> weights,
             std::span<std::uint32_t> waiting,
             std::span<std::uint32_t> entries) {
  std::size_t light = 0, heavy = waiting.size();
  std::uint32_t some = 0;  // of a weight above 0
  for (std::uint32_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) some = i;
    if (weights[i] < 1) {
      waiting[light++] = i;
    } else {
      waiting[--heavy] = i;
    }
  }
  while (light != 0 && heavy != waiting.size()) {
    const std::uint32_t low = waiting[--light];
    const std::uint32_t high = waiting[heavy];
    entries[std::size_t{2} * low] = threshold(weights[low]);
    entries[std::size_t{2} * low + 1] = high;
    weights[high] -= 1 - weights[low];
    if (weights[high] >= 1) continue;
    ++heavy;
    waiting[light++] = high;
  }
  // What is left has a weight of 1, up to rounding; but 0 stays 0.
  const auto fill = [&](std::uint32_t i) {
    entries[std::size_t{2} * i] = weights[i] > 0 ? kAlways : 0;
    entries[std::size_t{2} * i + 1] = weights[i] > 0 ? i : some;
  };
  for (std::size_t i = 0; i < light; ++i) fill(waiting[i]);
  for (std::size_t i = heavy; i < waiting.size(); ++i) fill(waiting[i]);
}

}  // namespace

Result<AliasTable> AliasTable::make(std::span<double> weights,
                                    MemoryLedger* ledger,
                                    std::string_view name) {
  AliasTable table;
  double total = 0;
  for (const double weight : weights) total += weight;
  if (!(total > 0)) return table;
  if (weights.size() > kAlways) {
    return Error(ErrorCode::kResource,
                 fmt::format("{} weights are too many for an alias table; at most {} fit",
                             format_count(weights.size()),
                             format_count(kAlways)));
  }
  const auto count = static_cast<std::int64_t>(weights.size());
  auto entries = Array::make(DType::kU32, {count, 2}, ledger, name);
  if (!entries) return std::move(entries).error();
  auto waiting = Array::make(DType::kU32, {count}, ledger, name);
  if (!waiting) return std::move(waiting).error();
  for (double& weight : weights) weight *= static_cast<double>(count) / total;
  table.entries_ = std::move(entries).value();
  pair_up(weights, waiting.value().as<std::uint32_t>(), table.entries_.as<std::uint32_t>());
  return table;
}

}  // namespace sluice
