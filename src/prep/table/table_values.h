// What a table reader is asked for and what it gives: columns, requests, chunks of values. Views
// own nothing.
#pragma once

#include <sluice/dtype.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct ColumnInfo {
  std::string name;
  std::optional<DType>
      dtype;  ///< how the file stores it; nothing: as text, so of whatever type is asked
  std::uint32_t width = 1;  ///< elements a row; above 1 (or 0) for a matrix
  bool truth = false;       ///< truth values (bool): as u8 of 0 and 1
  bool words = false;       ///< stored as texts, which never read as numbers, digits or not
  /// Of dates and datetimes: ticks a day that the numbers count since 1970; else 0.
  std::int64_t ticks_a_day = 0;
};

enum class ColumnType {
  kInteger,  ///< int64; never silently from fractions, never wrapped
  kReal,     ///< f64, from any number
  kText,     ///< UTF-8 without NUL
  kRaw       ///< the stored bytes; only for a column with a dtype
};

enum class EmptyCell {
  kRefuse,  ///< an empty cell where a number is asked is an error
  kMissing  ///< it reads as -1 or NaN
};

/// What a column is for: what to do where it does not hold what is asked depends on it
/// (column_use.h).
enum class ColumnUse {
  kOther,
  kIds,
  kTimes,      ///< of edges
  kNodeTimes,  ///< of nodes
  kWeights,
  kClasses,
  kTargets,  ///< numbers to predict
  kBits,     ///< labels of 0 and 1
  kFeatures,
  kGraphs,  ///< the graph of a node, sizes of graphs
  kTruths   ///< 1 for an edge, 0 for none
};

/// What a blank line of a text is that stands before a row, where the file has one column; of more
/// columns none is a row.
enum class BlankLine {
  kRefuse,  ///< an error: it may be a missing value, and rows are told by their place
  kPass     ///< nothing: rows are the same in any order
};

struct ColumnRequest {
  std::string name;
  ColumnType type = ColumnType::kInteger;
  EmptyCell empty = EmptyCell::kRefuse;
  ColumnUse use = ColumnUse::kOther;
  BlankLine blank = BlankLine::kRefuse;
};

/// Texts laid end to end: text i is bytes[offsets[i], offsets[i + 1]).
struct TextValues {
  std::span<const std::int32_t> offsets;
  const char* bytes = nullptr;

  std::size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  std::string_view operator[](std::size_t index) const {
    const auto begin = static_cast<std::size_t>(offsets[index]);
    return {bytes + begin, static_cast<std::size_t>(offsets[index + 1]) - begin};
  }
};

/// The values of one column in one chunk, rows x width of them; the request's type says which
/// member is filled.
struct ColumnValues {
  std::span<const std::int64_t> integers;
  std::span<const double> reals;
  TextValues text;
  std::span<const std::byte> raw;
};

struct TableChunk {
  std::uint64_t first_row = 0;  ///< in the table, from 0
  std::size_t rows = 0;
  std::vector<ColumnValues>
      columns;  ///< in the order of the requests; valid until the next call of next()
};

}  // namespace sluice
