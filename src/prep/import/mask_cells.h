// The cells of a column that may be a mask, each as a bit where it is one. Private to
// src/prep/import.
#pragma once

#include "prep/import/import_context.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

class MaskCells {
 public:
  /// Opens a part's file at its column.
  /// @param blank of a mask a line that is blank may be a missing row; of ids it is nothing
  /// @param beside other columns to read with it: columns 1, 2, ... of chunk()
  MaskCells(const ImportContext& context,
            const SplitPart& part,
            BlankLine blank,
            const std::vector<ColumnRequest>& beside = {});

  /// Whether the file stores truth values.
  bool truth() const { return truth_; }
  const std::string& column() const { return column_; }
  const TableReader& table() const { return *table_; }

  bool next();
  const TableChunk& chunk() const { return chunk_; }
  std::size_t rows() const { return chunk_.rows; }
  /// Whether a cell is True or False as a word.
  bool is_word(std::size_t row) const;
  /// The bit that a cell is: 0, 1, true or false; nothing where it is none.
  std::optional<bool> bit(std::size_t row) const;

 private:
  std::unique_ptr<TableReader> table_;
  std::string column_;
  TableChunk chunk_;
  bool truth_ = false;
};

/// What a column is like, as far as it holds nothing but bits.
struct MaskGlance {
  bool bits = true;     ///< it does, to its end, and has a row
  bool truths = false;  ///< they are written as truth values
  std::uint64_t rows = 0, ones = 0;
};

MaskGlance glance_at_mask(const ImportContext& context, const SplitPart& part);

}  // namespace sluice
