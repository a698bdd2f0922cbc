// Edges whose columns are left to their places: which are source and target, and how arrays lie.
#include "prep/import/places_look.h"
#include "prep/table/column_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace sluice {
namespace {

/// Whether a graph.toml names others than the ends; else those that are left out are said.
enum class Others { kNone, kNamed };

// Arrays of [2, 2]: by what is said, by the array's name, or else as rows, which is said.
void settle_pairs(const TableReader& table,
                  const std::string& file,
                  const std::string& format,
                  const std::string& column,
                  PairsChoice& pairs,
                  const PlacesLook& look) {
  if (pairs != PairsChoice::kAuto) return;
  const bool only = table.columns().size() == 1;
  const std::string name = only || column.empty() ? table.columns().front().name : column;
  const auto fresh = look.open(file, format);
  const auto is_pairs = [&](const ColumnInfo& info) {
    return info.name == name && info.dtype && info.width == 2;
  };
  if (!fresh || !std::any_of(fresh->columns().begin(), fresh->columns().end(), is_pairs)) return;
  // Others than [2, 2] are told by their shape, parts by that of their neighbours; what is no array
  // cannot be turned.
  if (fresh->num_rows() != 2 * look.parts_of(file)) return;
  if (!look.open(file, format)->turn_pairs(name, TwoByTwo::kColumns)) return;
  const bool named =
      says_edge_index(name) || says_edge_index(std::filesystem::path(file).filename().string());
  pairs = named ? PairsChoice::kColumns : PairsChoice::kRows;
  if (named) return;
  look.say(
      "{}: the array '{}' is [2, 2], which may be [E, 2] or [2, E]: it is read as [E, 2], one row "
      "an edge; pairs = \"columns\" reads it as [2, E]",
      file,
      name);
}

std::pair<std::size_t, std::size_t> choose_ends(const std::vector<ColumnInfo>& columns,
                                                const std::string& file,
                                                const std::string& format,
                                                const PlacesLook& look) {
  constexpr std::pair<std::size_t, std::size_t> kPlain{0, 1};
  // Letters of a formula in front are the ends, whatever others are called.
  if (columns[0].name.size() == 1 && columns[1].name.size() == 1 &&
      std::isalpha(static_cast<unsigned char>(columns[0].name[0])) != 0)
    return kPlain;
  if (const auto named = ends_by_name(columns)) return *named;
  std::vector<std::size_t> usable;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].width == 1 && !is_index_name(columns[i].name, i)) usable.push_back(i);
  if (usable.size() < 2) return kPlain;
  if (usable.size() == 2 || !is_edge_id_name(columns[usable[0]].name))
    return {usable[0], usable[1]};
  // "id, a, b": the edge's own id, or the source's?
  const ColumnPeek ids = look.peek(file, format, columns[usable[0]].name);
  const ColumnPeek third = look.peek(file, format, columns[usable[2]].name);
  const bool third_may_be = third.whole || !third.numbers;
  if (!ids.different || !third_may_be) return {usable[0], usable[1]};
  throw Error(
      ErrorCode::kData,
      fmt::format("the first column is '{}': the edge's own number, or its source? Source and "
                  "target may be '{}' and '{}', or '{}' and '{}'",
                  columns[usable[0]].name,
                  columns[usable[0]].name,
                  columns[usable[1]].name,
                  columns[usable[1]].name,
                  columns[usable[2]].name),
      "say source_column and target_column",
      Place{look.path_of(file).string(), -1, -1, -1});
}

/// The fields of the first row at two columns of text; empty where they are no texts, or cannot be
/// read.
std::vector<std::string> first_fields(const std::string& file,
                                      const std::string& format,
                                      const PlacesLook& look) {
  try {
    const auto table = look.open(file, format);
    if (!table || table->columns().size() < 2) return {};
    const auto& columns = table->columns();
    const std::string read_as = look.format_of(file, format);
    if (read_as != "triples" && columns[0].name != "c0") return {};  // it has names
    // Of triples the ends are not the first two.
    const auto ends = ends_by_name(columns).value_or(std::pair<std::size_t, std::size_t>(0, 1));
    std::vector<ColumnRequest> requests;
    for (const std::size_t at : {ends.first, ends.second}) {
      if (columns[at].dtype) return {};
      requests.push_back({columns[at].name, ColumnType::kText, EmptyCell::kMissing});
    }
    table->select(requests);
    TableChunk chunk;
    if (!table->next(chunk) || chunk.rows == 0) return {};
    return {std::string(chunk.columns[0].text[0]), std::string(chunk.columns[1].text[0])};
  } catch (const Error& problem) {
    if (problem.code() == ErrorCode::kInterrupted) throw;
    return {};
  }
}

