// Shards: several files that are one table, "edges/*.parquet" or the folder "edges". Read one after
// the other in the order of their names, in which numbers count as numbers: part-2 before part-10.
#pragma once

#include "prep/table/table_reader.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// The files that a name stands for.
struct Shards {
  std::vector<std::filesystem::path> files;
  std::vector<std::filesystem::path> empty;  ///< parts that hold nothing, passed over
  bool renumbered = false;  ///< the plain order of their names is another than that of the numbers
};

/// The files that a name with '*', '?' or '[...]' matches, or that are in the folder of that name,
/// in order. Names that begin with '.' or '_' do not count: programs mark folders with them
/// ("_SUCCESS"). A name of one file, there or not, is itself. Throws Error(kData) where none is
/// left.
Shards find_shards(const std::filesystem::path& name);
std::vector<std::filesystem::path> shards_of(const std::filesystem::path& name);

/// Whether one name stands before another, numbers in them by their value. Names of other numbers
/// with leading zeros, or without numbers, stand as plain texts do.
bool numbered_less(const std::filesystem::path& a, const std::filesystem::path& b);

/// Names of files and folders that begin with '.' or '_'.
bool is_mark(const std::filesystem::path& file);

/// Whether nothing is in a file: no byte, or white space alone, compressed or plain.
bool is_empty_part(const std::filesystem::path& file);

/// Chains the readers of shards. All have the same columns: that is checked as it is made, or where
/// only their widths differ when rows are asked for, as pairs may be turned. Errors name the shard,
/// and rows as they are numbered in it.
class ShardReader final : public TableReader {
 public:
  using Open = std::function<std::unique_ptr<TableReader>(const std::filesystem::path&)>;

  /// @param source its path is the name of all. @pre files is not empty
  ShardReader(const TableSource& source, std::vector<std::filesystem::path> files, Open open);

  const std::vector<ColumnInfo>& columns() const override { return columns_; }
  std::optional<std::uint64_t> num_rows() const override { return rows_; }
  bool turn_pairs(const std::string& column, TwoByTwo two_by_two) override;
  bool turn_sparse(const std::vector<std::string>& columns, SparseEntries entries) override;
  void select(const std::vector<ColumnRequest>& requests) override;
  bool next(TableChunk& chunk) override;
  Error value_error(std::uint64_t row,
                    const std::string& column,
                    const std::string& reason,
                    const std::string& hint) const override;

 private:
  std::optional<std::int64_t> line_of(std::uint64_t /*row*/) const override { return std::nullopt; }
  /// How a shard's columns are other than those of the first.
  std::optional<Error> unlike(const TableReader& shard) const;
  void look_at_all();

  std::vector<std::filesystem::path> files_;
  Open open_;
  std::vector<ColumnInfo> columns_;
  std::optional<std::uint64_t> rows_;  // where all shards say theirs beforehand
  std::optional<Error> unlike_;        // of widths alone
  std::vector<ColumnRequest> requests_;
  std::unique_ptr<TableReader> current_;
  std::size_t next_file_ = 0;
  std::uint64_t first_row_ = 0;  // of the current shard
  std::uint64_t read_ = 0;       // rows handed out
};

}  // namespace sluice
