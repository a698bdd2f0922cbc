// DatasetEdges: the edges of a relation that is stored already, as a stream: target by target, in
// the order in which they stand, under their own edge ids. What rebuilding a dataset starts from.
#pragma once

#include "prep/edge_stream.h"
#include "storage/format/list_cursor.h"
#include "storage/format/value_cursor.h"

#include <sluice/graph_schema.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

namespace sluice {

class DatasetEdges final : public EdgeStream {
 public:
  /// New ids for old ones; both empty: ids stay.
  struct Renumbering {
    std::function<std::uint64_t(std::uint64_t)> source = {};
    std::function<std::uint64_t(std::uint64_t)> target = {};
  };

  /// `relation` is one of `manifest`'s. Throws Error; next() too: kData for lists that hold fewer
  /// than all edges, and as ListCursor does.
  DatasetEdges(const std::filesystem::path& root,
               const Manifest& manifest,
               const RelationSchema& relation,
               Renumbering renumbering,
               MemoryLedger* ledger);

  std::optional<EdgeView> next() override;
  std::optional<std::uint64_t> expected() const override { return edges_; }
  std::optional<std::uint64_t> id_bound() const override { return id_bound_; }

 private:
  void next_list();

  std::filesystem::path offsets_path_;
  std::uint64_t edges_;
  std::optional<std::uint64_t> id_bound_;
  ListCursor lists_;
  ValueCursor neighbours_;
  std::optional<ValueCursor> ids_;
  Renumbering renumbering_;
  Charge charge_;
  EdgeChunk<std::uint64_t> chunk_;
  std::vector<std::uint64_t> chunk_ids_;
  ListCursor::List list_;  // whose edges come now
  std::uint64_t at_ = 0;   // edges given
};

}  // namespace sluice
