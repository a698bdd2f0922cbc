// EdgeStream: edges on their way into a dataset, a view at a time, already under dense node ids.
//
// Importers and generators produce one; build_csc consumes it. Views come in input order: an
// edge's position in the stream is its edge id, unless the view says another. Single-threaded;
// next() may work in parallel inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace sluice {

/// Edges as somebody else holds them: edge i is (source[i * stride], target[i * stride]). Stride 2
/// shows an array of pairs.
template <class Id>
struct EdgeSpan {
  const Id* source = nullptr;  ///< dense ids of the source type
  const Id* target = nullptr;  ///< dense ids of the target type
  std::size_t count = 0;
  std::size_t stride = 1;
  /// The edges' ids, one after the other, where they are not the edges' places in the stream.
  const std::uint64_t* ids = nullptr;
};

/// In the width that the stream has: narrow ids are half the bytes to move.
using EdgeView = std::variant<EdgeSpan<std::uint32_t>, EdgeSpan<std::uint64_t>>;

/// The same edges the other way round.
inline EdgeView reversed(const EdgeView& view) {
  return std::visit(
      [](auto span) -> EdgeView {
        std::swap(span.source, span.target);
        return span;
      },
      view);
}

/// Edges that a stream owns while it shows them.
template <class Id>
struct EdgeChunk {
  std::vector<Id> source;
  std::vector<Id> target;  ///< same length

  std::size_t size() const noexcept { return source.size(); }
  void resize(std::size_t count) {
    source.resize(count);
    target.resize(count);
  }
  EdgeView view() const { return EdgeSpan<Id>{source.data(), target.data(), source.size()}; }
};

class EdgeStream {
 public:
  virtual ~EdgeStream() = default;

  /// The next edges, valid until the next call; nothing when there are no more. Throws Error.
  virtual std::optional<EdgeView> next() = 0;

  /// How many edges the whole stream has, where that is known beforehand. A stream never has more
  /// than it says.
  virtual std::optional<std::uint64_t> expected() const { return std::nullopt; }

  /// Above every id of a stream whose views say ids of their own; nothing for others.
  virtual std::optional<std::uint64_t> id_bound() const { return std::nullopt; }
};

}  // namespace sluice
