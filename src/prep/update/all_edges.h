// AllEdges: a relation's edges and then those of its log, as a stream. Stable conversion puts the
// latter behind the former in every node's list. Private to src/prep/update.
#pragma once

#include "prep/dataset_edges.h"
#include "storage/format/manifest.h"
#include "storage/format/value_cursor.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace sluice {

class AllEdges final : public EdgeStream {
 public:
  /// `relation` is one of `manifest`'s. Throws Error, and next() too, as DatasetEdges does.
  AllEdges(const std::filesystem::path& root,
           const Manifest& manifest,
           const RelationSchema& relation,
           MemoryLedger* ledger);

  std::optional<EdgeView> next() override;
  std::optional<std::uint64_t> expected() const override { return edges_; }
  std::optional<std::uint64_t> id_bound() const override {
    return ids_ ? std::optional(id_bound_) : std::nullopt;
  }

 private:
  DatasetEdges base_;
  std::optional<ValueCursor> log_;  // nothing: there is none
  std::uint64_t left_;
  std::uint64_t edges_;
  bool ids_;
  std::uint64_t id_bound_;
  EdgeChunk<std::uint64_t> chunk_;
  std::vector<std::uint64_t> chunk_ids_;
};

}  // namespace sluice
