// The text of an edge list, looked at by a small scanner of our own: fields, the line of a row, and
// what is wrong with a line. Never on the fast path. Pure functions.
#pragma once

#include "prep/table/table_values.h"

#include <sluice/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// What the parser makes of what is neither a plain number nor a row of fields: what an edge list
/// may hold, or nothing at all, so that CSV is read as CSV.
enum class ListRules { kList, kStrict };

/// What the scanner and the parser need to know of a file.
struct ListLayout {
  std::string file;
  ListRules rules = ListRules::kList;
  char delimiter = '\0';  ///< '\0': any run of spaces and tabs
  std::string comment;    ///< a line that begins with one of these is passed over
  std::vector<ColumnInfo> columns;
  std::vector<std::string> header_names;  ///< those that the user gave; may be none
  std::vector<ColumnRequest> requests;
  std::vector<std::size_t> positions;  ///< of each request in `columns`
};

/// Whether a character could as well be part of a number: none to stand between fields.
bool is_of_numbers(char c);

/// Whether a line (without its end) is a row: not blank, no comment.
bool is_list_row(std::string_view line, const ListLayout& layout);

/// Whether there is nothing in a line but blanks.
bool is_blank_list_line(std::string_view line, const ListLayout& layout);

/// The fields of a row; white space around a line does not count.
std::vector<std::string_view> split_list_line(std::string_view line, const ListLayout& layout);

/// What is wrong with a line; nothing when the scanner sees no fault.
std::optional<Error> diagnose_list_line(std::string_view line,
                                        std::int64_t number,
                                        const ListLayout& layout);

/// The same without its columns: bytes that no line may hold.
std::optional<Error> diagnose_list_bytes(std::string_view line, const Place& place);

/// The first of the rows of a block that only names the columns: its 1-based line.
std::optional<std::int64_t> list_header_line(std::string_view block,
                                             std::int64_t first_line,
                                             const std::vector<std::size_t>& rows,
                                             const ListLayout& layout);

/// The 1-based line of data row `row` of a block that begins with line `first_line`.
std::int64_t list_line_of_row(std::string_view block,
                              std::int64_t first_line,
                              std::uint64_t row,
                              const ListLayout& layout);

}  // namespace sluice
