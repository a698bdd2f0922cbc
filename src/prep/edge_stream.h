// EdgeStream: edges on their way into a dataset, a chunk at a time, already under dense node ids.
//
// Importers and generators produce one; build_csc consumes it. Chunks come in input order: an
// edge's position in the stream is its edge id. Single-threaded; next() may work in parallel
// inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

struct EdgeChunk {
  std::vector<std::uint64_t> source;  ///< dense ids of the source type
  std::vector<std::uint64_t> target;  ///< dense ids of the target type, same length

  std::size_t size() const noexcept { return source.size(); }
  void clear() {
    source.clear();
    target.clear();
  }
};

class EdgeStream {
 public:
  virtual ~EdgeStream() = default;

  /// Replaces `chunk` by the next edges (a few million at most); false when there are no more.
  /// Throws Error.
  virtual bool next(EdgeChunk& chunk) = 0;
};

}  // namespace sluice
