// Tables read whole, for comparison: by any number of threads and in blocks of any size the same
// must come out.
#pragma once

#include "fuzz/target.h"
#include "prep/table/table_reader.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::fuzz {

/// How a column is asked for.
struct Asked {
  ColumnType type = ColumnType::kInteger;
  EmptyCell empty = EmptyCell::kRefuse;
};

/// Numbers and texts, chosen by the input.
std::vector<Asked> choose_asked(Input& input);

/// What a reader gave.
struct Reading {
  std::vector<std::string> columns;  ///< by request: its values, laid end to end
  std::uint64_t rows = 0;
  std::optional<Error> refusal;

  bool operator==(const Reading& other) const;
};

/// Throws a Finding that says `what` unless both are the same, error and all.
void check_same(const Reading& a, const Reading& b, const std::string& what);

/// Opens a table for one reading. @param block_bytes of its options, where it has that
using Open =
    std::function<std::unique_ptr<TableReader>(const TableSource& source, std::uint64_t block)>;

struct How {
  int threads = 1;  ///< 1 or 2
  std::uint64_t block = 64 << 10;
};

/// Reads all rows, of the first columns of each name that have values, asked for by turns as
/// `asked` says. Checks what every reader promises, and that all memory was given back.
Reading read_table(const Open& open,
                   const TableSource& source,
                   const std::vector<Asked>& asked,
                   const How& how = {});

/// The property of readers of text: the same rows with large blocks and small ones, or an error for
/// both; a line that is too long for small ones aside. @param small block, a line must fit in
/// @return what large blocks gave
Reading check_blocks(const Open& open,
                     const TableSource& source,
                     const std::vector<Asked>& asked,
                     std::uint64_t small);

}  // namespace sluice::fuzz
