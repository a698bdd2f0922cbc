// Lists of ids, and times: one row a node.
#include "core/interrupt.h"
#include "prep/import/import_context.h"
#include "prep/import/rows_by_id.h"
#include "prep/import/time_column.h"

#include <fmt/format.h>

#include <utility>

namespace sluice {

RowTarget rows_of(NodeState& node, const std::string& from, const std::string& file) {
  RowTarget target;
  target.path = node_path(node.spec.type, file);
  target.owner = node.spec.type;
  target.check_rows = [&node, from](std::uint64_t rows, const Place& place) {
    node.ids.set_count(rows, from, place);
  };
  target.first_new = node.first_new();
  target.earlier = node.earlier;
  return target;
}

std::unique_ptr<TableReader> open_rows(const ImportContext& context,
                                       const std::string& file,
                                       const std::string& format,
                                       const RowTarget& target) {
  auto table = context.open(file, format);
  return target.order ? target.order(std::move(table)) : std::move(table);
}

const ColumnInfo& find_id_column(const TableReader& table, const std::string& name) {
  const ColumnInfo& column = table.column(name, 0);
  if (column.width == 1) return column;
  throw Error(ErrorCode::kData,
              fmt::format("ids need one number a row, this has {}", column.width),
              "save an array of one dimension",
              Place{table.path().string(), -1, -1, -1});
}

void import_id_list(ImportContext& context, NodeState& node) {
  const IdFileSpec& spec = node.spec.id_list;
  const auto table = context.open(spec.file, spec.format);
  const std::string column = find_id_column(*table, spec.column).name;
  table->select({{column, node.ids.column_type(), EmptyCell::kRefuse, ColumnUse::kIds}});
  Progress progress(context.prep.progress, spec.file, table->num_rows().value_or(0), "ids");
  for (TableChunk chunk; table->next(chunk);) {
    throw_if_interrupted();
    node.ids.list(id_values(chunk, 0), {*table, chunk.first_row, column});
    progress.add(chunk.rows);
  }
  if (node.ids.unknown() != UnknownIds::kCreate) node.ids.close(spec.file);
}

void import_node_times(ImportContext& context, NodeState& node) {
  const TimeSpec& spec = node.spec.times;
  RowTarget target = rows_of(node, spec.file, "times.bin");
  order_by_id(target, context, node, {spec.file, spec.format, spec.id_column});
  const auto table = open_rows(context, spec.file, spec.format, target);
  const ColumnInfo& column = find_id_column(*table, spec.column);
  TimeColumn times(*table, column, {spec.scale, spec.unit, "times.scale", "times.unit"});
  table->select({{column.name, times.type(), EmptyCell::kRefuse, ColumnUse::kNodeTimes}});
  auto file = context.writer.create(target.path);
  std::uint64_t rows = 0;
  for (TableChunk chunk; table->next(chunk); rows += chunk.rows) {
    throw_if_interrupted();
    file->append_values(times.take(chunk.columns[0], chunk.first_row));
  }
  for (const std::string& remark : times.remarks())
    context.prep.log.warn("{}: {}", spec.file, remark);
  target.check_rows(rows, Place{table->path().string(), -1, -1, -1});
  context.writer.add(std::move(file));
  node.schema.has_times = true;
}

}  // namespace sluice
