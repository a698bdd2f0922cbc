// CachePolicy: which rows give way when a window of mini-batches needs room in a RowCache.
//
// A policy sees what is known of each row that may go and names those that do; it keeps nothing of
// the rows' bytes. The same decisions follow from the same calls, so that a simulation and a run
// agree. One policy a cache; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// A window that never comes.
inline constexpr std::uint32_t kNeverUsed = ~std::uint32_t{0};

/// What is known of a row in a cache. Windows are numbered as they come.
struct CachedRow {
  std::uint64_t id = 0;
  std::uint32_t admitted = 0;           ///< window that brought it in
  std::uint32_t last_use = 0;           ///< last window that asked for it
  std::uint32_t next_use = kNeverUsed;  ///< next window that will, as far as that is known
  std::uint32_t uses : 31 = 0;          ///< windows that asked for it since it came in
  std::uint32_t sought : 1 = 1;         ///< whether look-ups find it; else none asks for it
};

class CachePolicy {
 public:
  virtual ~CachePolicy() = default;

  /// "belady", "lru", "clock", "degree" or "none".
  virtual std::string_view name() const = 0;

  /// Moves the `count` of `candidates` (slots, each an index into `rows`) that give way to the
  /// front, in an order that depends on the arguments and earlier calls alone.
  /// @pre count <= candidates.size(), candidates ascend
  virtual void choose(std::span<const CachedRow> rows,
                      std::span<std::uint32_t> candidates,
                      std::size_t count) = 0;

  /// Whether no row whose next use is known gives way before one of which none is, so that the
  /// others need not be compared with these.
  virtual bool takes_unused_first() const { return false; }

  /// Forgets earlier calls, as the cache forgets its rows.
  virtual void reset() {}
};

/// How often a node is a neighbour, for the static policy. Pure.
using HotnessOf = std::function<std::uint64_t(std::uint64_t id)>;

/// The names that make_cache_policy knows, the default first.
std::vector<std::string> cache_policy_names();

/// - belady: the row whose next use is farthest (Belady 1966: no policy reads less). Of rows whose
///   next use is beyond what was sampled ahead, those go first that were used in the smallest share
///   of windows since they came.
/// - lru: the row not used for longest.
/// - clock: second chance, one hand.
/// - degree: the row of the node that is a neighbour least often; what a static cache of the
///   hottest nodes keeps (PaGraph, DGL, GIDS). Needs `hotness`.
/// - none: rows of a window are not kept beyond the next one.
/// Throws kUsage for an unknown name.
std::unique_ptr<CachePolicy> make_cache_policy(std::string_view name, HotnessOf hotness = {});

}  // namespace sluice
