// Window: mini-batches sampled ahead together with the distinct feature rows they need.
#pragma once

#include "pipeline/data/feature_table.h"
#include "pipeline/stream/row_index.h"

#include <sluice/array.h>
#include <sluice/batch.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sluice {

/// The distinct rows of one feature table that a window needs, each once.
struct WindowRows {
  /// Of a window being made: numbers the rows as they come, at most so many.
  WindowRows(std::uint64_t max_rows, MemoryLedger& ledger) { index.emplace(max_rows, ledger); }
  /// Of a window whose rows were numbered before, and whose ids its plan knows.
  explicit WindowRows(std::uint64_t count) : known(count) {}
  /// Of a window whose rows were numbered by somebody who looks none of them up: u64 [rows], their
  /// ids by number.
  explicit WindowRows(Array ids)
      : known(static_cast<std::uint64_t>(ids.numel())), listed(std::move(ids)) {}

  std::uint64_t size() const { return index && known == 0 ? index->size() : known; }
  /// By number; none where only a plan knows them.
  std::span<const std::uint64_t> ids() const {
    if (index) return index->ids();
    if (listed.empty()) return {};
    return listed.as<std::uint64_t>();
  }

  std::optional<RowIndex> index;  ///< row ids by number, while they may be looked up or numbered
  std::uint64_t known = 0;
  Array listed;
  std::vector<Array> numbers;  ///< by batch: u32 [n], of each row it asks for, list by list
  Array places;                ///< u32 [rows]: the slot of each number in the table's RowCache
};

struct Window {
  std::size_t number = 0;  ///< since the epoch was begun
  /// Sampled; features, labels and transposes not yet filled in. Of a window that a plan knows from
  /// before just which they are, until KeptWindows::bring() fills one in.
  std::vector<Batch> batches;
  /// By feature table; null where rows come straight from memory.
  std::vector<std::unique_ptr<WindowRows>> rows;
};

/// Bytes of a sampled batch's arrays.
std::uint64_t block_bytes(const Batch& batch);

/// What memory is split by.
struct BatchSizes {
  BatchSizes() = default;
  BatchSizes(const Batch& batch, FeatureTables tables);

  std::uint64_t blocks = 0;         ///< block_bytes()
  std::vector<std::uint64_t> rows;  ///< by feature table, repeats among them
};

}  // namespace sluice
