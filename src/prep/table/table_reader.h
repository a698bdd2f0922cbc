// TableReader: a file seen as named, typed columns, read from front to back in bounded chunks.
//
// One class a format (csv_reader.h, npy_reader.h), made by name through TableFormats
// (table_formats.h); the importers know no format. Everything throws Error. Used by one thread;
// next() may work in parallel inside, with the same result for any number of threads. Memory is
// charged to the source's ledger and bounded whatever the size of the file.
#pragma once

#include "core/threads.h"
#include "prep/table/table_values.h"

#include <sluice/error.h>
#include <sluice/memory.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// What a reader is made from. The ledger and the arena outlive the reader.
struct TableSource {
  std::filesystem::path path;
  MemoryLedger* ledger = nullptr;
  ThreadArena* arena = nullptr;
  std::string table = {};  ///< of a file that holds several; empty: its first, or only one
};

/// How an array of [2, 2] is seen, whose shape does not tell where its pairs lie.
enum class TwoByTwo {
  kRows,    ///< a pair a row, [N, 2]
  kColumns  ///< a pair a column, [2, N]
};
/// Whether the entries of a sparse matrix ("row", "col", "data") may be meant by their names.
enum class SparseEntries { kRefuse, kAllow };

class TableReader {
 public:
  explicit TableReader(TableSource source) : source_(std::move(source)) {}
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;
  virtual ~TableReader() = default;

  /// The columns of the file, in its order; at least one.
  virtual const std::vector<ColumnInfo>& columns() const = 0;
  /// Number of rows where the format tells it beforehand: some tell it only after select().
  virtual std::optional<std::uint64_t> num_rows() const = 0;
  /// Reads an array of [2, N] as [N, 2] from now on, one of [2, 2] where it is said to lie so;
  /// false where the column is none such. Before select().
  virtual bool turn_pairs(const std::string& /*column*/, TwoByTwo /*two_by_two*/) { return false; }
  /// Reads a sparse matrix by its rows from now on, zeros and all: one column, as wide as it is;
  /// false where the table is none. Before select(). Throws Error(kData) where `columns`, those
  /// that are wanted (none: all), are but parts of a matrix.
  virtual bool turn_sparse(const std::vector<std::string>& /*columns*/, SparseEntries /*entries*/) {
    return false;
  }
  /// Chooses the columns to read; once, before the first next(). @pre the names are in columns()
  virtual void select(const std::vector<ColumnRequest>& requests) = 0;
  /// Replaces `chunk` by the next rows, at least one; false at the end.
  virtual bool next(TableChunk& chunk) = 0;

  /// "file:line: column 'name': reason" (or "file: row N: ...", which
  /// names the column where there are several). @pre `row` is in the chunk read
  /// last
  virtual Error value_error(std::uint64_t row,
                            const std::string& column,
                            const std::string& reason,
                            const std::string& hint) const;
  /// The column of that name, or of that index for an empty name; a kData error lists the columns
  /// there are.
  const ColumnInfo& column(const std::string& name, std::size_t default_index) const;
  const std::filesystem::path& path() const { return source_.path; }

 protected:
  /// The 1-based line of a row of the last chunk; nothing in a file without lines.
  virtual std::optional<std::int64_t> line_of(std::uint64_t row) const = 0;
  /// What keeps something in the file that is called `name` from being a column, "has 3
  /// dimensions"; empty where there is nothing of that name.
  virtual std::string why_no_column(const std::string& /*name*/) const { return {}; }

  TableSource source_;
};

}  // namespace sluice
