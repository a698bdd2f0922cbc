// TimedEdges: a table of new edges under dense ids, with their times where they have some, in the
// order of the file. Private to append.
#pragma once

#include "prep/import/edge_table.h"
#include "prep/import/import_context.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice {

class TimedEdges {
 public:
  /// Opens spec.file. All must outlive this. @pre the types' nodes are counted
  TimedEdges(ImportContext& context, const EdgeSpec& spec);

  struct Chunk {
    std::span<const std::uint64_t> sources, targets;
    std::span<const std::int64_t> times;  ///< empty: spec names no column
  };
  /// The next edges, valid until the next call. Throws Error, kData for an id that is not there.
  std::optional<Chunk> next();

  /// What was rounded or taken for granted of the times.
  std::vector<std::string> remarks() const { return table_.remarks(); }

 private:
  const NodeIds& sources_;
  const NodeIds& targets_;
  EdgeTable table_;
  ThreadArena& arena_;
  EdgeTable::Rows rows_;
  std::vector<std::uint64_t> source_nodes_, target_nodes_;
};

}  // namespace sluice