/// Text without names of columns: that the first line has some, and what parts the fields.
void look_at_first_row(const EdgeSpec& edge, const PlacesLook& look) {
  const auto fields = first_fields(edge.file, edge.format, look);
  if (fields.size() != 2 || fields[0].empty()) return;
  const std::string read_as = look.format_of(edge.file, edge.format);
  const bool parted = fields[0].back() == ',' || fields[0].back() == ';';
  if (parted && fields[0].size() > 1 && read_as == "list" &&
      fields[0].find(' ') == std::string::npos)
    throw Error(ErrorCode::kData,
                fmt::format("the first field is '{}': fields are parted by '{}', and not by white "
                            "space alone",
                            fields[0],
                            fields[0].back()),
                fmt::format("say format = \"csv\", and [csv] header = \"no\"{}",
                            fields[0].back() == ';' ? ", delimiter = \";\"" : ""),
                Place{look.path_of(edge.file).string(), -1, -1, -1});
  std::vector<ColumnInfo> names(2);
  for (std::size_t i = 0; i < 2; ++i) names[i].name = fields[i];
  if (!ends_by_name(names)) return;
  look.say(
      "{}: the first row is '{}' and '{}', as headers are, and is read as an edge; if it names the "
      "columns, {}",
      edge.file,
      fields[0],
      fields[1],
      read_as == "csv" ? "say [csv] header = \"yes\"" : "take the line out");
}

void settle_ends(const std::string& file,
                 const std::string& format,
                 std::string& source,
                 std::string& target,
                 Others others,
                 const PlacesLook& look) {
  const auto table = look.open(file, format);
  if (!table) return;
  const auto& columns = table->columns();
  if (columns.size() < 2 || columns[0].width != 1 || columns[1].width != 1) return;
  const auto [from, to] = choose_ends(columns, file, format, look);
  std::vector<std::string> left;
  for (std::size_t i = 0; i < columns.size() && others == Others::kNone; ++i)
    if (i != from && i != to) left.push_back(columns[i].name);
  const bool plain = from == 0 && to == 1;
  if (!plain) {
    source = columns[from].name;
    target = columns[to].name;
  }
  if (plain && left.empty()) return;
  look.say("{}: source and target are the columns '{}' and '{}'{}{}",
           file,
           columns[from].name,
           columns[to].name,
           plain ? "" : ", not the first two",
           left.empty() ? ""
                        : fmt::format("; left out: {} (weight_column, time_column, type_column, "
                                      "features.columns and labels.columns name others)",
                                      quoted_names(left)));
}

void settle_edge_features(EdgeSpec& edge, const PlacesLook& look) {
  FeatureSpec& features = edge.features;
  const auto table = features.columns.empty() ? look.open(features.file, features.format) : nullptr;
  if (!table || table->columns().size() < 2) return;
  SortedColumns sorted;
  const auto ends = ends_by_name(table->columns());
  for (std::size_t i = 0; i < table->columns().size(); ++i) {
    const ColumnInfo& column = table->columns()[i];
    const bool is_end = column.name == edge.source_column || column.name == edge.target_column ||
                        (ends && (i == ends->first || i == ends->second));
    const bool beside = is_index_name(column.name, i) || is_edge_id_name(column.name) || is_end;
    (beside && column.width == 1 ? sorted.index : sorted.rest).push_back(column.name);
  }
  if (sorted.index.empty() || sorted.rest.empty()) return;
  features.columns = sorted.rest;
  look.say(
      "{}: features are all columns but {}, which say whose they are; rows stand in the order of "
      "the edges",
      features.file,
      quoted_names(sorted.index));
}

}  // namespace

void settle_edge(EdgeSpec& edge, const PlacesLook& look) {
  settle_edge_features(edge, look);
  const auto table = look.open(edge.file, edge.format);
  if (!table) return;
  settle_pairs(*table, edge.file, edge.format, edge.source_column, edge.pairs, look);
  look_at_first_row(edge, look);
  if (!edge.source_column.empty() || !edge.target_column.empty()) return;
  const bool own_rows = (edge.has_features() && edge.features.file == edge.file) ||
                        (edge.has_labels() && edge.labels.file == edge.file);
  const bool named = own_rows || !edge.type_column.empty() || !edge.time_column.empty() ||
                     !edge.weight_column.empty();
  settle_ends(edge.file,
              edge.format,
              edge.source_column,
              edge.target_column,
              named ? Others::kNamed : Others::kNone,
              look);
}

void settle_edge_split(SplitSpec& split, const PlacesLook& look) {
  std::string source = split.source_column, target = split.target_column;
  for (const std::string& file : {split.train, split.valid, split.test}) {
    const auto table = look.open(file, split.format);
    if (!table) continue;
    settle_pairs(*table, file, split.format, split.source_column, split.pairs, look);
    if (source.empty() && target.empty())
      settle_ends(file, split.format, source, target, Others::kNamed, look);
  }
  split.source_column = source;
  split.target_column = target;
}

}  // namespace sluice
