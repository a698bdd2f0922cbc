#include "samplers/topology_access.h"

#include <algorithm>
#include <cstddef>

namespace sluice {
namespace {

constexpr std::size_t kAhead = 32;  // about as many misses as a core keeps in flight, and some

/// out[i] = read(keys[i]), with address(keys[i + kAhead]) on its way.
template <class Out, class Address, class Read>
void read_ahead(std::span<const std::uint64_t> keys,
                std::span<Out> out,
                Address address,
                Read read) {
  const std::size_t steady = keys.size() - std::min(keys.size(), kAhead);
  for (std::size_t i = 0; i < keys.size() - steady; ++i) __builtin_prefetch(address(keys[i]));
  for (std::size_t i = 0; i < steady; ++i) {
    __builtin_prefetch(address(keys[i + kAhead]));
    out[i] = read(keys[i]);
  }
  for (std::size_t i = steady; i < keys.size(); ++i) out[i] = read(keys[i]);
}

template <class Id>
void gather_from(std::span<const Id> neighbours,
                 std::span<const std::uint64_t> positions,
                 std::span<std::uint64_t> out) {
  const Id* data = neighbours.data();
  read_ahead(
      positions,
      out,
      [data](std::uint64_t position) { return data + position; },
      [data](std::uint64_t position) -> std::uint64_t { return data[position]; });
}

}  // namespace

Result<void> locate(Topology& topology,
                    std::span<const std::uint64_t> targets,
                    std::span<EdgeRange> out) {
  const CscView* view = topology.resident();
  if (view == nullptr) return topology.ranges(targets, out);
  const std::uint64_t* offsets = view->offsets.data();
  read_ahead(
      targets,
      out,
      [offsets](std::uint64_t target) { return offsets + target; },
      [offsets](std::uint64_t target) {
        return EdgeRange{offsets[target], offsets[target + 1]};
      });
  return {};
}

Result<void> gather(Topology& topology,
                    std::span<const std::uint64_t> positions,
                    std::span<std::uint64_t> out) {
  const CscView* view = topology.resident();
  if (view == nullptr) return topology.neighbours(positions, out);
  if (view->neighbours32.empty()) {
    gather_from(view->neighbours64, positions, out);
  } else {
    gather_from(view->neighbours32, positions, out);
  }
  return {};
}

}  // namespace sluice
