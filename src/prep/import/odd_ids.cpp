#include "prep/import/odd_ids.h"

#include "prep/import/places_look.h"
#include "prep/table/column_names.h"
#include "prep/table/shards.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
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

void say_odd_ids(const ImportContext& context) {
  static constexpr std::array<std::string_view, 6> kMissing{
      "nan", "NaN", "NULL", "null", "None", "<NA>"};
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
    for (const std::string_view word : kMissing)
      if (node.ids.has_text(word))
        context.prep.log.warn(
            "type '{}': '{}' is the id of a node; where it stands for a missing id, take its rows "
            "out",
            type,
            word);
  }
}

}  // namespace sluice
