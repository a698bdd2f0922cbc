// EdgeBatches: a stream's views as the scatter likes them: small ones are collected, large ones
// pass as they are.
#pragma once

#include "prep/edge_stream.h"

#include <sluice/memory.h>

#include <cstdint>
#include <optional>

namespace sluice {

inline std::uint64_t count_of(const EdgeView& view) {
  return std::visit([](const auto& span) { return std::uint64_t{span.count}; }, view);
}

class EdgeBatches {
 public:
  /// Both must outlive this. Memory is charged to `ledger`, where there is one, as "edges".
  EdgeBatches(EdgeStream& stream, MemoryLedger* ledger);

  /// The next edges, valid until the next call.
  std::optional<EdgeView> next();

 private:
  void collect(const EdgeView& view);
  std::optional<EdgeView> collected();

  EdgeStream& stream_;
  MemoryLedger* ledger_;
  std::uint64_t large_;  // edges of a view that passes as it is
  Charge charge_;
  EdgeChunk<std::uint64_t> small_;   // what was collected
  std::vector<std::uint64_t> ids_;   // where views say them
  std::optional<EdgeView> waiting_;  // a large view behind it
  bool ended_ = false;
};

}  // namespace sluice
