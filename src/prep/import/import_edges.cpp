// Edge tables: ids collected in a first pass where they are not listed, then the edges as a stream
// of dense ids.
#include "core/interrupt.h"
#include "prep/import/import_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace sluice {
namespace {

/// An edge table as two columns of ids, wherever they stand: two columns, or one matrix of two.
class EdgeTable {
 public:
  EdgeTable(ImportContext& context, const EdgeSpec& spec);

  struct Rows {
    IdValues source, target;
    std::uint64_t first_row = 0;
  };
  bool next(Rows& rows);

  /// Where the file says it beforehand.
  std::optional<std::uint64_t> num_rows() const { return table_->num_rows(); }

  IdPlace source_place(const Rows& rows) const { return {*table_, rows.first_row, source_column_}; }
  IdPlace target_place(const Rows& rows) const { return {*table_, rows.first_row, target_column_}; }

 private:
  void split_pairs(std::span<const std::int64_t> pairs);

  std::unique_ptr<TableReader> table_;
  std::string source_column_, target_column_;
  bool pairs_ = false;
  std::vector<std::int64_t> sources_, targets_;  // of a matrix; as long as one chunk
  TableChunk chunk_;
  Progress progress_;
};

EdgeTable::EdgeTable(ImportContext& context, const EdgeSpec& spec)
    : table_(context.open(spec.file, spec.format)),
      progress_(context.prep.progress, spec.file, table_->num_rows().value_or(0), "edges") {
  const ColumnType source_type = context.node(spec.source).ids.column_type();
  const ColumnType target_type = context.node(spec.target).ids.column_type();
  const ColumnInfo& first = table_->column({}, 0);
  if (first.dtype && table_->columns().size() == 1) {
    if (first.width != 2) {
      const bool turned = table_->num_rows() == 2;
      throw Error(ErrorCode::kData,
                  fmt::format("edges need an array of [E, 2], this is [{}, {}]",
                              table_->num_rows() ? std::to_string(*table_->num_rows()) : "E",
                              first.width),
                  turned ? "save a.T" : "one row an edge: source, target",
                  Place{table_->path().string(), -1, -1, -1});
    }
    pairs_ = true;
    source_column_ = target_column_ = first.name;
    table_->select({{first.name, source_type == target_type ? source_type : ColumnType::kText}});
    return;
  }
  source_column_ = table_->column(spec.source_column, 0).name;
  target_column_ = table_->column(spec.target_column, 1).name;
  if (source_column_ == target_column_) {
    throw Error(ErrorCode::kData,
                fmt::format("source and target are both column '{}'", source_column_),
                "set source_column and target_column",
                Place{table_->path().string(), -1, -1, -1});
  }
  for (const std::string& name : {source_column_, target_column_}) {
    const std::uint32_t width = table_->column(name, 0).width;
    if (width == 1) continue;
    throw Error(ErrorCode::kData,
                fmt::format("column '{}' has {} numbers a row, where ids are asked", name, width),
                "set source_column and target_column to columns of one id a row",
                Place{table_->path().string(), -1, -1, -1});
  }
  table_->select({{source_column_, source_type}, {target_column_, target_type}});
}

void EdgeTable::split_pairs(std::span<const std::int64_t> pairs) {
  sources_.resize(pairs.size() / 2);
  targets_.resize(pairs.size() / 2);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    sources_[i] = pairs[2 * i];
    targets_[i] = pairs[2 * i + 1];
  }
}

bool EdgeTable::next(Rows& rows) {
  throw_if_interrupted();
  if (!table_->next(chunk_)) return false;
  rows.first_row = chunk_.first_row;
  if (pairs_) {
    split_pairs(chunk_.columns[0].integers);
    rows.source.integers = sources_;
    rows.target.integers = targets_;
  } else {
    rows.source = id_values(chunk_, 0);
    rows.target = id_values(chunk_, 1);
  }
  progress_.add(chunk_.rows);
  return true;
}

class DenseEdges final : public EdgeStream {
 public:
  DenseEdges(ImportContext& context, const EdgeSpec& spec)
      : table_(context, spec),
        source_(context.node(spec.source).ids),
        target_(context.node(spec.target).ids),
        arena_(context.prep.arena) {}

  std::optional<EdgeView> next() override {
    EdgeTable::Rows rows;
    if (!table_.next(rows)) return std::nullopt;
    source_.find(rows.source, table_.source_place(rows), chunk_.source, arena_);
    target_.find(rows.target, table_.target_place(rows), chunk_.target, arena_);
    return chunk_.view();
  }

  std::optional<std::uint64_t> expected() const override { return table_.num_rows(); }

 private:
  EdgeTable table_;
  const NodeIds& source_;
  const NodeIds& target_;
  ThreadArena& arena_;
  EdgeChunk<std::uint64_t> chunk_;
};

/// Row by row, source before target, so that the order of first appearance is that of the file.
void collect_rows(EdgeTable& table, NodeIds* source, NodeIds* target) {
  for (EdgeTable::Rows rows; table.next(rows);) {
    for (std::size_t i = 0; i < rows.source.size(); ++i) {
      if (source != nullptr) source->collect(rows.source, i, table.source_place(rows));
      if (target != nullptr) target->collect(rows.target, i, table.target_place(rows));
    }
  }
}

}  // namespace

void collect_ids_from_edges(ImportContext& context) {
  const auto wanted = [&](const std::string& type) {
    NodeIds& ids = context.node(type).ids;
    return ids.count() ? nullptr : &ids;
  };
  for (const EdgeSpec& edge : context.spec.edges) {
    NodeIds* const source = wanted(edge.source);
    NodeIds* const target = wanted(edge.target);
    if (source == nullptr && target == nullptr) continue;
    EdgeTable table(context, edge);
    collect_rows(table, source, target);
  }
  for (auto& [type, node] : context.nodes) {
    if (!node.ids.count()) node.ids.close("the edges");
  }
}

std::unique_ptr<EdgeStream> open_edges(ImportContext& context, const EdgeSpec& edge) {
  return std::make_unique<DenseEdges>(context, edge);
}

CscStats import_edges(ImportContext& context, const EdgeSpec& edge) {
  RelationSchema relation;
  relation.source = edge.source;
  relation.name = edge.relation;
  relation.target = edge.target;
  DenseEdges edges(context, edge);
  const CscStats stats = build_csc(context.writer,
                                   relation,
                                   *context.node(edge.source).ids.count(),
                                   *context.node(edge.target).ids.count(),
                                   edges,
                                   edge.csc,
                                   context.prep.arena,
                                   context.prep.progress);
  context.writer.schema().relations.push_back(std::move(relation));
  return stats;
}

}  // namespace sluice
