// Lines of a text table that are no rows of it and yet stand among them: its header once more,
// where files were put together; and in a file of one column a blank line, which may be a missing
// value. Taken for rows, or passed over, they would make another graph without a word: they are
// errors.
//
// Both look at whole blocks behind the parser, and at lines only where something stands out.
#pragma once

#include "prep/table/table_values.h"

#include <sluice/error.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Tells rows that could be the header again by one of the columns that are read.
class HeaderProbe {
 public:
  HeaderProbe() = default;
  /// @param names of the file's columns @param positions of each request among them
  HeaderProbe(const std::vector<std::string>& names,
              const std::vector<ColumnRequest>& requests,
              const std::vector<std::size_t>& positions);

  /// The request to look at; nothing where no row that was read can be a header: its names are not
  /// what is asked for.
  std::optional<std::size_t> request() const { return request_; }
  /// The rows that may be one, ascending. @param values of that request
  std::vector<std::size_t> candidates(const ColumnValues& values, std::size_t rows) const;

 private:
  std::optional<std::size_t> request_;
  ColumnType type_ = ColumnType::kText;
  bool first_ = false;  // the file's first column, where a byte-order mark may stand before it
  std::string name_;
  std::int64_t integer_ = -1;
  double real_ = 0;
};

/// A line without the byte-order mark that files which were put together leave in the middle.
std::string_view without_mark(std::string_view line);

/// Whether the fields of a row are the names of a header; blanks around them do not count.
bool is_header_again(const std::vector<std::string_view>& fields,
                     const std::vector<std::string>& names);

/// What to say of it. @param place its line
Error header_again_error(const Place& place, const std::string& how_to_keep_a_first_line = "");

/// What to do about a row of which a field is no number; nothing where it does not look like names
/// of columns. @param fields all of the row's @param how_to_keep_a_first_line an option that takes
/// a first line for a header; may be empty
std::optional<std::string> header_hint(const std::vector<std::string_view>& fields,
                                       const std::string& how_to_keep_a_first_line);
/// The hint of a fault in such a line: header_hint() where ids are asked, for other uses `hint` and
/// that it may be a header.
std::string hint_in_header(const std::vector<std::string_view>& fields,
                           const std::string& how_to_keep_a_first_line,
                           ColumnUse use,
                           const std::string& hint);

/// The error where the first of a file's lines tells how many follow, which is no row: whole
/// numbers alone, in fewer fields than what stands behind it. @param split a line's fields; none:
/// it is no row
std::optional<Error> leading_count_error(
    const std::vector<std::string>& lines,
    const std::function<std::vector<std::string>(const std::string& line)>& split,
    const Place& place);

/// How many lines leading_count_error looks at, and how long they are at most.
inline constexpr std::size_t kCountLines = 3;
inline constexpr std::size_t kCountBytes = 4096;

/// Looks for blank lines before rows, block after block of a file of one column.
class BlankLines {
 public:
  using IsBlank = std::function<bool(std::string_view line)>;  ///< as a reader passes over it
  using IsRow = std::function<bool(std::string_view line)>;

  /// There was one before the first block.
  void note(std::int64_t line) {
    if (!pending_) pending_ = line;
  }
  /// The first blank line of this block, or of those before it, that a row of this block stands
  /// behind. @param rows that the parser found in the block, of `lines`
  std::optional<std::int64_t> before_rows(std::string_view block,
                                          std::int64_t first_line,
                                          std::int64_t lines,
                                          std::size_t rows,
                                          const IsBlank& is_blank,
                                          const IsRow& is_row);

 private:
  std::optional<std::int64_t> pending_;  // since the last row
};

/// What to say of such a line. @param empty how the format writes an empty value: "\"\""; may be
/// empty
Error blank_line_error(const Place& place, const std::string& empty);

}  // namespace sluice
