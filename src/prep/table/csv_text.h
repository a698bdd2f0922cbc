// The text of a CSV file, looked at by a small scanner of our own: the header, the line of a row,
// and, when Arrow refuses a block, the first bad line and why. Never on the fast path. Pure
// functions.
#pragma once

#include "prep/table/table_values.h"

#include <sluice/error.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct CsvField {
  std::string text;    ///< unquoted
  bool closed = true;  ///< false: it begins with a quote that does not end on its line
};

/// The next line of `text` from `at`, without its end; moves `at` behind it. @pre at < text.size()
std::string_view next_csv_line(std::string_view text, std::size_t& at);

/// The fields of a line. Blanks around one do not count, but those in quotes.
std::vector<CsvField> split_csv_line(std::string_view line, char delimiter);

/// The text without the blanks around fields, line by line; in a file of one column a line of
/// blanks becomes an empty field. @param out room for text.size() + the number of lines
/// @return how much of `out` is filled
std::size_t trim_csv_fields(std::string_view text, char delimiter, std::size_t columns, char* out);

/// What to say where the first line is no header.
inline constexpr const char* kFirstLineIsARow = "[csv] header = \"no\"";

/// Whether a file's first line names its columns.
enum class CsvHeader { kYes, kNo };

/// The columns that the first line of a file tells: those it names, or c0, c1, ... for as many
/// fields as it has. Throws Error(kData) where it is no such line.
std::vector<ColumnInfo> parse_csv_header(std::string_view line,
                                         CsvHeader header,
                                         char delimiter,
                                         const Place& place);

/// Whether a carriage return stands elsewhere than before a line feed: Arrow would take it for a
/// line end, uncounted.
bool has_lone_return(std::string_view text);

/// The 1-based line of data row `row` of a block that begins with line `first_line`. Blank lines
/// are no rows.
std::int64_t csv_line_of_row(std::string_view block, std::int64_t first_line, std::uint64_t row);

/// What the scanner needs to know of a file.
struct CsvLayout {
  std::string file;
  CsvHeader header = CsvHeader::kYes;
  char delimiter = ',';
  std::vector<ColumnInfo> columns;
  std::vector<std::string>
      header_names;  ///< as the header says them, or else the user; may be none
  std::vector<ColumnRequest> requests;
  std::vector<std::size_t> positions;  ///< of each request in `columns`
};

/// The first of the rows of a block that is the header again: its 1-based line.
std::optional<std::int64_t> csv_header_line(std::string_view block,
                                            std::int64_t first_line,
                                            const std::vector<std::size_t>& rows,
                                            const CsvLayout& layout);

/// The first line of the block that is not as `layout` asks; nothing when the scanner sees no
/// fault.
std::optional<Error> diagnose_csv(std::string_view block,
                                  std::int64_t first_line,
                                  const CsvLayout& layout);

}  // namespace sluice
