// MergedOrder: where the edges of a relation's log go among those of its CSC: behind them in every
// node's list, or, with times, in the order of (time, edge id). The ids of a log are above all
// others, so of equal times the CSC's edges come first.
//
// The merged lists are the CSC's elements in their order with the log's put between them: a column
// is merged in one pass. Used while a relation is loaded; immutable then.
#pragma once

#include "storage/format/manifest.h"

#include <sluice/array.h>
#include <sluice/dataset.h>
#include <sluice/error.h>
#include <sluice/memory.h>
#include <sluice/topology.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace sluice {

class MergedOrder {
 public:
  /// What is merged. Of the log: u64 [rows, 3] as in appended.bin.
  struct Source {
    std::span<const std::uint64_t> offsets;  ///< of the CSC: targets + 1, or lists + 1
    std::span<const std::uint64_t> log;
    std::span<const std::int64_t> times = {};      ///< of the CSC's edges; empty: there are none
    std::span<const std::int64_t> log_times = {};  ///< by row of the log; empty likewise
    ListedNodes listed = {};  ///< in use where the offsets are of these targets alone

    EdgeRange range(std::uint64_t target) const {
      if (listed.in_use()) return listed.range(offsets, target);
      return {offsets[target], offsets[target + 1]};
    }
  };

  /// O(rows log rows log degree), 16 bytes a row, charged to `ledger` as "topology". Errors:
  /// kResource. @pre the log's targets are below the CSC's
  static Result<MergedOrder> make(const Source& source, MemoryLedger* ledger);

  std::size_t size() const { return static_cast<std::size_t>(rows_.numel()); }
  /// The row of the log that is `k`-th in the merged order.
  std::uint64_t row(std::size_t k) const { return rows_.as<std::uint64_t>()[k]; }
  /// Its position there; they ascend.
  std::uint64_t position(std::size_t k) const { return positions_.as<std::uint64_t>()[k]; }

  /// The merged lists' offsets, where every target has one. @pre of the size of those of the CSC
  void merge_offsets(const Source& source, std::span<std::uint64_t> out) const;

  /// A column in the merged order. @param of_row its value for a row of the log
  /// @pre out.size() == column.size() + size()
  template <class From, class T, class OfRow>
  void merge_column(std::span<const From> column, std::span<T> out, const OfRow& of_row) const {
    std::size_t from = 0, to = 0;
    for (std::size_t k = 0; k < size(); ++k) {
      while (to < position(k)) out[to++] = static_cast<T>(column[from++]);
      out[to++] = static_cast<T>(of_row(row(k)));
    }
    while (from < column.size()) out[to++] = static_cast<T>(column[from++]);
  }

 private:
  Array rows_;       // u64
  Array positions_;  // u64
};

/// What is merged of a relation with a log, but the offsets.
struct RelationLog {
  Array rows;       ///< u64 [appended, 3]
  Array row_times;  ///< i64 [appended]; without a shape where the relation has no times
  Array times;      ///< i64 [edges], likewise

  /// Errors: kData, kIo, kResource, as load_appended().
  static Result<RelationLog> load(const std::filesystem::path& root,
                                  const Manifest& manifest,
                                  const RelationSchema& relation,
                                  const DatasetOptions& options);

  MergedOrder::Source source(std::span<const std::uint64_t> offsets,
                             const ListedNodes& listed = {}) const;
};

/// The times of a relation with a log, in the merged order: i64 [edges + appended], charged as
/// "times". Errors: as above, and offsets that do not ascend. @pre the relation has times
Result<Array> load_merged_times(const std::filesystem::path& root,
                                const Manifest& manifest,
                                const RelationSchema& relation,
                                const DatasetOptions& options);

}  // namespace sluice
