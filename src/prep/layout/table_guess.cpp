#include "prep/layout/table_guess.h"

#include "prep/table/csv_text.h"
#include "prep/table/market_banner.h"
#include "prep/table/text_cells.h"
#include "prep/table/text_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string_view>

namespace sluice {
namespace {

using namespace std::string_view_literals;
using Names = std::span<const std::string_view>;
constexpr std::array kSources{"src"sv,
                              "source"sv,
                              "from"sv,
                              "u"sv,
                              "head"sv,
                              "src_id"sv,
                              "source_id"sv,
                              "from_id"sv,
                              "node1"sv,
                              "node_1"sv,
                              "subject"sv,
                              "sender"sv,
                              "row"sv,
                              "start"sv,
                              "s"sv,
                              "h"sv};
constexpr std::array kTargets{"dst"sv,
                              "target"sv,
                              "to"sv,
                              "v"sv,
                              "tail"sv,
                              "dest"sv,
                              "destination"sv,
                              "dst_id"sv,
                              "target_id"sv,
                              "to_id"sv,
                              "node2"sv,
                              "node_2"sv,
                              "object"sv,
                              "receiver"sv,
                              "col"sv,
                              "end"sv,
                              "t"sv};
constexpr std::array kTimes{
    "time"sv, "ts"sv, "timestamp"sv, "unixtime"sv, "unix_time"sv, "datetime"sv, "year"sv};
constexpr std::array kWeights{"weight"sv, "w"sv, "weights"sv, "edge_weight"sv, "data"sv};
constexpr std::array kTypes{
    "type"sv, "relation"sv, "rel"sv, "edge_type"sv, "etype"sv, "predicate"sv, "layer"sv, "r"sv};
constexpr std::array kLabels{"label"sv, "y"sv, "edge_label"sv};

bool is_one_of(const std::string& name, Names names) {
  std::string lower;
  for (const char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(names.begin(), names.end(), lower) != names.end();
}

bool is_known(const std::string& name) {
  return is_one_of(name, kSources) || is_one_of(name, kTargets) || is_one_of(name, kTimes) ||
         is_one_of(name, kWeights) || is_one_of(name, kTypes) || is_one_of(name, kLabels);
}

bool is_number(const std::string& text) {
  double value = 0;
  return parse_real_cell(trimmed_cell(text), value) == std::errc{};
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

/// Whether the first line names columns: it has no numbers where the next has, or known names.
bool looks_like_header(const std::vector<std::string>& first,
                       const std::vector<std::string>& second) {
  if (std::any_of(first.begin(), first.end(), is_number)) return false;
  if (std::any_of(first.begin(), first.end(), is_known)) return true;
  return first.size() == second.size() && std::any_of(second.begin(), second.end(), is_number);
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

namespace {

/// Finds the columns of edges in a table that was looked at.
class EdgeColumnsGuess {
 public:
  explicit EdgeColumnsGuess(EdgeGuess& guess) : guess_(guess), columns_(guess.glance.columns) {}

  void run() {
    if (by_matrix() || by_names() || by_types() || by_places()) return;
  }

 private:
  static constexpr std::int64_t kFirstTime = 100'000'000;  // seconds: the year 1973

  std::string name(std::size_t at) const { return columns_[at].info.name; }

  bool by_matrix() {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const ColumnInfo& info = columns_[i].info;
      const bool index = info.name == "edge_index" && info.width != 1;
      const ColumnGlance& seen = columns_[i];
      const bool pairs = info.width == 2 &&
                         (seen.beyond || (seen.integers && !seen.different.empty())) && !info.truth;
      if (!index && !pairs) continue;
      if (columns_.size() > 1) guess_.source = guess_.target = info.name;
      guess_.source_at = guess_.target_at = {i};
      guess_.why = "an array of pairs";
      return true;
    }
    return false;
  }

  std::optional<std::size_t> find(Names names) const {
    for (const std::string_view candidate : names)
      for (std::size_t i = 0; i < columns_.size(); ++i)
        if (columns_[i].info.width == 1 && is_one_of(name(i), {&candidate, 1})) return i;
    return std::nullopt;
  }

  bool by_names() {
    const auto source = find(kSources), target = find(kTargets);
    if (!source || !target || source == target) return false;
    set_ends(*source, *target);
    guess_.why = "by the names of the columns";
    if (const auto type = find(kTypes)) guess_.type = name(*type);
    if (const auto time = find(kTimes)) set_time(*time);
    if (const auto weight = find(kWeights)) set_weight(*weight);
    if (const auto label = find(kLabels)) guess_.label = name(*label);
    return true;
  }

  void set_ends(std::size_t source, std::size_t target) {
    guess_.source_at = {source};
    guess_.target_at = {target};
    if (source != 0 || target != 1) {
      guess_.source = name(source);
      guess_.target = name(target);
    }
  }

  void set_time(std::size_t at) {
    if (!columns_[at].numbers) {
      guess_.doubt += fmt::format(" The column {} is no number, and no time therefore.", name(at));
      return;
    }
    guess_.time = name(at);
    if (columns_[at].integers) return;
    guess_.time_scale = 1;
    guess_.doubt +=
        fmt::format(" Times of {} have fractions: they are rounded, after time_scale.", name(at));
  }

  void set_weight(std::size_t at) {
    if (columns_[at].numbers) guess_.weight = name(at);
  }

  bool is_id(std::size_t at) const {
    const ColumnGlance& column = columns_[at];
    return column.info.width == 1 && (column.integers || !column.numbers) && !column.missing &&
           !(column.info.dtype && !column.integers && !column.beyond);
  }

  /// type, source, target: few types, of many ids.
  bool by_types() {
    if (columns_.size() < 3 || columns_.size() > 4 || !is_id(0) || !is_id(1) || !is_id(2))
      return false;
    const auto different = [&](std::size_t i) {
      return std::max(columns_[i].different.size(), columns_[i].texts.size());
    };
    const bool named = name(1) == "relation";  // triples
    const bool few = different(0) * 20 <= guess_.glance.rows && different(0) <= 1000 &&
                     different(1) > 10 * different(0) && different(2) > 10 * different(0);
    if (named || !few) return false;
    const bool last = columns_.size() == 3 || columns_[3].within(0, 1);
    if (!last) return false;
    guess_.format = guess_.format == "list" ? "multiplex" : guess_.format;
    const bool multiplex = guess_.format == "multiplex";
    guess_.type = multiplex ? "type" : name(0);
    guess_.source_at = {1};
    guess_.target_at = {2};
    guess_.source = multiplex ? "source" : name(1);
    guess_.target = multiplex ? "target" : name(2);
    guess_.why = fmt::format("the first column has {} values only: it is the type", different(0));
    return true;
  }

  bool by_places() {
    if (columns_.size() < 2 || !is_id(0) || !is_id(1)) return false;
    set_ends(0, 1);
    guess_.why = "the first two columns";
    for (std::size_t i = 2; i < columns_.size(); ++i) {
      const ColumnGlance& column = columns_[i];
      if (column.info.width != 1 || !column.numbers || column.missing) {
        guess_.doubt += fmt::format(" The column {} is left out: it is no number.", name(i));
      } else if (guess_.time.empty() && column.integers && column.least >= kFirstTime) {
        guess_.time = name(i);
        guess_.why += fmt::format("; {} looks like seconds since 1970", name(i));
      } else if (guess_.weight.empty() && !column.integers) {
        guess_.weight = name(i);
        guess_.why += fmt::format("; {} has fractions, as weights have", name(i));
      } else {
        guess_.doubt += fmt::format(
            " The column {} is left out: is it weight_column, time_column, type_column?", name(i));
      }
    }
    return true;
  }

  EdgeGuess& guess_;
  const std::vector<ColumnGlance>& columns_;
};

}  // namespace

EdgeGuess guess_edges(const FileSet& files,
                      const std::string& name,
                      const std::string& format,
                      const TableOptions& options) {
  EdgeGuess guess;
  guess.file = name;
  guess.format = format;
  const std::string read_as = format == "auto" ? files.format_of(name) : format;
  if (read_as == "graphs" || read_as == "metis") guess.table = "edges";
  const std::string file = guess.table.empty() ? name : name + "#" + guess.table;
  guess.glance = glance_at(files, file, format, options);
  EdgeColumnsGuess(guess).run();
  return guess;
}

}  // namespace sluice
