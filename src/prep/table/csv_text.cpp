#include "prep/table/csv_text.h"

#include "prep/table/text_cells.h"
#include "prep/table/text_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace sluice {
namespace {

constexpr const char* kHeaderThere =
    "if the first line names the columns: [csv] header = \"no\" holds for all CSV files; write "
    "them "
    "alike, or name this one's format otherwise";

/// Whether a cell of the first line, where a number is asked, may be the name of its column.
bool names_column(const std::string& cell, const CsvLayout& layout) {
  double number = 0;
  const std::string_view text = trimmed_cell(cell);
  return layout.header == CsvHeader::kNo && !text.empty() &&
         parse_real_cell(text, number) != std::errc{};
}

std::optional<Error> diagnose_line(std::string_view line,
                                   std::int64_t number,
                                   const CsvLayout& layout) {
  const auto error = [&](std::string message, std::string hint) {
    return Error(
        ErrorCode::kData, std::move(message), std::move(hint), Place{layout.file, number, -1, -1});
  };
  if (line.find('\r') != std::string_view::npos) {
    return error("a carriage return in the middle of the line", "end lines with LF or CRLF");
  }
  const std::vector<CsvField> fields = split_csv_line(line, layout.delimiter);
  if (!fields.back().closed) {
    const std::size_t last = std::min(fields.size(), layout.columns.size()) - 1;
    return error(fmt::format("column '{}': a quoted field does not end on its line",
                             layout.columns[last].name),
                 "close the quote, or double a quote inside it");
  }
  const std::size_t count = layout.columns.size();
  if (fields.size() != count) {
    return error(
        layout.header == CsvHeader::kYes
            ? fmt::format("{} fields, but the header names {} columns", fields.size(), count)
            : fmt::format("{} fields, but the first line has {}", fields.size(), count),
        fmt::format(
            "fix the line, or quote a field that holds the delimiter '{}'",
            layout.delimiter == '\t' ? std::string("\\t") : std::string(1, layout.delimiter)));
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].text.find('\0') == std::string::npos) continue;
    return error(fmt::format("column '{}': a NUL byte", layout.columns[i].name),
                 "is this a text file?");
  }
  for (std::size_t i = 0; i < layout.requests.size(); ++i) {
    const std::string& cell = fields[layout.positions[i]].text;
    if (auto fault = cell_fault(cell, layout.requests[i])) {
      return error(fmt::format("column '{}': {}", layout.requests[i].name, fault->reason),
                   number == 1 && names_column(cell, layout) ? kHeaderThere : fault->hint);
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view next_csv_line(std::string_view text, std::size_t& at) {
  const std::size_t end = std::min(text.find('\n', at), text.size());
  std::string_view line = text.substr(at, end - at);
  at = end + 1;
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::vector<CsvField> split_csv_line(std::string_view line, char delimiter) {
  std::vector<CsvField> fields(1);
  bool quoted = false;
  bool at_start = true;
  for (std::size_t i = 0; i < line.size(); ++i) {
    CsvField& field = fields.back();
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      field.text += '"';
      ++i;
    } else if (quoted) {
      quoted = c != '"';
      field.closed = !quoted;
      if (quoted) field.text += c;
    } else if (c == delimiter) {
      fields.emplace_back();
      at_start = true;
      continue;
    } else if (c == '"' && at_start) {
      quoted = true;
      field.closed = false;
    } else {
      field.text += c;
    }
    at_start = false;
  }
  return fields;
}

std::vector<ColumnInfo> parse_csv_header(std::string_view line,
                                         CsvHeader header,
                                         char delimiter,
                                         const Place& place) {
  const auto fail = [&](std::string message, std::string hint) {
    throw Error(ErrorCode::kData, std::move(message), std::move(hint), place);
  };
  const std::string what = header == CsvHeader::kYes ? "header" : "first line";
  if (line.find('\0') != std::string_view::npos)
    fail(fmt::format("the {} holds a NUL byte", what), "is this a text file?");
  if (line.find('\r') != std::string_view::npos)
    fail(fmt::format("a carriage return in the middle of the {}", what),
         "end lines with LF or CRLF");
  if (!valid_utf8(line))
    fail(fmt::format("the {} is not valid UTF-8", what), "save the file as UTF-8");
  const std::vector<CsvField> fields = split_csv_line(line, delimiter);
  if (!fields.back().closed)
    fail(fmt::format("the {} has a quote that does not end", what), "close the quote");
  if (header == CsvHeader::kNo) return numbered_columns(fields.size());
  std::vector<ColumnInfo> columns;
  bool numbers_only = true;
  for (const CsvField& field : fields) {
    const std::string name(trimmed_cell(field.text));
    double number = 0;
    numbers_only = numbers_only && parse_real_cell(name, number) == std::errc{};
    columns.push_back({name, std::nullopt, 1});
  }
  if (numbers_only)
    fail("the first line holds numbers, not column names",
         "put a header such as 'src,dst' before the data, or say [csv] header = \"no\"");
  return columns;
}

bool has_lone_return(std::string_view text) {
  for (std::size_t at = text.find('\r'); at != std::string_view::npos;
       at = text.find('\r', at + 1)) {
    if (at + 1 < text.size() && text[at + 1] != '\n') return true;
  }
  return false;
}

std::int64_t csv_line_of_row(std::string_view block, std::int64_t first_line, std::uint64_t row) {
  std::int64_t line = first_line;
  for (std::size_t at = 0; at < block.size(); ++line) {
    if (next_csv_line(block, at).empty()) continue;
    if (row == 0) return line;
    --row;
  }
  return line;
}

std::optional<Error> diagnose_csv(std::string_view block,
                                  std::int64_t first_line,
                                  const CsvLayout& layout) {
  std::int64_t number = first_line;
  for (std::size_t at = 0; at < block.size(); ++number) {
    const std::string_view line = next_csv_line(block, at);
    if (line.empty()) continue;
    if (auto error = diagnose_line(line, number, layout)) return error;
  }
  return std::nullopt;
}

}  // namespace sluice
