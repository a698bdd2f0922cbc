#include "samplers/snapshot/hot_set.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

std::uint64_t words_of(std::uint64_t num_nodes) {
  return num_nodes / 64 + 1;
}

}  // namespace

std::uint64_t HotSet::bytes_of(std::uint64_t num_nodes) {
  const std::uint64_t words = words_of(num_nodes);
  return words * sizeof(std::uint64_t) + (words / kWordsARank + 1) * sizeof(std::uint32_t);
}

Result<void> HotSet::allocate(std::uint64_t num_nodes, MemoryLedger* ledger) {
  const auto words = static_cast<std::int64_t>(words_of(num_nodes));
  const auto blocks = words / static_cast<std::int64_t>(kWordsARank) + 1;
  auto bits = Array::make(DType::kU64, {words}, ledger, "snapshot");
  if (!bits) return std::move(bits).error();
  auto ranks = Array::make(DType::kU32, {blocks}, ledger, "snapshot");
  if (!ranks) return std::move(ranks).error();
  bits_ = std::move(bits).value();
  ranks_ = std::move(ranks).value();
  words_ = bits_.as<std::uint64_t>().data();
  rank_data_ = ranks_.as<std::uint32_t>().data();
  num_nodes_ = num_nodes;
  std::ranges::fill(bits_.as<std::uint64_t>(), 0);
  return {};
}

void HotSet::count_ranks() {
  const auto words = bits_.as<std::uint64_t>();
  const auto ranks = ranks_.as<std::uint32_t>();
  std::uint32_t sum = 0;
  for (std::size_t w = 0; w < words.size(); ++w) {
    if (w % kWordsARank == 0) ranks[w / kWordsARank] = sum;
    sum += static_cast<std::uint32_t>(std::popcount(words[w]));
  }
  // One beyond the last, where the words end with a block: so that node() need not ask.
  if (words.size() % kWordsARank == 0) ranks.back() = sum;
  size_ = sum;
}

Result<HotSet> HotSet::make(std::uint64_t num_nodes,
                            std::span<const std::uint64_t> nodes,
                            MemoryLedger* ledger) {
  HotSet set;
  if (auto made = set.allocate(num_nodes, ledger); !made) return std::move(made).error();
  const auto words = set.bits_.as<std::uint64_t>();
  for (const std::uint64_t node : nodes) words[node / 64] |= std::uint64_t{1} << node % 64;
  set.count_ranks();
  return set;
}

Result<HotSet> HotSet::grown(std::uint64_t num_nodes, MemoryLedger* ledger) const {
  HotSet set;
  if (auto made = set.allocate(num_nodes, ledger); !made) return std::move(made).error();
  std::ranges::copy(bits_.as<std::uint64_t>(), set.bits_.as<std::uint64_t>().begin());
  set.count_ranks();
  return set;
}

std::uint64_t HotSet::node(std::uint32_t number) const {
  const auto ranks = ranks_.as<std::uint32_t>();
  const auto words = bits_.as<std::uint64_t>();
  const auto after = std::upper_bound(ranks.begin(), ranks.end(), number);
  const auto block = static_cast<std::size_t>(after - ranks.begin()) - 1;
  std::uint32_t left = number - ranks[block];
  std::size_t word = block * kWordsARank;
  for (;; ++word) {
    const auto here = static_cast<std::uint32_t>(std::popcount(words[word]));
    if (left < here) break;
    left -= here;
  }
  std::uint64_t bits = words[word];
  for (; left != 0; --left) bits &= bits - 1;
  return 64 * word + static_cast<std::uint64_t>(std::countr_zero(bits));
}

}  // namespace sluice
