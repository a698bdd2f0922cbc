// HotSet: which nodes have a record, and its number: a bit a node, and ranks over 512 bits.
//
// Numbers go by node id. Read-only once made; thread-safe.
#pragma once

#include <sluice/array.h>
#include <sluice/error.h>
#include <sluice/memory.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

class HotSet {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// Numbers have 32 bits.
  static constexpr std::uint64_t kMaxSize = kNone;

  HotSet() = default;  ///< no nodes

  /// @param nodes ascending, distinct, each < num_nodes. Charged as "snapshot". Errors: kResource.
  static Result<HotSet> make(std::uint64_t num_nodes,
                             std::span<const std::uint64_t> nodes,
                             MemoryLedger* ledger);
  /// The same nodes of a type that has grown. @pre num_nodes is not less than before
  Result<HotSet> grown(std::uint64_t num_nodes, MemoryLedger* ledger) const;

  /// What it takes.
  static std::uint64_t bytes_of(std::uint64_t num_nodes);

  std::size_t size() const noexcept { return size_; }
  std::uint64_t num_nodes() const noexcept { return num_nodes_; }
  std::uint64_t bytes() const noexcept { return bits_.bytes() + ranks_.bytes(); }

  /// The node's number, or kNone. @pre node < num_nodes()
  std::uint32_t find(std::uint64_t node) const {
    const std::uint64_t* words = words_;
    const std::uint64_t word = node / 64;
    const std::uint64_t bit = std::uint64_t{1} << node % 64;
    if ((words[word] & bit) == 0) return kNone;
    auto number = rank_data_[word / kWordsARank];
    for (std::uint64_t w = word / kWordsARank * kWordsARank; w < word; ++w)
      number += static_cast<std::uint32_t>(std::popcount(words[w]));
    return number + static_cast<std::uint32_t>(std::popcount(words[word] & (bit - 1)));
  }
  void prefetch(std::uint64_t node) const { __builtin_prefetch(words_ + node / 64); }

  /// The node of a number. @pre number < size()
  std::uint64_t node(std::uint32_t number) const;

 private:
  static constexpr std::uint64_t kWordsARank = 8;

  Result<void> allocate(std::uint64_t num_nodes, MemoryLedger* ledger);
  void count_ranks();

  Array bits_;   // u64 [num_nodes / 64, up]
  Array ranks_;  // u32: hot nodes before each eight words
  const std::uint64_t* words_ = nullptr;
  const std::uint32_t* rank_data_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t num_nodes_ = 0;
};

}  // namespace sluice
