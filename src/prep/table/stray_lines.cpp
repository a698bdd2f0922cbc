#include "prep/table/stray_lines.h"

#include "prep/table/column_use.h"
#include "prep/table/csv_text.h"
#include "prep/table/text_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <system_error>

namespace sluice {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Whether a header's name would read as the value that is asked for, and as which.
bool reads_as_number(const std::string& name,
                     const ColumnRequest& request,
                     std::int64_t& integer,
                     double& real) {
  if (name.empty()) {
    integer = -1;
    real = std::numeric_limits<double>::quiet_NaN();
    return request.empty == EmptyCell::kMissing;
  }
  return (request.type == ColumnType::kInteger ? parse_integer_cell(name, integer)
                                               : parse_real_cell(name, real)) == std::errc{};
}

bool is_column_word(std::string_view field) {
  const auto first = static_cast<unsigned char>(field.front());
  double number = 0;
  return (std::isalpha(first) != 0 || first == '_' || first >= 0x80) &&
         parse_real_cell(field, number) != std::errc{};
}

}  // namespace

HeaderProbe::HeaderProbe(const std::vector<std::string>& names,
                         const std::vector<ColumnRequest>& requests,
                         const std::vector<std::size_t>& positions) {
  if (names.empty()) return;
  bool has_text = false;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::string& name = names[positions[i]];
    const bool text = requests[i].type == ColumnType::kText;
    std::int64_t integer = -1;
    double real = 0;
    if (!text && !reads_as_number(name, requests[i], integer, real)) {
      request_ = std::nullopt;  // a header again does not parse: the reader says why
      return;
    }
    // The best is a text with nothing before it.
    const bool better = !request_ || (text && (!has_text || (first_ && positions[i] != 0)));
    if (!better) continue;
    request_ = i;
    type_ = requests[i].type;
    first_ = positions[i] == 0;
    name_ = name;
    integer_ = integer;
    real_ = real;
    has_text = has_text || text;
  }
}

std::vector<std::size_t> HeaderProbe::candidates(const ColumnValues& values,
                                                 std::size_t rows) const {
  std::vector<std::size_t> found;
  const auto collect = [&](const auto& may_be) {
    for (std::size_t row = 0; row < rows; ++row)
      if (may_be(row)) found.push_back(row);
  };
  if (type_ == ColumnType::kInteger) {
    collect([&](std::size_t row) { return values.integers[row] == integer_; });
  } else if (type_ == ColumnType::kReal) {
    collect([&](std::size_t row) {
      return values.reals[row] == real_ || (std::isnan(real_) && std::isnan(values.reals[row]));
    });
  } else {
    // A mark hides a quote behind it from the parser: both stay in the text.
    const std::size_t most = name_.size() + (first_ ? kByteOrderMark.size() + 2 : 0);
    const auto& offsets = values.text.offsets;
    collect([&](std::size_t row) {
      const auto size = static_cast<std::size_t>(offsets[row + 1] - offsets[row]);
      return size >= name_.size() && size <= most &&
             values.text[row].find(name_) != std::string_view::npos;
    });
  }
  return found;
}

std::string_view without_mark(std::string_view line) {
  if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  return line;
}

bool is_header_again(const std::vector<std::string_view>& fields,
                     const std::vector<std::string>& names) {
  return !names.empty() && std::equal(fields.begin(),
                                      fields.end(),
                                      names.begin(),
                                      names.end(),
                                      [](std::string_view field, const std::string& name) {
                                        return trimmed_cell(field) == name;
                                      });
}

Error header_again_error(const Place& place, const std::string& how_to_keep_a_first_line) {
  const std::string row =
      how_to_keep_a_first_line.empty()
          ? ""
          : "; if the first line is a row and names no columns, say " + how_to_keep_a_first_line;
  return {ErrorCode::kData,
          "the header stands here again, among the rows",
          "take the line out; files that each begin with a header need not be put together: file = "
          "\"FOLDER/*.csv\"" +
              row,
          place};
}

std::optional<std::string> header_hint(const std::vector<std::string_view>& fields,
                                       const std::string& how_to_keep_a_first_line) {
  std::vector<std::string_view> names;
  for (const std::string_view field : fields) {
    const std::string_view name = trimmed_cell(field);
    if (name.empty() || !is_column_word(name)) return std::nullopt;
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  if (std::adjacent_find(names.begin(), names.end()) != names.end()) return std::nullopt;
  return fmt::format(
      "is this a header? Then take the line out{}; only where ids are text say ids = \"string\"",
      how_to_keep_a_first_line.empty() ? ""
                                       : ", or for a first line say " + how_to_keep_a_first_line);
}

std::string hint_in_header(const std::vector<std::string_view>& fields,
                           const std::string& how_to_keep_a_first_line,
                           ColumnUse use,
                           const std::string& hint) {
  const auto header = header_hint(fields, how_to_keep_a_first_line);
  if (!header || std::any_of(fields.begin(), fields.end(), is_truth_word)) return hint;
  if (use == ColumnUse::kIds || use == ColumnUse::kOther) return *header;
  return fmt::format(
      "{}; or is the line a header? Then take it out{}",
      hint,
      how_to_keep_a_first_line.empty()
          ? ""
          : fmt::format(", or for a first line say {}, which holds for all CSV files",
                        how_to_keep_a_first_line));
}

std::optional<Error> leading_count_error(
    const std::vector<std::string>& lines,
    const std::function<std::vector<std::string>(const std::string& line)>& split,
    const Place& place) {
  if (lines.size() < 2) return std::nullopt;
  const std::vector<std::string> first = split(lines[0]), second = split(lines[1]);
  const bool numbers = std::all_of(first.begin(), first.end(), [](const std::string& field) {
    std::int64_t count = 0;
    return parse_integer_cell(trimmed_cell(field), count) == std::errc{} && count >= 0;
  });
  if (first.empty() || !numbers || first.size() >= second.size()) return std::nullopt;
  if (first.size() > 1) {
    // Two lines that differ say little of which is wrong; the third does.
    constexpr std::size_t kShort = 120;
    const bool third = lines.size() == kCountLines &&
                       lines[0].size() + lines[1].size() + lines[2].size() < kShort &&
                       split(lines[2]).size() == second.size();
    if (!third) return std::nullopt;
  }
  return Error(ErrorCode::kData,
               fmt::format("the line holds {}, '{}', and no row of {} fields as the next one",
                           first.size() == 1 ? "a count" : "a size",
                           lines[0],
                           second.size()),
               "take the line out: tail -n +2 FILE > OTHER",
               place);
}

std::optional<std::int64_t> BlankLines::before_rows(std::string_view block,
                                                    std::int64_t first_line,
                                                    std::int64_t lines,
                                                    std::size_t rows,
                                                    const IsBlank& is_blank,
                                                    const IsRow& is_row) {
  if (static_cast<std::int64_t>(rows) == lines) return lines == 0 ? std::nullopt : pending_;
  std::int64_t number = first_line;
  for (std::size_t at = 0; at < block.size(); ++number) {
    const std::string_view line = next_csv_line(block, at);
    if (is_blank(line)) {
      note(number);
    } else if (pending_ && is_row(line)) {
      return pending_;
    }
  }
  return std::nullopt;
}

Error blank_line_error(const Place& place, const std::string& empty) {
  return {ErrorCode::kData,
          "the line is blank, and in a file of one column each line is a row",
          fmt::format("is a value missing here? Then write nan{}; else take the line out",
                      empty.empty() ? "" : ", or " + empty),
          place};
}

}  // namespace sluice
