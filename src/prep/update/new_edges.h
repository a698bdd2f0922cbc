// NewEdges: which of the edges that are to be appended are new, where a relation has each pair of
// nodes once. All are added first, then compared with those that are there. 24 bytes an edge and
// up to half as many again, charged as "new edges". Single-threaded. Private to append.
#pragma once

#include "prep/dataset_edges.h"  // IWYU pragma: keep
#include "prep/import/id_map.h"
#include "prep/import/import_context.h"

#include <sluice/error.h>

#include <compare>  // IWYU pragma: keep
#include <cstdint>

namespace sluice {

class NewEdges {
 public:
  explicit NewEdges(MemoryLedger& ledger)
      : edges_(ledger, "new edges"), first_(ledger, "new edges"), there_(ledger, "new edges") {}

  void add(std::uint64_t source, std::uint64_t target) {
    edges_.push_back({target, source, edges_.size()});
  }
  /// Once, after all were added. @param there the edges of the relation
  void compare(EdgeStream& there);
  /// Whether the next one, in the order in which they were added, is neither there nor a repeated
  /// one. Throws kData for one more than were added: the files grew meanwhile.
  bool next_is_new() {
    const std::uint64_t place = next_++;
    if (place >= edges_.size())
      throw Error(ErrorCode::kData,
                  "the files of edges have grown since they were first read",
                  "append them when nothing writes to them any more");
    return first_.get(place) && !there_.get(place);
  }

 private:
  struct Edge {
    std::uint64_t target, source, place;
    auto operator<=>(const Edge&) const = default;
  };

  GrowingArray<Edge> edges_;
  NodeBits first_, there_;  // by place
  std::uint64_t next_ = 0;
};

}  // namespace sluice
