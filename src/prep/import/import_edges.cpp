// Edges that need no spool: a table as a stream of dense ids.
#include "prep/import/edge_table.h"
#include "prep/import/import_context.h"

#include <memory>
#include <optional>

namespace sluice {
namespace {

class DenseEdges final : public EdgeStream {
 public:
  DenseEdges(ImportContext& context, const EdgeSpec& spec)
      : source_(context.node(spec.source).ids),
        target_(context.node(spec.target).ids),
        table_(context.open(spec.file, spec.format),
               {spec.source_column, spec.target_column, {}, {}, {}, {}, 0, spec.pairs},
               source_.column_type(),
               target_.column_type(),
               spec.file,
               context.prep.progress),
        arena_(context.prep.arena) {
    if (is_within_graphs(context, spec))
      one_graph_.emplace(*context.graphs, context.spec.graphs.first_id);
  }

  std::optional<EdgeView> next() override {
    EdgeTable::Rows rows;
    if (!table_.next(rows)) return std::nullopt;
    source_.find(rows.source, table_.source_place(rows), chunk_.source, arena_);
    target_.find(rows.target, table_.target_place(rows), chunk_.target, arena_);
    if (one_graph_)
      one_graph_->check(chunk_.source,
                        chunk_.target,
                        {rows.source, table_.source_place(rows)},
                        {rows.target, table_.target_place(rows)});
    return chunk_.view();
  }

  std::optional<std::uint64_t> expected() const override { return table_.num_rows(); }

 private:
  const NodeIds& source_;
  const NodeIds& target_;
  EdgeTable table_;
  std::optional<OneGraph> one_graph_;
  ThreadArena& arena_;
  EdgeChunk<std::uint64_t> chunk_;
};

}  // namespace

std::unique_ptr<EdgeStream> open_edges(ImportContext& context, const EdgeSpec& edge) {
  return std::make_unique<DenseEdges>(context, edge);
}

}  // namespace sluice
