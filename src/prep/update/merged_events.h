// MergedEvents: the edges of a relation with times and those of its log as one stream, target by
// target in the order of (time, edge id): that of the lists that they make. Private to compact.
#pragma once

#include "prep/dataset_edges.h"
#include "storage/format/data_file_writer.h"
#include "storage/topology/merged_order.h"

#include <sluice/graph_schema.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace sluice {

class MergedEvents final : public EdgeStream {
 public:
  /// The log is held in memory with its order, 40 bytes a row; the rest is streamed. All must
  /// outlive this. Throws Error. @pre the relation has times, edge ids and a log
  MergedEvents(const std::filesystem::path& root,
               const Manifest& manifest,
               const RelationSchema& relation,
               MemoryLedger* ledger);

  /// Every edge's time goes there as the edge is given.
  void write_times(DataFileWriter& times) { times_out_ = &times; }

  std::optional<EdgeView> next() override;
  std::optional<std::uint64_t> expected() const override { return edges_; }
  std::optional<std::uint64_t> id_bound() const override { return id_bound_; }

 private:
  bool refill_base();
  bool log_comes_first();
  void put(std::uint64_t source, std::uint64_t target, std::uint64_t id, std::int64_t time);
  void put_log();
  void put_base();

  std::uint64_t edges_;
  std::uint64_t id_bound_;
  DatasetEdges base_;
  ValueCursor base_times_;
  RelationLog log_;
  Array order_;  // u64 [appended]: rows by (target, time, row)

  EdgeSpan<std::uint64_t> span_;  // of the base's edges
  std::size_t at_ = 0;            // in it
  std::int64_t base_time_ = 0;    // of the edge there
  std::size_t next_row_ = 0;      // in the order
  DataFileWriter* times_out_ = nullptr;

  EdgeChunk<std::uint64_t> chunk_;
  std::vector<std::uint64_t> chunk_ids_;
  std::vector<std::int64_t> chunk_times_;
};

}  // namespace sluice
