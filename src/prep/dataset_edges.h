// DatasetEdges: the edges of a relation that is stored already, as a stream: target by target, in
// the order in which they stand, under their own edge ids. What rebuilding a dataset starts from.
#pragma once

#include "prep/edge_stream.h"
#include "storage/format/file_cursor.h"

#include <sluice/graph_schema.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <vector>

namespace sluice {

/// Elements of a plain array in a data file, widened to u64, from front to back.
class ValueCursor {
 public:
  ValueCursor(const std::filesystem::path& root,
              const FileEntry& entry,
              DType dtype,
              std::uint64_t count,
              MemoryLedger* ledger);

  /// The next value; nothing after the last.
  std::optional<std::uint64_t> next() {
    if (left_ == 0) return std::nullopt;
    if (at_ == piece_.size()) refill();
    --left_;
    const std::byte* const value = piece_.data() + at_;
    at_ += width_;
    if (width_ == 4) return load<std::uint32_t>(value);
    return load<std::uint64_t>(value);
  }

 private:
  template <class T>
  static std::uint64_t load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  void refill();

  FileCursor cursor_;
  std::span<const std::byte> piece_;
  std::size_t at_ = 0;
  std::size_t width_;
  std::uint64_t left_;
};

class DatasetEdges final : public EdgeStream {
 public:
  /// New ids for old ones; both empty: ids stay.
  struct Renumbering {
    std::function<std::uint64_t(std::uint64_t)> source = {};
    std::function<std::uint64_t(std::uint64_t)> target = {};
  };

  /// `relation` is one of `manifest`'s. Throws Error.
  DatasetEdges(const std::filesystem::path& root,
               const Manifest& manifest,
               const RelationSchema& relation,
               Renumbering renumbering,
               MemoryLedger* ledger);

  std::optional<EdgeView> next() override;
  std::optional<std::uint64_t> expected() const override { return edges_; }
  std::optional<std::uint64_t> id_bound() const override { return id_bound_; }

 private:
  std::uint64_t edges_;
  std::optional<std::uint64_t> id_bound_;
  ValueCursor offsets_;
  ValueCursor neighbours_;
  std::optional<ValueCursor> ids_;
  Renumbering renumbering_;
  Charge charge_;
  EdgeChunk<std::uint64_t> chunk_;
  std::vector<std::uint64_t> chunk_ids_;
  std::uint64_t target_ = 0;  // the one whose in-edges come now
  std::uint64_t end_ = 0;     // of its in-edges
  std::uint64_t at_ = 0;      // edges given
};

}  // namespace sluice
