// Duplicate edges of a target, found in what the conversion has sorted. Private to the converter.
#pragma once

#include "prep/convert/csc_sink.h"

#include <cstdint>
#include <functional>
#include <span>

namespace sluice {

enum class Duplicates {
  kKeep,
  kDrop,  ///< of equal (source, target) pairs the first stays
  kError
};

/// Called with the first duplicate found: its source, and its target counted from the range's
/// first. Must throw.
using OnDuplicate = std::function<void(std::uint64_t source, std::uint64_t target)>;

/// Memory that finding the duplicates of a target takes, an in-edge.
inline constexpr std::uint64_t kDuplicateBytesAnEdge = 13;

/// Removes repeated sources from the in-edges of consecutive targets; what stays closes up towards
/// `first_edge` of the room, and `ends` (counted from `edges_before` plus the room's own first
/// edge) follow. Returns how many were removed. Thread-safe.
std::uint64_t drop_duplicates(std::span<std::uint64_t> ends,
                              std::uint64_t first_edge,
                              std::uint64_t edges_before,
                              const CscSink& sink,
                              const CscRoom& room,
                              const OnDuplicate& on_duplicate);

}  // namespace sluice
