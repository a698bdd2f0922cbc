#include "prep/import/odd_ids.h"

#include "prep/import/places_look.h"
#include "prep/table/column_names.h"
#include "prep/table/shards.h"
#include "prep/table/text_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace sluice {
namespace {

/// A column of ids in a file: by name, or where that is empty by place.
struct IdCells {
  std::string column;
  std::size_t place = 0;
  const NodeIds* ids = nullptr;
};

void say_header_cells(const ImportContext& context,
                      const std::string& file,
                      const std::string& format,
                      const std::vector<IdCells>& cells) {
  const auto first = shards_of(TablePath::parse(context.root / file).file).front();
  if (context.formats.resolve(first, format) != "csv") return;
  const auto table = context.open(file, format);
  if (cells.size() == 2 && ends_by_name(table->columns())) return;  // a header beyond doubt
  std::vector<std::string> names;
  for (const IdCells& of : cells) {
    if (of.column.empty() && of.place >= table->columns().size()) return;
    const std::string& name = table->column(of.column, of.place).name;
    const bool made_up = name.size() > 1 && name[0] == 'c' &&
                         name.find_first_not_of("0123456789", 1) == std::string::npos;
    if (!made_up && of.ids->has_text(name)) names.push_back(name);
  }
  if (names.empty()) return;
  context.prep.log.warn(
      "{}: the first line is taken for names of columns, but {} the id of a node, too: if the line "
      "is a row, say [csv] header = \"no\"",
      file,
      names.size() == 1 ? quoted_names(names) + " is" : quoted_names(names) + " are each");
}

/// The first two whole numbers of a text without names of columns; nothing where it has none, or
/// cannot be read again.
std::optional<std::pair<std::int64_t, std::int64_t>> first_numbers(const ImportContext& context,
                                                                   const EdgeSpec& edge) {
  try {
    const auto first = shards_of(TablePath::parse(context.root / edge.file).file).front();
    const std::string format = context.formats.resolve(first, edge.format);
    if (format != "list" && format != "csv") return std::nullopt;
    const auto table = context.open(edge.file, edge.format);
    const auto& columns = table->columns();
    if (columns.size() < 2 || columns[0].name != "c0") return std::nullopt;
    table->select({{columns[0].name, ColumnType::kText}, {columns[1].name, ColumnType::kText}});
    TableChunk chunk;
    std::pair<std::int64_t, std::int64_t> numbers;
    if (!table->next(chunk) ||
        parse_integer_cell(trimmed_cell(chunk.columns[0].text[0]), numbers.first) != std::errc{} ||
        parse_integer_cell(trimmed_cell(chunk.columns[1].text[0]), numbers.second) != std::errc{})
      return std::nullopt;
    return numbers;
  } catch (const Error& problem) {
    if (problem.code() == ErrorCode::kInterrupted) throw;
    return std::nullopt;
  }
}

// Words for a missing id, and truths, which are likely to be of another column.
void say_words(const ImportContext& context, const std::string& type, const NodeIds& ids) {
  static constexpr std::array<std::string_view, 6> kMissing{
      "nan", "NaN", "NULL", "null", "None", "<NA>"};
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTruths{
      {{"True", "False"}, {"TRUE", "FALSE"}, {"true", "false"}}};
  for (const std::string_view word : kMissing)
    if (ids.has_text(word))
      context.prep.log.warn(
          "type '{}': '{}' is the id of a node; where it stands for a missing id, take its rows "
          "out",
          type,
          word);
  for (const auto& [yes, no] : kTruths) {
    const bool has_yes = ids.has_text(yes), has_no = ids.has_text(no);
    if (!has_yes && !has_no) continue;
    context.prep.log.warn(
        "type '{}': {} of a node: if a column of truths was taken for ids, name those of the ids, "
        "such as source_column and target_column",
        type,
        has_yes && has_no ? fmt::format("'{}' and '{}' are each the id", yes, no)
                          : fmt::format("'{}' is the id", has_yes ? yes : no));
  }
}

// Ids with a blank at an end that nobody sees: "bob" with a no-break space is another node.
void say_blanks(const ImportContext& context, const std::string& type, const NodeIds& ids) {
  const StringIdMap& texts = *ids.strings();
  std::uint64_t found = 0, twins = 0;
  std::string example;
  for (std::uint64_t node = 0; node < texts.size(); ++node) {
    const std::string_view text = texts.id(node);
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    if (text.empty() || (is_ascii(text.front()) && is_ascii(text.back()))) continue;
    const std::string_view bare = without_blanks(text);
    if (bare.size() == trimmed_cell(text).size()) continue;
    const bool twin = texts.find(bare) != kNoNode;
    if (found == 0 || (twin && twins == 0)) example = shown_cell(text);
    ++found;
    twins += twin ? 1 : 0;
  }
  if (found == 0) return;
  context.prep.log.warn(
      "type '{}': {} ids have a blank that is no space before or behind them, such as {}{}: take "
      "the blanks out of the files",
      type,
      found,
      example,
      twins == 0 ? std::string()
                 : fmt::format(", and {} of them are other nodes without it", twins));
}

}  // namespace

void say_header_ids(const ImportContext& context, const EdgeSpec& edge) {
  const NodeIds &sources = context.nodes.at(edge.source).ids,
                &targets = context.nodes.at(edge.target).ids;
  if (sources.kind() != IdKind::kString && targets.kind() != IdKind::kString) return;
  say_header_cells(context,
                   edge.file,
                   edge.format,
                   {{edge.source_column, 0, &sources}, {edge.target_column, 1, &targets}});
}

void say_size_row(const ImportContext& context, const EdgeSpec& edge, std::uint64_t rows) {
  const NodeIds& ids = context.nodes.at(edge.source).ids;
  if (edge.source != edge.target || ids.kind() != IdKind::kDense || rows < 2) return;
  const auto first = first_numbers(context, edge);
  if (!first) return;
  const auto [nodes, edges] = *first;
  // No id is beyond these two, and the second counts the rows behind it.
  const auto largest = static_cast<std::int64_t>(ids.count().value_or(0)) + ids.first_id() - 1;
  if (nodes < 2 || edges != static_cast<std::int64_t>(rows) - 1 ||
      std::max(nodes, edges) != largest)
    return;
  context.prep.log.warn(
      "{}: the first row is '{} {}', and {} rows follow: it is read as an edge; if it says how "
      "many nodes and edges there are, take it out",
      edge.file,
      nodes,
      edges,
      edges);
}

void say_odd_ids(const ImportContext& context) {
  for (const EdgeSpec& edge : context.spec.edges) say_header_ids(context, edge);
  for (const SplitSpec& split : context.spec.splits) {
    if (split.of != SplitOf::kNodes) continue;
    const NodeIds& ids = context.nodes.at(split.node_type).ids;
    if (ids.kind() != IdKind::kString) continue;
    for (const SplitPart& part : split.parts())
      say_header_cells(context, part.file, part.format, {{part.column, 0, &ids}});
  }
  for (const auto& [type, node] : context.nodes) {
    if (node.ids.kind() != IdKind::kString) continue;
    say_words(context, type, node.ids);
    say_blanks(context, type, node.ids);
  }
}

}  // namespace sluice
