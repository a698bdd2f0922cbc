// TableSink: a table that is written front to back, row by row, in one of the formats of `export`.
#pragma once

#include <sluice/memory.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

enum class ExportFormat { kCsv, kNpy, kParquet };

struct SinkColumn {
  enum class Type { kInt64, kInt32, kText, kFloat32, kInt32List };
  std::string name;
  Type type = Type::kInt64;
};

class TableSink {
 public:
  virtual ~TableSink() = default;

  /// The values of a row, column by column, each of its column's type. null() is a value that is
  /// missing. Throw Error.
  virtual void integer(std::int64_t value) = 0;
  virtual void text(std::string_view value) = 0;
  virtual void real(float value) = 0;
  virtual void list(std::span<const std::int32_t> values) = 0;
  virtual void null() = 0;
  virtual void end_row() = 0;

  /// Writes what is left and flushes to the disk; returns the bytes of the file. Throws Error.
  virtual std::uint64_t finish() = 0;
};

/// ".csv", ".npy", ".parquet"
std::string_view extension_of(ExportFormat format);

/// A new file at `path`. @param rows that it will have
/// kNpy: an array [rows], or [rows, columns] of columns of one type of number.
std::unique_ptr<TableSink> make_table(ExportFormat format,
                                      const std::filesystem::path& path,
                                      const std::vector<SinkColumn>& columns,
                                      std::uint64_t rows,
                                      MemoryLedger& ledger);

}  // namespace sluice
