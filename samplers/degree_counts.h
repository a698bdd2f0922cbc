// DegreeCounts: the in-degrees of a type's nodes in a batch, added up over its relations or kept
// apart, whichever is asked for. Used by the samplers as they finish a batch.
#pragma once

#include <sluice/batch.h>
#include <sluice/error.h>
#include <sluice/memory.h>
#include <sluice/sampler.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace sluice {

class DegreeCounts {
 public:
  /// Counts of 0. @param relations into the type
  static Result<DegreeCounts> make(const BlockParts& parts,
                                   std::size_t nodes,
                                   std::size_t relations,
                                   MemoryLedger* ledger) {
    DegreeCounts counts(parts, relations);
    if (parts.degrees) {
      auto made = zeros({static_cast<std::int64_t>(nodes)}, ledger);
      if (!made) return std::move(made).error();
      counts.sums_ = std::move(made).value();
    }
    if (parts.relation_degrees) {
      auto made =
          zeros({static_cast<std::int64_t>(nodes), static_cast<std::int64_t>(relations)}, ledger);
      if (!made) return std::move(made).error();
      counts.apart_ = std::move(made).value();
    }
    return counts;
  }

  /// A node's edges of a relation, the `relation`-th of those into its type.
  void add(std::size_t node, std::size_t relation, std::int64_t edges) {
    if (parts_.degrees) sums_.as<std::int64_t>()[node] += edges;
    if (parts_.relation_degrees) apart_.as<std::int64_t>()[node * relations_ + relation] += edges;
  }

  /// Hands over what was asked for.
  void put_into(BatchNodes& nodes) && {
    if (parts_.degrees) nodes.degrees = std::move(sums_);
    if (parts_.relation_degrees) nodes.relation_degrees = std::move(apart_);
  }

 private:
  DegreeCounts(const BlockParts& parts, std::size_t relations)
      : parts_(parts), relations_(relations) {}

  static Result<Array> zeros(Array::Shape shape, MemoryLedger* ledger) {
    auto made = Array::make(DType::kI64, std::move(shape), ledger, "batches");
    if (made) std::ranges::fill(made.value().as<std::int64_t>(), 0);
    return made;
  }

  BlockParts parts_;
  std::size_t relations_;
  Array sums_, apart_;
};

}  // namespace sluice
