#include "prep/update/timed_edges.h"

namespace sluice {
namespace {

EdgeColumns columns_of(const EdgeSpec& spec) {
  EdgeColumns columns;
  columns.source = spec.source_column;
  columns.target = spec.target_column;
  columns.time = spec.time_column;
  columns.time_scale = spec.time_scale;
  columns.time_unit = spec.time_unit;
  columns.pairs = spec.pairs;
  return columns;
}

}  // namespace

TimedEdges::TimedEdges(ImportContext& context, const EdgeSpec& spec)
    : sources_(context.node(spec.source).ids),
      targets_(context.node(spec.target).ids),
      table_(context.open(spec.file, spec.format),
             columns_of(spec),
             sources_.column_type(),
             targets_.column_type(),
             spec.file,
             context.prep.progress),
      arena_(context.prep.arena) {}

std::optional<TimedEdges::Chunk> TimedEdges::next() {
  if (!table_.next(rows_)) return std::nullopt;
  sources_.find(rows_.source, table_.source_place(rows_), source_nodes_, arena_);
  targets_.find(rows_.target, table_.target_place(rows_), target_nodes_, arena_);
  return Chunk{source_nodes_, target_nodes_, rows_.times};
}

}  // namespace sluice
