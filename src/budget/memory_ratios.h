// The shares and margins that a run's memory is split by, each with its reason. They stand here
// alone; memory_phases.h, memory_plan.cpp and measured_needs.cpp use them.
#pragma once

#include <sluice/units.h>

#include <cstdint>

namespace sluice::memory_ratios {

/// Features, and edges, are kept in memory where either takes at most half of the budget: the rest
/// of the run has to fit beside them.
inline constexpr std::uint64_t kInMemoryShare = 2;
/// Where the run does not fit beside so many relations' edges: fewer, in such a share.
inline constexpr std::uint64_t kFewInMemoryShare = 4;

/// Later mini-batches may be larger than the largest of the few that were measured.
inline constexpr std::uint64_t kMarginPercent = 25;
/// Where every byte counts the margin is how much mini-batches differ: the range of sixteen is
/// three to four deviations. It is this at least.
inline constexpr std::uint64_t kLeastMarginPercent = 3;
/// Mini-batches that are measured: few, as it is waited for; sixteen show how much they differ.
inline constexpr std::uint64_t kProbed = 4;
inline constexpr std::uint64_t kProbedForSpread = 16;
/// Blocks of memory come in sizes an eighth apart (MemoryLedger::block_bytes), and a mini-batch
/// hardly larger than those measured may need the next one. The usual margin is more than that.
inline constexpr std::uint64_t kBlockSizePercent = 13;

/// Where there is room mini-batches wait for the consumer, which evens out steps of different
/// length: so many at the most, of the room that windows leave a sixth.
inline constexpr std::uint64_t kMostWaiting = 4;
inline constexpr std::uint64_t kWaitingShare = 6;

/// Of what windows of features leave, rows that are learned and lie on disk get half: a row that
/// stays is neither read nor written. Where all caches share by what a row saves they get what that
/// says of all but the share of windows without features.
inline constexpr std::uint64_t kLearnedShare = 2;
/// Without features windows hold the sampled mini-batches alone: beyond their half of little they
/// keep a smaller share.
inline constexpr std::uint64_t kWindowsWithoutFeatures = 8;
inline constexpr std::uint64_t kLittleWithoutFeatures = 8 * kMiB;
/// Mini-batches ahead are few bytes where they take such a share of what learned rows get.
inline constexpr std::uint64_t kSmallAhead = 16;

/// Pages of edges on disk that stay in memory: more of them help less than rows of features do.
inline constexpr std::uint64_t kTopologyCacheShare = 16;
inline constexpr std::uint64_t kLeastTopologyCache = 256 * kKiB;
/// Where sampling and steps take turns large reads are little help, and kept pages of edges less:
/// both get what a budget of such a share would give them.
inline constexpr std::uint64_t kReadShareInTurns = 4;
inline constexpr std::uint64_t kTopologyCacheShareInTurns = 16;

/// File buffers, predictions, and what is small.
inline constexpr std::uint64_t kOtherBytes = 2 * kMiB;

constexpr std::uint64_t raised(std::uint64_t bytes, std::uint64_t percent = kMarginPercent) {
  return bytes + bytes * percent / 100;
}

}  // namespace sluice::memory_ratios
