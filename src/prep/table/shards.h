// Shards: several files that are one table, "edges/*.parquet" or the folder "edges". Read one after
// the other in the order of their names.
#pragma once

#include "prep/table/table_reader.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// The files that a name with '*', '?' or '[...]' matches, or that are in the folder of that name,
/// sorted; hidden ones do not count. A name of one file, there or not, is itself. Throws
/// Error(kData) where none matches.
std::vector<std::filesystem::path> shards_of(const std::filesystem::path& name);

/// Chains the readers of shards. All have the same columns: that is checked as it is made. Errors
/// name the shard, and rows as they are numbered in it.
class ShardReader final : public TableReader {
 public:
  using Open = std::function<std::unique_ptr<TableReader>(const std::filesystem::path&)>;

  /// @param source its path is the name of all. @pre files is not empty
  ShardReader(const TableSource& source, std::vector<std::filesystem::path> files, Open open);

  const std::vector<ColumnInfo>& columns() const override { return columns_; }
  std::optional<std::uint64_t> num_rows() const override { return rows_; }
  bool turn_sparse(const std::vector<std::string>& columns, SparseEntries entries) override;
  void select(const std::vector<ColumnRequest>& requests) override;
  bool next(TableChunk& chunk) override;
  Error value_error(std::uint64_t row,
                    const std::string& column,
                    const std::string& reason,
                    const std::string& hint) const override;

 private:
  std::optional<std::int64_t> line_of(std::uint64_t /*row*/) const override { return std::nullopt; }
  void look_at_all();
  void check_columns(const TableReader& shard) const;

  std::vector<std::filesystem::path> files_;
  Open open_;
  std::vector<ColumnInfo> columns_;
  std::optional<std::uint64_t> rows_;  // where all shards say theirs beforehand
  std::vector<ColumnRequest> requests_;
  std::unique_ptr<TableReader> current_;
  std::size_t next_file_ = 0;
  std::uint64_t first_row_ = 0;  // of the current shard
  std::uint64_t read_ = 0;       // rows handed out
};

}  // namespace sluice
