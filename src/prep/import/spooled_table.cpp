#include "prep/import/spooled_table.h"

#include "prep/import/edge_table.h"
#include "prep/import/number_names.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice {
namespace {

constexpr const char* kTypes = "edge types";

/// Reads one table into its spool.
class Spooler {
 public:
  Spooler(ImportContext& context,
          const EdgeSpec& spec,
          const std::string& file,
          const std::string& format,
          const EdgeColumns& columns)
      : context_(context),
        spec_(spec),
        source_(context.node(spec.source).ids),
        target_(context.node(spec.target).ids),
        types_(kTypes, {IdKind::kString}, context.prep.ledger),
        collect_source_(!source_.count()),
        collect_target_(!target_.count()),
        may_skip_(source_.unknown() == UnknownIds::kSkip || target_.unknown() == UnknownIds::kSkip),
        table_(context.open(file, format),
               columns,
               source_.column_type(),
               target_.column_type(),
               file,
               context.prep.progress),
        out_(new SpooledTable{EdgeSpool(folder(), &context.prep.ledger, spool_memory(context)),
                              {},
                              {},
                              {},
                              {},
                              {},
                              {}}) {
    const auto column = [&](const std::string& name, std::optional<ScratchBytes>& values) {
      if (!name.empty()) values.emplace(folder(), &context_.prep.ledger, spool_memory(context_));
    };
    column(columns.time, out_->times);
    column(columns.weight, out_->weights);
    column(columns.type, out_->types);
    column(columns.label, out_->labels);
  }

  std::unique_ptr<SpooledTable> run() {
    // Numbers that have names are their own codes.
    std::vector<std::string> names = read_type_names(context_, spec_);
    for (std::size_t number = 0; number < names.size(); ++number)
      (void)types_.take_text(std::to_string(number));
    for (EdgeTable::Rows rows; table_.next(rows);) {
      if (by_graph_) shift(rows);
      collect(rows);
      if (one_graph_) check_graphs(rows);
      add_columns(rows);
      add_edges(rows);
      out_->rows += rows.size();
    }
    if (by_graph_) by_graph_->check_end(out_->rows, table_.reader());
    for (const std::string& remark : table_.remarks())
      context_.prep.log.warn("{}: {}", spec_.file, remark);
    if (out_->types) out_->type_names = types_.texts();
    if (!names.empty()) name_types(*out_, std::move(names), spec_);
    return std::move(out_);
  }

  /// No edge leaves its graph. @param graphs outlives this
  Spooler& within_graphs(const GraphOffsets& graphs, std::int64_t first_id) {
    one_graph_.emplace(graphs, first_id);
    return *this;
  }

  /// Its edges count the nodes of each graph anew. @param edge_sizes outlives this
  Spooler& by_graph(const GraphOffsets& edge_sizes, std::int64_t first_id) {
    by_graph_.emplace(*context_.graphs, edge_sizes, first_id);
    return *this;
  }

 private:
  void shift(EdgeTable::Rows& rows) {
    source_ids_.assign(rows.source.integers.begin(), rows.source.integers.end());
    target_ids_.assign(rows.target.integers.begin(), rows.target.integers.end());
    by_graph_->shift(source_ids_,
                     target_ids_,
                     rows.first_row,
                     table_.reader(),
                     table_.source_place(rows).column,
                     table_.target_place(rows).column);
    rows.source.integers = source_ids_;
    rows.target.integers = target_ids_;
  }

  void check_graphs(const EdgeTable::Rows& rows) {
    one_graph_->check(sources_,
                      targets_,
                      {rows.source, table_.source_place(rows)},
                      {rows.target, table_.target_place(rows)});
  }

  const std::filesystem::path& folder() const { return context_.writer.staging().path(); }

  void collect(const EdgeTable::Rows& rows) {
    std::vector<NodeIdColumn> columns{
        {source_, rows.source, table_.source_place(rows), sources_, collect_source_},
        {target_, rows.target, table_.target_place(rows), targets_, collect_target_}};
    if (out_->types) columns.push_back({types_, rows.type, table_.type_place(rows), codes_, true});
    collect_rows(columns, context_.prep.arena);
  }

  void add_columns(const EdgeTable::Rows& rows) {
    if (out_->times) {
      out_->in_time_order = out_->in_time_order &&
                            std::is_sorted(rows.times.begin(), rows.times.end()) &&
                            (rows.times.empty() || last_time_ <= rows.times.front());
      if (!rows.times.empty()) last_time_ = rows.times.back();
      out_->times->append_values(rows.times);
    }
    if (out_->weights) out_->weights->append_values(rows.weights);
    if (out_->labels) out_->labels->append_values(rows.labels);
    if (out_->types) out_->types->append_values(std::span<const std::uint64_t>(codes_));
  }

