#include "prep/table/csv_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace sluice {
namespace {

/// A value as a message shows it: quoted, clipped, and free of control characters.
std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string out;
  for (const char c : text.substr(0, kLongest)) {
    const bool plain = static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    out += plain ? std::string(1, c)
                 : fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return fmt::format("'{}{}'", out, text.size() > kLongest ? "..." : "");
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Length of the well-formed UTF-8 sequence at the front of `text`, or 0.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool beyond = (lead == 0xed && second >= 0xa0) || (lead == 0xf4 && second >= 0x90);
  return overlong || beyond ? 0 : length;
}

bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

struct Fault {
  std::string reason;
  std::string hint;
};

template <class Number>
std::errc parse_number(std::string_view text, Number& value) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{}) return problem;
  return end == text.data() + text.size() ? std::errc{} : std::errc::invalid_argument;
}

/// As Arrow reads integers, which knows hexadecimal ones too.
std::errc parse_integer(std::string_view text) {
  std::int64_t value = 0;
  if (!text.starts_with("0x") && !text.starts_with("0X")) return parse_number(text, value);
  const bool digits = text.size() > 2 && text.size() <= 18 &&
                      text.find_first_not_of("0123456789abcdefABCDEF", 2) == text.npos;
  return digits ? std::errc{} : std::errc::invalid_argument;
}

/// As Arrow reads reals, which takes a plus sign.
std::errc parse_real(std::string_view text) {
  double value = 0;
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return parse_number(text, value);
}

std::optional<Fault> number_fault(std::string_view text, ColumnType type) {
  const std::errc problem = type == ColumnType::kInteger ? parse_integer(text) : parse_real(text);
  if (problem == std::errc{}) return std::nullopt;
  if (problem == std::errc::result_out_of_range && type == ColumnType::kInteger) {
    return Fault{fmt::format("{} is beyond a 64-bit integer", shown(text)),
                 "use string ids for numbers this long"};
  }
  if (problem == std::errc::result_out_of_range) return std::nullopt;
  if (type == ColumnType::kInteger) {
    const bool is_real = parse_real(text) == std::errc{};
    return Fault{fmt::format("{} is not an integer", shown(text)),
                 is_real ? "write whole numbers without a point"
                         : "for ids that are text say ids = \"string\""};
  }
  return Fault{fmt::format("{} is not a number", shown(text)),
               "numbers are written like 12, -0.5 or 1e-3"};
}

std::optional<Fault> cell_fault(const CsvField& field, const ColumnRequest& request) {
  if (request.type == ColumnType::kText) {
    if (!valid_utf8(field.text))
      return Fault{fmt::format("{} is not valid UTF-8", shown(field.text)),
                   "save the file as UTF-8"};
    return std::nullopt;
  }
  const std::string_view text = trimmed(field.text);
  if (text.empty()) {
    if (request.empty == EmptyCell::kMissing) return std::nullopt;
    return Fault{"the cell is empty", "every row needs a value here"};
  }
  return number_fault(text, request.type);
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
  if (fields.size() != layout.columns.size()) {
    return error(
        fmt::format(
            "{} fields, but the header names {} columns", fields.size(), layout.columns.size()),
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
    if (auto fault = cell_fault(fields[layout.positions[i]], layout.requests[i])) {
      return error(fmt::format("column '{}': {}", layout.requests[i].name, fault->reason),
                   fault->hint);
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
                                         char delimiter,
                                         std::int64_t line_number,
                                         const std::string& file) {
  const auto fail = [&](std::string message, std::string hint) {
    throw Error(
        ErrorCode::kData, std::move(message), std::move(hint), Place{file, line_number, -1, -1});
  };
  if (line.find('\0') != std::string_view::npos)
    fail("the header holds a NUL byte", "is this a text file?");
  if (line.find('\r') != std::string_view::npos)
    fail("a carriage return in the middle of the header", "end lines with LF or CRLF");
  if (!valid_utf8(line)) fail("the header is not valid UTF-8", "save the file as UTF-8");
  std::vector<ColumnInfo> columns;
  bool numbers_only = true;
  for (const CsvField& field : split_csv_line(line, delimiter)) {
    if (!field.closed) fail("the header has a quote that does not end", "close the quote");
    const std::string name(trimmed(field.text));
    double number = 0;
    numbers_only = numbers_only && parse_number(name, number) == std::errc{};
    columns.push_back({name, std::nullopt, 1});
  }
  if (numbers_only)
    fail("the first line holds numbers, not column names",
         "put a header such as 'src,dst' before the data");
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
