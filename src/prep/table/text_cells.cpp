#include "prep/table/text_cells.h"

#include "core/utf8.h"
#include "prep/table/column_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

namespace sluice {
namespace {

template <class Number>
std::errc parse_number(std::string_view text, Number& value) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{}) return problem;
  return end == text.data() + text.size() ? std::errc{} : std::errc::invalid_argument;
}

struct WideBlank {
  std::string_view utf8, shown;
};

/// Blanks that are neither a space nor a tab, and what has no width.
constexpr std::array kWideBlanks{WideBlank{"\u00a0", "<U+00A0>"}, WideBlank{"\u1680", "<U+1680>"},
                                 WideBlank{"\u2000", "<U+2000>"}, WideBlank{"\u2001", "<U+2001>"},
                                 WideBlank{"\u2002", "<U+2002>"}, WideBlank{"\u2003", "<U+2003>"},
                                 WideBlank{"\u2004", "<U+2004>"}, WideBlank{"\u2005", "<U+2005>"},
                                 WideBlank{"\u2006", "<U+2006>"}, WideBlank{"\u2007", "<U+2007>"},
                                 WideBlank{"\u2008", "<U+2008>"}, WideBlank{"\u2009", "<U+2009>"},
                                 WideBlank{"\u200a", "<U+200A>"}, WideBlank{"\u200b", "<U+200B>"},
                                 WideBlank{"\u2028", "<U+2028>"}, WideBlank{"\u2029", "<U+2029>"},
                                 WideBlank{"\u202f", "<U+202F>"}, WideBlank{"\u205f", "<U+205F>"},
                                 WideBlank{"\u2060", "<U+2060>"}, WideBlank{"\u3000", "<U+3000>"},
                                 WideBlank{"\ufeff", "<U+FEFF>"}};

}  // namespace

std::string shown_cell(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string out;
  const std::string_view shown = text.substr(0, kLongest);
  for (std::size_t at = 0; at < shown.size(); ++at) {
    const char c = shown[at];
    const auto blank = std::ranges::find_if(kWideBlanks, [&](const WideBlank& each) {
      return shown.substr(at).starts_with(each.utf8);
    });
    if (blank != kWideBlanks.end()) {
      out += blank->shown;
      at += blank->utf8.size() - 1;
      continue;
    }
    const bool plain = static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    out += plain ? std::string(1, c)
                 : fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return fmt::format("'{}{}'", out, text.size() > kLongest ? "..." : "");
}

std::string_view trimmed_cell(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string_view without_blanks(std::string_view text) {
  for (std::size_t before = text.size() + 1; before != text.size();) {
    before = text.size();
    text = trimmed_cell(text);
    if (text.empty()) return text;
    const bool ascii = static_cast<unsigned char>(text.front()) < 0x80 &&
                       static_cast<unsigned char>(text.back()) < 0x80;
    if (ascii) return text;
    for (const WideBlank& blank : kWideBlanks) {
      if (text.starts_with(blank.utf8)) text.remove_prefix(blank.utf8.size());
      if (text.ends_with(blank.utf8)) text.remove_suffix(blank.utf8.size());
    }
  }
  return text;
}

std::errc parse_integer_cell(std::string_view text, std::int64_t& value) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return parse_number(text, value);
  const bool digits = text.size() > 2 && text.size() <= 18 &&
                      text.find_first_not_of("0123456789abcdefABCDEF", 2) == text.npos;
  if (!digits) return std::errc::invalid_argument;
  std::uint64_t bits = 0;
  std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  value = static_cast<std::int64_t>(bits);
  return std::errc{};
}

std::errc parse_real_cell(std::string_view text, double& value) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const std::errc problem = parse_number(text, value);
  if (problem != std::errc::result_out_of_range) return problem;
  value = std::strtod(std::string(text).c_str(), nullptr);
  return std::errc{};
}

namespace {

/// "0,5" and "1,200": numbers, but for their commas.
bool is_number_with_commas(std::string_view text) {
  std::string digits(text);
  double value = 0;
  return std::erase(digits, ',') != 0 && text.front() != ',' && text.back() != ',' &&
         parse_real_cell(digits, value) == std::errc{};
}

/// What parts a text into numbers, as "1;2" does; nothing where it is none, or a comma.
std::optional<char> parts_numbers(std::string_view text) {
  const std::size_t at = text.find_first_of(";|\t");
  if (at == std::string_view::npos) return std::nullopt;
  const char parts = text[at];
  for (std::size_t begin = 0, end = 0; end != text.size(); begin = end + 1) {
    end = std::min(text.find(parts, begin), text.size());
    const std::string_view part = trimmed_cell(text.substr(begin, end - begin));
    double value = 0;
    if (parse_real_cell(part, value) != std::errc{} && !is_number_with_commas(part))
      return std::nullopt;
  }
  return parts;
}

std::optional<CellFault> number_fault(std::string_view text, ColumnType type, ColumnUse use) {
  std::int64_t integer = 0;
  double real = 0;
  const std::errc problem = type == ColumnType::kInteger ? parse_integer_cell(text, integer)
                                                         : parse_real_cell(text, real);
  if (problem == std::errc{}) return std::nullopt;
  if (problem == std::errc::result_out_of_range) {
    return CellFault{fmt::format("{} is beyond a 64-bit integer", shown_cell(text)),
                     hint_beyond_integers(use)};
  }
  const std::string_view bare = without_blanks(text);
  if (bare != text && parse_real_cell(bare, real) == std::errc{})
    return CellFault{fmt::format("{} is not a number", shown_cell(text)),
                     "a blank that is no space stands beside it: take it out of the file"};
  if (const auto parts = parts_numbers(text))
    return CellFault{fmt::format("{} is not a number", shown_cell(text)),
                     fmt::format("'{0}' parts numbers here: say [csv] delimiter = \"{0}\"",
                                 *parts == '\t' ? "\\t" : std::string(1, *parts))};
  if (use == ColumnUse::kIds && is_truth_word(text))
    return CellFault{fmt::format("{} is a bool, where ids are asked", shown_cell(text)),
                     kTruthsAsIds};
  if (use != ColumnUse::kIds && is_number_with_commas(text))
    return CellFault{fmt::format("{} is not a number", shown_cell(text)),
                     "numbers have a point before their fraction, and no comma: 0.5, 1200"};
  if (type == ColumnType::kInteger) {
    const bool is_real = parse_real_cell(text, real) == std::errc{};
    return CellFault{fmt::format("{} is not an integer", shown_cell(text)),
                     is_real ? hint_for_fraction(use, false) : hint_for_text(use)};
  }
  return CellFault{fmt::format("{} is not a number", shown_cell(text)), hint_for_text(use)};
}

}  // namespace

std::optional<CellFault> cell_fault(std::string_view cell, const ColumnRequest& request) {
  if (request.type == ColumnType::kText) {
    if (!valid_utf8(cell))
      return CellFault{fmt::format("{} is not valid UTF-8", shown_cell(cell)),
                       "save the file as UTF-8"};
    return std::nullopt;
  }
  const std::string_view text = trimmed_cell(cell);
  if (text.empty()) {
    if (request.empty == EmptyCell::kMissing) return std::nullopt;
    return CellFault{"the cell is empty", hint_for_missing(request.use)};
  }
  return number_fault(text, request.type, request.use);
}

}  // namespace sluice
