// AliasTable: draws an index in proportion to fixed weights, in constant time (Walker 1977; built
// as Vose 1991).
//
// 8 bytes an index, charged to the ledger; the weights are not kept. Probabilities are exact to
// 2^-32 of a column. Read-only and thread-safe once made.
#pragma once

#include <sluice/array.h>
#include <sluice/error.h>
#include <sluice/random.h>

#include <cstdint>
#include <span>

namespace sluice {

class AliasTable {
 public:
  /// Of no weights at all.
  AliasTable() = default;

  /// @param weights 0 or more each; scratch: they are overwritten. `name` is what the table is
  /// charged as. Errors: kResource (ledger, or 2^32 weights and more).
  static Result<AliasTable> make(std::span<double> weights,
                                 MemoryLedger* ledger,
                                 std::string_view name);

  /// Whether there is nothing to draw: no weight is above 0.
  bool empty() const { return entries_.empty(); }
  std::uint64_t size() const { return static_cast<std::uint64_t>(entries_.numel()) / 2; }

  /// An index; takes the draws 2 * number and 2 * number + 1 of the key. @pre !empty()
  std::uint64_t draw(RandomKey key, std::uint64_t number) const {
    const std::uint32_t* const entries = static_cast<const std::uint32_t*>(entries_.data());
    const std::uint64_t column = key.below(size(), 2 * number);
    const auto coin = static_cast<std::uint32_t>(key.draw(2 * number + 1) >> 32);
    return coin < entries[2 * column] ? column : entries[2 * column + 1];
  }

 private:
  // u32 [size, 2]: below which coin a column is itself, and what it is otherwise.
  Array entries_;
};

}  // namespace sluice
