#include "prep/table/list_text.h"

#include "prep/table/csv_text.h"
#include "prep/table/stray_lines.h"
#include "prep/table/text_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace sluice {
namespace {

// Where a field of its own may be empty, blanks may stand around it, but a tab may be what parts
// it.
std::string_view blanks_of(const ListLayout& layout) {
  if (layout.delimiter == '\t') return " ";
  return layout.delimiter == ' ' ? "\t" : " \t";
}

Error field_count_error(std::size_t fields, const ListLayout& layout, const Place& place) {
  const std::string hint =
      layout.delimiter == '\0'
          ? "every line needs as many; where fields hold spaces, name what stands between them: "
            "delimiter = \"\\t\""
          : "every line needs as many fields";
  return {ErrorCode::kData,
          fmt::format("{} fields, but the first line has {}", fields, layout.columns.size()),
          hint,
          place};
}

}  // namespace

bool is_of_numbers(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
}

bool is_list_row(std::string_view line, const ListLayout& layout) {
  const std::size_t first = line.find_first_not_of(blanks_of(layout));
  return first != std::string_view::npos && layout.comment.find(line[first]) == std::string::npos;
}

bool is_blank_list_line(std::string_view line, const ListLayout& layout) {
  return line.find_first_not_of(blanks_of(layout)) == std::string_view::npos;
}

std::vector<std::string_view> split_list_line(std::string_view line, const ListLayout& layout) {
  std::vector<std::string_view> fields;
  if (layout.delimiter != '\0') {
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t end = std::min(line.find(layout.delimiter, at), line.size());
      fields.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    return fields;
  }
  for (std::size_t at = line.find_first_not_of(" \t"); at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t", end);
  }
  return fields;
}

std::optional<Error> diagnose_list_bytes(std::string_view line, const Place& place) {
  if (line.find('\0') != std::string_view::npos)
    return Error(ErrorCode::kData, "a NUL byte", "is this a text file?", place);
  if (line.find('\r') != std::string_view::npos) {
    return Error(ErrorCode::kData,
                 "a carriage return in the middle of the line",
                 "end lines with LF or CRLF",
                 place);
  }
  return std::nullopt;
}

std::optional<Error> diagnose_list_line(std::string_view line,
                                        std::int64_t number,
                                        const ListLayout& layout) {
  const Place place{layout.file, number, -1, -1};
  if (auto error = diagnose_list_bytes(line, place)) return error;
  if (!is_list_row(line, layout)) return std::nullopt;
  if (is_header_again(split_list_line(without_mark(line), layout), layout.header_names))
    return header_again_error(place);
  const auto fields = split_list_line(line, layout);
  if (fields.size() != layout.columns.size())
    return field_count_error(fields.size(), layout, place);
  for (std::size_t i = 0; i < layout.requests.size(); ++i) {
    const ColumnRequest& request = layout.requests[i];
    auto fault = cell_fault(fields[layout.positions[i]], request);
    if (!fault) continue;
    if (request.type != ColumnType::kText)
      fault->hint = hint_in_header(fields, "", request.use, fault->hint);
    return Error(ErrorCode::kData,
                 fmt::format("column '{}': {}", request.name, fault->reason),
                 fault->hint,
                 place);
  }
  return std::nullopt;
}

std::optional<std::int64_t> list_header_line(std::string_view block,
                                             std::int64_t first_line,
                                             const std::vector<std::size_t>& rows,
                                             const ListLayout& layout) {
  std::int64_t number = first_line;
  std::size_t row = 0;
  auto next = rows.begin();
  for (std::size_t at = 0; at < block.size() && next != rows.end(); ++number) {
    const std::string_view line = next_csv_line(block, at);
    if (!is_list_row(line, layout) || row++ != *next) continue;
    if (is_header_again(split_list_line(without_mark(line), layout), layout.header_names))
      return number;
    ++next;
  }
  return std::nullopt;
}

std::int64_t list_line_of_row(std::string_view block,
                              std::int64_t first_line,
                              std::uint64_t row,
                              const ListLayout& layout) {
  std::int64_t line = first_line;
  for (std::size_t at = 0; at < block.size(); ++line) {
    if (!is_list_row(next_csv_line(block, at), layout)) continue;
    if (row == 0) return line;
    --row;
  }
  return line;
}

}  // namespace sluice
