// NodeIndex: the rows of nodes that are listed, without listing more. A NodeTable gives rows to
// whatever it is asked for; this says which nodes have one.
//
// An IdTable over a list of ids, rebuilt for each batch in memory that is kept: where the NodeTable
// has a slot for each node, it is much smaller, and most look-ups are of nodes that are not listed.
// Not thread-safe to build, thread-safe to ask.
#pragma once

#include "samplers/charged_id_table.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

class NodeIndex {
 public:
  /// Row i is ids[i], which must stay there. Errors: kResource. @pre ids are distinct, at most
  /// NodeTable::kMaxRows
  Result<void> build(std::span<const std::uint64_t> ids, MemoryLedger* ledger) {
    ids_ = ids;
    return hashed_.build(ids.size(), ids.size(), ledger, [ids](std::size_t row) {
      return IdTable::hash_of(ids[row]);
    });
  }

  /// The node's row, or -1.
  std::int32_t find(std::uint64_t id) const {
    return static_cast<std::int32_t>(hashed_.find(
        IdTable::hash_of(id), [this, id](std::size_t row) { return ids_[row] == id; }));
  }

  std::uint64_t workspace_bytes() const { return workspace_of(hashed_); }
  /// Starts loading the slot that find(id) will look at.
  void prefetch(std::uint64_t id) const { hashed_.prefetch(IdTable::hash_of(id)); }

 private:
  ChargedIdTable hashed_;
  std::span<const std::uint64_t> ids_;
};

}  // namespace sluice
