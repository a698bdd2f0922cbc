#include "prep/layout/table_guess.h"

#include "prep/layout/role_names.h"
#include "prep/table/column_names.h"
#include "prep/table/column_use.h"
#include "prep/table/csv_text.h"
#include "prep/table/market_banner.h"
#include "prep/table/text_cells.h"
#include "prep/table/text_source.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice {
namespace {

bool is_known(const std::string& name) {
  const auto known = [&](NameList names) { return is_called(name, names); };
  return known(kSourceNames) || known(kTargetNames) || known(kTimeNames) || known(kWeightNames) ||
         known(kTypeNames) || known(kLabelNames) || is_id_name(name);
}

bool is_number(const std::string& text) {
  double value = 0;
  return parse_real_cell(trimmed_cell(text), value) == std::errc{};
}

/// What is no name of a column.
bool is_value(const std::string& text) {
  return is_number(text) || is_truth_word(text);
}

std::vector<std::string> split_line(const std::string& line, char delimiter) {
  std::vector<std::string> fields;
  if (delimiter != '\0') {
    for (CsvField& field : split_csv_line(line, delimiter)) fields.push_back(std::move(field.text));
    return fields;
  }
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t begin = std::min(line.find_first_not_of(" \t", at), line.size());
    const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    if (end > begin) fields.push_back(line.substr(begin, end - begin));
    at = end;
  }
  return fields;
}

/// Whether the first line names columns: it has no numbers and truth values where the next has, or
/// known names.
bool looks_like_header(const std::vector<std::string>& first,
                       const std::vector<std::string>& second) {
  if (std::any_of(first.begin(), first.end(), is_value)) return false;
  if (std::any_of(first.begin(), first.end(), is_known)) return true;
  return first.size() == second.size() && std::any_of(second.begin(), second.end(), is_value);
}

/// A line with a number of graphs, one "nodes label", then lines "tag degree neighbour...".
bool looks_like_graphs(const std::vector<std::string>& lines) {
  if (lines.size() < 3) return false;
  const auto fields = [&](std::size_t at) { return split_line(lines[at], '\0'); };
  if (fields(0).size() != 1 || fields(1).size() != 2 || !is_number(fields(0)[0])) return false;
  const auto node = fields(2);
  std::int64_t degree = 0;
  return node.size() >= 2 && parse_integer_cell(node[1], degree) == std::errc{} && degree >= 0 &&
         node.size() >= 2 + static_cast<std::size_t>(std::min<std::int64_t>(degree, 1 << 20));
}

char delimiter_of(const std::vector<std::string>& lines, char usual) {
  const auto in_all = [&](char c) {
    return std::all_of(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find(c) != std::string::npos;
    });
  };
  if (lines.empty()) return usual;
  for (const char c : {usual, ',', '\t', ';', '|'})
    if (c != '\0' && in_all(c)) return c;
  return usual == '\0' ? '\0' : in_all(' ') ? ' ' : usual;
}

std::string csv_options(bool header, char delimiter, char usual) {
  std::string options = header ? "" : "header = \"no\"\n";
  if (delimiter == '\t' && usual != '\t') options += "delimiter = \"\\t\"\n";
  if (delimiter != '\t' && delimiter != usual)
    options += fmt::format("delimiter = \"{}\"\n", delimiter);
  return options;
}

TextGuess guess_csv(const std::vector<std::string>& lines, char usual) {
  TextGuess guess;
  const char delimiter = delimiter_of(lines, usual);
  const auto first = split_line(lines[0], delimiter);
  const bool header = looks_like_header(
      first, lines.size() > 1 ? split_line(lines[1], delimiter) : std::vector<std::string>());
  guess.options = csv_options(header, delimiter, usual);
  if (!header) guess.why = "the first line holds no names of columns";
  guess.unsure = !header && std::none_of(first.begin(), first.end(), is_value);
  return guess;
}

/// Text of an extension that says little.
TextGuess guess_list(const std::vector<std::string>& lines) {
  TextGuess guess;
  if (looks_like_graphs(lines)) {
    guess.format = "graphs";
    guess.why = "it begins with a number of graphs, and a graph's nodes and label";
    return guess;
  }
  const char delimiter = delimiter_of(lines, '\0');
  const auto first = split_line(lines[0], delimiter);
  const auto second = lines.size() > 1 ? split_line(lines[1], delimiter) : first;
  const bool header = looks_like_header(first, second) && first.size() == second.size();
  if (delimiter == '\t' && first.size() == 3 && !header && !is_number(first[1])) {
    guess.format = "triples";
    guess.why = "three columns, parted by tabs, and text in the middle";
    return guess;
  }
  if (header || (delimiter != '\0' && delimiter != '\t')) {
    guess.format = "csv";
    guess.options = csv_options(header, delimiter == '\0' ? ' ' : delimiter, ',');
    guess.why = header ? "the first line names columns" : "fields are parted by commas or the like";
    return guess;
  }
  guess.format = "list";
  if (first.size() == 3 && !is_number(first[1])) {
    guess.format = "triples";
    guess.why = "three columns, and text in the middle";
  }
  return guess;
}

}  // namespace

TextGuess guess_text(const FileSet& files, const std::string& name) {
  const std::string known = files.format_of(name);
  TextGuess guess;
  const bool text = known == "csv" || known == "list" || known == "metis" || known == "mtx";
  if (const auto front = text ? files.first_lines(name, 1) : std::vector<std::string>();
      !front.empty() && parse_market_banner(front[0])) {
    guess.format = "mtx";
    guess.why = "it begins with %%MatrixMarket";
    return guess;
  }
  if (known != "csv" && known != "list") {
    // A raw file says nothing of what it holds: a user must.
    if (known.empty() || known == "raw") guess.format.clear();
    return guess;
  }
  std::vector<std::string> lines = files.first_lines(name, 64);
  std::erase_if(lines, [&](const std::string& line) {
    return line.empty() || (known == "list" && (line[0] == '#' || line[0] == '%'));
  });
  if (lines.empty()) return {"", "", ""};
  if (known == "list") return guess_list(lines);
  return guess_csv(lines, text_extension(name) == ".tsv" ? '\t' : ',');
}

}  // namespace sluice
