// Which columns of a table hold edges, and what the others beside them are.
#include "prep/layout/role_names.h"
#include "prep/layout/table_guess.h"
#include "prep/table/dates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace sluice {
namespace {

constexpr const char* kDatesAreTexts =
    "its dates are texts; time_column takes them, with time_unit = \"s\"";

// The coarsest unit that rounds none of a column's texts, all of which are dates as they are read;
// nothing where one is not.
std::optional<TickUnit> unit_of_dates(const ColumnGlance& column) {
  if (column.texts.empty() || !column.different.empty()) return std::nullopt;
  constexpr std::size_t kDateAlone = std::string_view("2024-05-31").size();
  TickUnit finest = TickUnit::kDays;
  for (const std::string& text : column.texts) {
    const std::optional<Moment> moment = parse_moment(text);
    if (!moment) return std::nullopt;
    const TickUnit unit = text.size() == kDateAlone        ? TickUnit::kDays
                          : moment->nanos == 0             ? TickUnit::kSeconds
                          : moment->nanos % 1'000'000 == 0 ? TickUnit::kMilliseconds
                          : moment->nanos % 1000 == 0      ? TickUnit::kMicroseconds
                                                           : TickUnit::kNanoseconds;
    finest = std::max(finest, unit);
  }
  return finest;
}

/// Finds the columns of edges in a table that was looked at.
class EdgeColumnsGuess {
 public:
  explicit EdgeColumnsGuess(EdgeGuess& guess) : guess_(guess), columns_(guess.glance.columns) {}

  void run() {
    if (by_matrix() || by_names() || by_types() || by_places()) return;
  }

 private:
  std::string name(std::size_t at) const { return columns_[at].info.name; }

