// CachePolicy: which rows give way when a window of mini-batches needs room in a cache of rows on
// disk. Torch-free.
//
// A policy sees what is known of each row that may go and names those that do; it keeps nothing of
// the rows' bytes. The same decisions follow from the same calls, so that a simulation and a run
// agree. One policy a cache; not thread-safe. A CachePolicyKind makes them: what a name in the
// registry stands for, and what GraphDataOptions::cache is.
#pragma once

#include <sluice/catalog.h>
#include <sluice/error.h>
#include <sluice/options.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

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

/// How the caches of several tables share one budget of bytes.
enum class CacheShare {
  kAsked,         ///< as many bytes as mini-batches ask of each
  kRanked,        ///< to the rows of all tables that save the most time a byte
  kProportional,  ///< by what the misses of each would cost without a cache
};

/// How often a node is a neighbour. Pure.
using HotnessOf = std::function<std::uint64_t(std::uint64_t id)>;

class CachePolicyKind {
 public:
  virtual ~CachePolicyKind() = default;

  /// Whether its policies ask how often nodes are neighbours, for which all edges are looked at.
  virtual bool needs_hotness() const = 0;
  /// Whether its policies go by next uses, so that epochs are worth sampling ahead for them.
  virtual bool wants_next_uses() const = 0;
  /// How caches share their budget. All but kAsked go by how often nodes are neighbours.
  virtual CacheShare share() const { return CacheShare::kAsked; }
  /// A policy for one cache. @param hotness may be empty unless it is needed
  virtual std::unique_ptr<CachePolicy> make(HotnessOf hotness) const = 0;
};

/// The kind of a CachePolicy class `T`: T(), or T(HotnessOf) where it needs that; it wants next
/// uses if T::kWantsNextUses is there and true, and caches share their budget by T::kShare.
template <class T>
class CachePolicyOf final : public CachePolicyKind {
 public:
  struct Options {
    void describe(Schema&) {}
  };
  CachePolicyOf() = default;
  explicit CachePolicyOf(const Options&) {}

  bool needs_hotness() const override { return std::is_constructible_v<T, HotnessOf>; }
  bool wants_next_uses() const override {
    if constexpr (requires { T::kWantsNextUses; }) return T::kWantsNextUses;
    return false;
  }
  CacheShare share() const override {
    if constexpr (requires { T::kShare; }) return T::kShare;
    return CacheShare::kAsked;
  }
  std::unique_ptr<CachePolicy> make(HotnessOf hotness) const override {
    if constexpr (std::is_constructible_v<T, HotnessOf>) {
      if (!hotness) throw Error(ErrorCode::kInternal, "a cache policy without degrees");
      return std::make_unique<T>(std::move(hotness));
    } else {
      return std::make_unique<T>();
    }
  }
};

using CachePolicyCatalog = Catalog<CachePolicyKind>;

}  // namespace sluice
