#include "prep/table/csv_text.h"

#include "core/utf8.h"
#include "prep/table/stray_lines.h"
#include "prep/table/text_cells.h"
#include "prep/table/text_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <system_error>

namespace sluice {
namespace {

bool is_csv_blank(char c, char delimiter) {
  return (c == ' ' || c == '\t') && c != delimiter;
}

bool all_csv_blank(std::string_view line, char delimiter) {
  return std::all_of(line.begin(), line.end(), [&](char c) { return is_csv_blank(c, delimiter); });
}

/// Hands out a line's fields, delimiters and all, without the blanks around them.
template <class Put>
void trim_csv_line(std::string_view line, char delimiter, Put put) {
  for (std::size_t at = 0;; ++at) {
    while (at < line.size() && is_csv_blank(line[at], delimiter)) ++at;
    const std::size_t begin = at;
    if (at < line.size() && line[at] == '"') {
      for (++at; at < line.size(); ++at) {
        if (line[at] != '"') continue;
        if (at + 1 == line.size() || line[at + 1] != '"') break;
        ++at;  // a doubled one
      }
      at = std::min(at + 1, line.size());
    }
    const std::size_t quoted_end = at;
    at = std::min(line.find(delimiter, at), line.size());
    std::size_t end = at;
    while (end > quoted_end && is_csv_blank(line[end - 1], delimiter)) --end;
    put(line.substr(begin, end - begin));
    if (at == line.size()) return;
    put(line.substr(at, 1));
  }
}

std::vector<std::string_view> csv_texts_of(const std::vector<CsvField>& fields) {
  std::vector<std::string_view> texts;
  texts.reserve(fields.size());
  for (const CsvField& field : fields) texts.emplace_back(field.text);
  return texts;
}

bool is_header_line(std::string_view line, const CsvLayout& layout) {
  return !layout.header_names.empty() &&
         is_header_again(csv_texts_of(split_csv_line(without_mark(line), layout.delimiter)),
                         layout.header_names);
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
  if (is_header_line(line, layout))
    return header_again_error(Place{layout.file, number, -1, -1}, kFirstLineIsARow);
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
    const ColumnRequest& request = layout.requests[i];
    auto fault = cell_fault(fields[layout.positions[i]].text, request);
    if (!fault) continue;
    if (request.type != ColumnType::kText)
      fault->hint =
          hint_in_header(csv_texts_of(fields), "[csv] header = \"yes\"", request.use, fault->hint);
    return error(fmt::format("column '{}': {}", request.name, fault->reason), fault->hint);
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
  std::vector<CsvField> fields;
  std::size_t at = 0;
  while (true) {
    CsvField& field = fields.emplace_back();
    while (at < line.size() && is_csv_blank(line[at], delimiter)) ++at;
    if (at < line.size() && line[at] == '"') {
      field.closed = false;
      for (++at; at < line.size() && !field.closed; ++at) {
        const bool doubled = line[at] == '"' && at + 1 < line.size() && line[at + 1] == '"';
        if (doubled) ++at;
        field.closed = line[at] == '"' && !doubled;
        if (!field.closed) field.text += line[at];
      }
    }
    const std::size_t end = std::min(line.find(delimiter, at), line.size());
    std::string_view rest = line.substr(at, end - at);
    while (!rest.empty() && is_csv_blank(rest.back(), delimiter)) rest.remove_suffix(1);
    field.text += rest;
    if (end == line.size()) return fields;
    at = end + 1;
  }
}

std::size_t trim_csv_fields(std::string_view text, char delimiter, std::size_t columns, char* out) {
  char* const begin = out;
  const auto put = [&](std::string_view part) {
    std::memcpy(out, part.data(), part.size());
    out += part.size();
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    const std::string_view line = next_csv_line(text, at);
    if (all_csv_blank(line, delimiter)) {
      // Of more columns it is a row of too few fields, which is for the parser to say.
      put(line.empty() ? line : columns == 1 ? std::string_view("\"\"") : line);
    } else {
      trim_csv_line(line, delimiter, put);
    }
    const std::size_t end = std::min(at, text.size());
    put(text.substr(start + line.size(), end - start - line.size()));
  }
  return static_cast<std::size_t>(out - begin);
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

std::optional<std::int64_t> csv_header_line(std::string_view block,
                                            std::int64_t first_line,
                                            const std::vector<std::size_t>& rows,
                                            const CsvLayout& layout) {
  std::int64_t number = first_line;
  std::size_t row = 0;
  auto next = rows.begin();
  for (std::size_t at = 0; at < block.size() && next != rows.end(); ++number) {
    const std::string_view line = next_csv_line(block, at);
    if (line.empty() || row++ != *next) continue;
    if (is_header_line(line, layout)) return number;
    ++next;
  }
  return std::nullopt;
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
