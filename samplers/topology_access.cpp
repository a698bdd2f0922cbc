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

// The same of listed targets: the directory, then the nodes that it points to, then the offsets of
// theirs. Each is a pass, whose answers stand in `out` until the next.
void locate_listed(const CscView& view,
                   std::span<const std::uint64_t> targets,
                   std::span<EdgeRange> out) {
  const ListedNodes& listed = view.listed;
  const std::uint64_t* directory = listed.directory.data();
  read_ahead(
      targets,
      out,
      [&](std::uint64_t target) { return directory + (target >> listed.shift); },
      [&](std::uint64_t target) {
        const std::uint64_t* bucket = directory + (target >> listed.shift);
        return EdgeRange{bucket[0], bucket[1]};
      });
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (i + kAhead < targets.size()) listed.prefetch_at(out[i + kAhead].begin);
    const std::size_t rank = listed.rank_among(targets[i], out[i].begin, out[i].end);
    const bool there = rank < listed.size() && listed.node(rank) == targets[i];
    out[i] = {rank, there ? rank + 1 : rank};
  }
  const std::uint64_t* offsets = view.offsets.data();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (i + kAhead < targets.size()) __builtin_prefetch(offsets + out[i + kAhead].begin);
    out[i] = {offsets[out[i].begin], offsets[out[i].end]};
  }
}

}  // namespace

Result<void> locate(Topology& topology,
                    std::span<const std::uint64_t> targets,
                    std::span<EdgeRange> out) {
  const CscView* view = topology.resident();
  if (view == nullptr) return topology.ranges(targets, out);
  if (view->listed.in_use()) {
    locate_listed(*view, targets, out);
    return {};
  }
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