  void add_edges(const EdgeTable::Rows& rows) {
    for (std::size_t i = 0; out_->types && i < rows.size(); ++i) {
      if (codes_[i] >= out_->type_counts.size()) out_->type_counts.resize(codes_[i] + 1, 0);
      if (sources_[i] != kNoNode && targets_[i] != kNoNode) ++out_->type_counts[codes_[i]];
    }
    if (!may_skip_) return out_->edges.append(sources_, targets_);
    // Rows that are left out keep their number, so the others say theirs.
    ids_.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (sources_[i] == kNoNode || targets_[i] == kNoNode) continue;
      sources_[ids_.size()] = sources_[i];
      targets_[ids_.size()] = targets_[i];
      ids_.push_back(out_->rows + i);
    }
    out_->skipped += rows.size() - ids_.size();
    out_->edges.append(
        std::span(sources_).first(ids_.size()), std::span(targets_).first(ids_.size()), ids_);
  }

  ImportContext& context_;
  const EdgeSpec& spec_;
  NodeIds& source_;
  NodeIds& target_;
  NodeIds types_;
  bool collect_source_, collect_target_, may_skip_;
  EdgeTable table_;
  std::unique_ptr<SpooledTable> out_;
  std::optional<GraphEdges> by_graph_;
  std::optional<OneGraph> one_graph_;
  std::vector<std::int64_t> source_ids_, target_ids_;  // counted through all graphs
  std::vector<std::uint64_t> sources_, targets_, codes_, ids_;
  std::int64_t last_time_ = std::numeric_limits<std::int64_t>::min();
};

bool needs_spool(ImportContext& context, const EdgeSpec& edge) {
  const NodeIds& source = context.node(edge.source).ids;
  const NodeIds& target = context.node(edge.target).ids;
  return !source.count() || !target.count() || source.unknown() == UnknownIds::kSkip ||
         target.unknown() == UnknownIds::kSkip || !edge.reverse.empty() ||
         !edge.type_column.empty() || !edge.time_column.empty() || !edge.weight_column.empty() ||
         !context.spec.graphs.edge_sizes.file.empty();
}

std::unique_ptr<SpooledTable> spool(ImportContext& context, const EdgeSpec& edge) {
  const EdgeColumns columns{edge.source_column,
                            edge.target_column,
                            edge.type_column,
                            edge.time_column,
                            edge.weight_column,
                            {},
                            edge.time_scale,
                            edge.pairs,
                            edge.time_unit};
  Spooler spooler(context, edge, edge.file, edge.format, columns);
  if (is_within_graphs(context, edge))
    spooler.within_graphs(*context.graphs, context.spec.graphs.first_id);
  const ColumnSpec& edge_sizes = context.spec.graphs.edge_sizes;
  if (edge_sizes.file.empty()) return spooler.run();
  const auto open = [&](const ColumnSpec& column) {
    return context.open(column.file, column.format);
  };
  const GraphOffsets edges =
      GraphOffsets::from_sizes(edge_sizes, "edges", open, context.prep.ledger);
  return spooler.by_graph(edges, context.node(edge.source).spec.first_id).run();
}

std::unique_ptr<SpooledTable> spool_part(ImportContext& context,
                                         const SplitSpec& split,
                                         const std::string& file) {
  if (file.empty()) return nullptr;
  const EdgeColumns columns{split.source_column,
                            split.target_column,
                            split.type_column,
                            {},
                            {},
                            split.label_column,
                            0,
                            split.pairs};
  const EdgeSpec& edge = edges_of_split(context.spec, split);
  return Spooler(context, edge, file, split.format, columns).run();
}

}  // namespace

std::uint64_t spool_memory(const ImportContext& context) {
  return context.prep.ledger.available() / 8;
}

const EdgeSpec& edges_of_split(const GraphSpec& spec, const SplitSpec& split) {
  return *std::find_if(spec.edges.begin(), spec.edges.end(), [&](const EdgeSpec& edge) {
    return edge.relation == split.relation;
  });
}

SpooledTables spool_edges(ImportContext& context) {
  SpooledTables tables;
  for (auto& [type, node] : context.nodes) node.created = node.ids.taken();
  for (const EdgeSpec& edge : context.spec.edges)
    tables.edges.push_back(needs_spool(context, edge) ? spool(context, edge) : nullptr);
  for (const SplitSpec& split : context.spec.splits) {
    auto& parts = tables.splits.emplace_back();
    if (split.of != SplitOf::kEdges) continue;
    parts = {spool_part(context, split, split.train),
             spool_part(context, split, split.valid),
             spool_part(context, split, split.test)};
  }
  for (auto& [type, node] : context.nodes) {
    const bool listed = !node.spec.id_list.file.empty() || node.spec.count != 0;
    const std::uint64_t before = std::exchange(node.created, 0);
    if (node.ids.count()) continue;
    node.ids.close("the edges");
    if (const std::string doubt = node.ids.doubt(); !doubt.empty())
      context.prep.log.warn("{}", doubt);
    if (listed) node.created = node.ids.taken() - before;
  }
  return tables;
}

}  // namespace sluice