  template <class... Args>
  void doubt(fmt::format_string<Args...> text, Args&&... args) {
    guess_.doubt += ' ';
    guess_.doubt += fmt::format(text, std::forward<Args>(args)...);
  }
  void leave_out(std::size_t at, const std::string& why) {
    doubt("The column {} is left out: {}.", name(at), why);
  }

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
      guess_.signs = EdgeSigns::kNames;
      guess_.why = "an array of pairs";
      for (std::size_t other = 0; other < columns_.size(); ++other)
        if (other != i) leave_out(other, "it stands beside the pairs");
      return true;
    }
    return false;
  }

  std::optional<std::size_t> find(NameList names) const {
    for (const std::string_view candidate : names)
      for (std::size_t i = 0; i < columns_.size(); ++i)
        if (columns_[i].info.width == 1 && is_called(name(i), {&candidate, 1})) return i;
    return std::nullopt;
  }

  bool by_names() {
    const auto source = find(kSourceNames), target = find(kTargetNames);
    if (!source || !target || source == target) return false;
    set_ends(*source, *target);
    guess_.signs = EdgeSigns::kNames;
    guess_.why = "by the names of the columns";
    take_others();
    return true;
  }

  void set_ends(std::size_t source, std::size_t target) {
    guess_.source_at = {source};
    guess_.target_at = {target};
    // What the plain places would not give is said by name.
    const auto named = ends_by_name(infos());
    const bool plain = source == 0 && target == 1 && !is_edge_id_name(name(0)) &&
                       (!named || *named == std::pair<std::size_t, std::size_t>(0, 1));
    if (plain) return;
    guess_.source = name(source);
    guess_.target = name(target);
  }

  std::vector<ColumnInfo> infos() const {
    std::vector<ColumnInfo> all;
    all.reserve(columns_.size());
    for (const ColumnGlance& column : columns_) all.push_back(column.info);
    return all;
  }

  bool is_end(std::size_t at) const {
    return at == guess_.source_at.front() || at == guess_.target_at.front();
  }

  /// What the columns beside the ends are: by their names first, then by what they hold.
  void take_others() {
    const auto named = [&](NameList names) {
      const auto at = find(names);
      return at && !is_end(*at) ? at : std::nullopt;
    };
    const auto type = named(kTypeNames), time = named(kTimeNames), weight = named(kWeightNames),
               label = named(kLabelNames);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (is_end(i)) continue;
      const ColumnGlance& column = columns_[i];
      if (column.info.width != 1) {
        leave_out(i, "it has several numbers a row; features.columns takes it");
      } else if (is_index_name(name(i), i) || is_edge_id_name(name(i))) {
        leave_out(i, "it numbers the edges");
      } else if (!column.has_values()) {
        leave_out(i, "it is empty");
      } else if (take_directions(i) || (type == i && take_type(i)) || (time == i && take_time(i)) ||
                 (weight == i && take_weight(i)) || (label == i && take_label(i))) {
        continue;
      } else {
        take_unnamed(i);
      }
    }
  }

  /// A column that no name tells.
  void take_unnamed(std::size_t at) {
    const ColumnGlance& column = columns_[at];
    const bool named = is_called(name(at), kTypeNames) || is_called(name(at), kTimeNames) ||
                       is_called(name(at), kWeightNames) || is_called(name(at), kLabelNames);
    if (named) return;  // that said why it is left out
    if (looks_like_dates(column)) {
      leave_out(at, kDatesAreTexts);
    } else if (!column.numbers) {
      leave_out(at, "it is no number");
    } else if (column.missing) {
      leave_out(at, fmt::format("{} of its values are missing", column.empty));
    } else if (guess_.time.empty() && !find(kTimeNames) && looks_like_time(column) &&
               !ends_in_id(name(at))) {
      set_time(at);
      guess_.why += fmt::format("; {} looks like {} since 1970", name(at), unit_of(column));
    } else if (column.low < 0) {
      leave_out(at,
                "some of its numbers are negative, as no weights are; features.columns takes it");
    } else if (guess_.weight.empty() && !find(kWeightNames) && column.fractions &&
               column.high < kLargeWeight) {
      guess_.weight = name(at);
      guess_.why += fmt::format("; {} has fractions, as weights have", name(at));
    } else {
      leave_out(at, "is it weight_column, time_column, type_column?");
      guess_.doubt.pop_back();  // the question has its own end
    }
  }

  static const char* unit_of(const ColumnGlance& column) {
    if (column.low < 1e10) return "seconds";
    return column.low < 1e13   ? "thousandths of a second"
           : column.low < 1e16 ? "millionths of a second"
                               : "billionths of a second";
  }

  /// Gephi's words are no relations.
  bool take_directions(std::size_t at) {
    const ColumnGlance& column = columns_[at];
    if (column.texts.empty() || !column.different.empty() || column.texts.size() > 3) return false;
    bool one_way = false, both_ways = false;
    for (const std::string& text : column.texts) {
      const std::string word = lower_name(text);
      if (word != "directed" && word != "undirected" && word != "mutual") return false;
      (word == "directed" ? one_way : both_ways) = true;
    }
    guess_.directions = one_way && both_ways ? Directions::kBoth
                        : both_ways          ? Directions::kUndirected
                                             : Directions::kDirected;
    if (guess_.directions == Directions::kBoth)
      doubt(
          "Some edges are {0} by the column {1}, others not: all stand one way here, as in the "
          "file. Write those of two directions twice for both.",
          "Undirected",
          name(at));
    if (guess_.directions == Directions::kDirected)
      doubt("The column {} says that all edges are directed.", name(at));
    return true;
  }

  bool take_type(std::size_t at) {
    if (columns_[at].numbers) {
      leave_out(at,
                fmt::format("numbers are no types; type_column = \"{}\" makes a relation of each",
                            name(at)));
    } else if (columns_[at].missing) {
      leave_out(at, "some edges have no type");
    } else {
      guess_.type = name(at);
    }
    return true;
  }

  bool take_time(std::size_t at) {
    const ColumnGlance& column = columns_[at];
    const std::optional<TickUnit> dates = unit_of_dates(column);
    if (dates && !column.missing) {
      guess_.time = name(at);
      guess_.time_unit = *dates;
      doubt("Dates of {} become {} since 1970.", name(at), name_of(*dates));
    } else if (looks_like_dates(column) && !column.missing) {
      leave_out(at, kDatesAreTexts);
    } else if (!column.numbers && !dates) {
      leave_out(at, "it is no number, and no time therefore");
    } else if (column.missing) {
      leave_out(at, fmt::format("{} of its times are missing", column.empty));
    } else {
      set_time(at);
    }
    return true;
  }

  void set_time(std::size_t at) {
    guess_.time = name(at);
    if (columns_[at].integers) return;
    guess_.time_scale = columns_[at].fractions && looks_like_time(columns_[at]) ? 1000 : 1;
    doubt("Times of {} have fractions: they are rounded, after time_scale.", name(at));
  }

  bool take_weight(std::size_t at) {
    const ColumnGlance& column = columns_[at];
    if (!column.numbers) {
      leave_out(at, "it is no number, and no weight therefore");
    } else if (column.missing) {
      leave_out(at, fmt::format("{} of its weights are missing", column.empty));
    } else if (column.low < 0) {
      leave_out(at,
                "some of its numbers are negative, as no weights are; features.columns takes it");
    } else if (looks_like_time(column) && column.fractions) {
      leave_out(at, "its numbers are as large as times; time_column takes them");
    } else {
      guess_.weight = name(at);
    }
    return true;
  }

  bool take_label(std::size_t at) {
    const ColumnGlance& column = columns_[at];
    if (!guess_.type.empty()) {
      leave_out(at, "each type is a relation, and labels are of one");
    } else if (!column.numbers && column.texts.size() == guess_.glance.rows &&
               guess_.glance.rows > 1) {
      leave_out(at, "it is another text in each row");
    } else {
      TableGlance only;
      only.whole = guess_.glance.whole;
      only.columns = {column};
      guess_.label_why = guess_labels(only, guess_.label_kind);
      guess_.label = name(at);
    }
    return true;
  }

  bool is_id(std::size_t at) const {
    const ColumnGlance& column = columns_[at];
    return column.info.width == 1 && (column.integers || !column.numbers) && !column.missing &&
           !(column.info.dtype && !column.integers && column.numbers) && !looks_like_dates(column);
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
    guess_.signs = EdgeSigns::kNames;
    guess_.source_at = {1};
    guess_.target_at = {2};
    guess_.source = multiplex ? "source" : name(1);
    guess_.target = multiplex ? "target" : name(2);
    guess_.why = fmt::format("the first column has {} values only: it is the type", different(0));
    if (columns_.size() == 4) leave_out(3, "is it label_column of a split, or labels.columns?");
    return true;
  }

  /// Whether a column numbers the rows: by its name, or called an id and counting up.
  bool numbers_rows(std::size_t at) const {
    if (is_index_name(name(at), at)) return true;
    const ColumnGlance& column = columns_[at];
    return is_edge_id_name(name(at)) && column.integers && column.ascending && !column.missing &&
           column.different.size() == guess_.glance.rows &&
           column.largest - column.least + 1 == static_cast<std::int64_t>(guess_.glance.rows);
  }

  bool by_places() {
    std::size_t first = 0;
    if (columns_.size() > 2 && numbers_rows(0) && is_id(1) && is_id(2)) first = 1;
    if (columns_.size() < first + 2 || !is_id(first) || !is_id(first + 1)) return false;
    if (first == 0 && by_words_between()) return true;
    set_ends(first, first + 1);
    guess_.why = first == 0 ? "the first two columns"
                            : fmt::format("the two columns behind {}, which numbers the rows",
                                          name(0).empty() ? "one without a name" : name(0));
    take_others();
    if (first == 0) doubt_triples();
    return true;
  }

  /// head, relation, tail: words in the middle that are none of the ends, and the same ids on both
  /// sides; where no line names columns, few words between ids of one kind as well.
  bool by_words_between() {
    if (columns_.size() != 3 || columns_[1].numbers || !is_id(2) || guess_.glance.rows == 0)
      return false;
    const ColumnGlance &head = columns_[0], &words = columns_[1], &tail = columns_[2];
    if (head.integers != tail.integers || head.meets(words) || words.meets(tail)) return false;
    const bool unnamed = name(0) == "c0" && name(1) == "c1" && name(2) == "c2";
    const bool few = words.kinds() < head.kinds() && words.kinds() < tail.kinds();
    const bool same = head.meets(tail) && (unnamed || !head.integers);
    if (!same && !(unnamed && few)) return false;
    set_ends(0, 2);
    guess_.type = name(1);
    guess_.why = fmt::format(
        "words in the middle, {}, are the types of edges from {} to {}", name(1), name(0), name(2));
    return true;
  }

  /// Three numbers a line without names of columns: the middle one may be the type.
  void doubt_triples() {
    if (guess_.format != "list" || columns_.size() != 3) return;
    const auto different = [&](std::size_t at) { return columns_[at].different.size(); };
    const bool numbers = std::ranges::all_of(
        columns_, [](const ColumnGlance& column) { return column.integers && !column.missing; });
    if (!numbers || 2 * different(1) > std::min(different(0), different(2))) return;
    doubt(
        "Or are these triples? The column {} has {} values only, and may be the type of an edge "
        "from {} to {}: then say format = \"triples\", type_column = \"relation\", source_column = "
        "\"head\", target_column = \"tail\", types = \"labels\".",
        name(1),
        different(1),
        name(0),
        name(2));
  }

  static constexpr double kLargeWeight = 1e8;

  EdgeGuess& guess_;
  const std::vector<ColumnGlance>& columns_;
};

}  // namespace

Error points_error(const FileSet& files, const std::string& file, const std::string& column) {
  return Error(
      ErrorCode::kData,
      fmt::format("the ids of column '{}' are written with a point, as floats", column),
      "write whole numbers (in pandas: .astype(\"int64\")); for names such as 1.10 say ids "
      "= \"string\" in a graph.toml, and import it with --config",
      Place{(files.root() / file).string(), -1, -1, -1});
}

void check_ends(const FileSet& files, const EdgeGuess& guess) {
  if (!guess.found()) return;
  const auto& columns = guess.glance.columns;
  if (guess.glance.rows == 0)
    throw Error(ErrorCode::kData,
                "it names columns and has no rows",
                "is this the file, and was it written whole?",
                Place{(files.root() / guess.file).string(), -1, -1, -1});
  for (const auto& ends : {guess.source_at, guess.target_at})
    for (const std::size_t at : ends)
      if (columns[at].info.width == 1 && columns[at].has_points())
        throw points_error(files, guess.file, columns[at].info.name);
}

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
  if (!guess.table.empty() || read_as == "triples" || read_as == "mtx")
    guess.signs = EdgeSigns::kNames;
  return guess;
}

}  // namespace sluice
