#include "prep/export/export.h"

#include "core/interrupt.h"
#include "prep/dataset_edges.h"
#include "prep/export/array_file.h"
#include "prep/export/label_cells.h"
#include "prep/features/elements.h"
#include "prep/features/sparse_rows.h"
#include "storage/format/appended_edges.h"
#include "storage/format/staging.h"
#include "storage/topology/merged_order.h"

#include <sluice/dataset.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kChunkRows = 4096;

/// The element as stored, by value.
double element_of_row(DType dtype, std::span<const std::byte> row, std::size_t index) {
  if (dtype != DType::kI8) return element_as_double(dtype, row, index);
  float scale = 0;
  std::memcpy(&scale, row.data(), sizeof scale);
  const auto q = static_cast<std::int8_t>(row[kInt8ScaleBytes + index]);
  return static_cast<double>(scale * static_cast<float>(q));
}

/// The number of the graph that a node is in, for nodes that are asked for in order.
class GraphOfNode {
 public:
  GraphOfNode(const std::optional<GraphCollectionSchema>& graphs,
              const std::string& type,
              const Dataset& dataset) {
    if (graphs && graphs->node_type == type) offsets_ = dataset.graphs().offsets;
  }
  bool any() const { return offsets_.has_value(); }
  std::int64_t of(std::uint64_t node) {
    while (offsets_->as<std::uint64_t>()[graph_ + 1] <= node) ++graph_;
    return static_cast<std::int64_t>(graph_);
  }

 private:
  std::optional<Array> offsets_;
  std::size_t graph_ = 0;
};

class Export {
 public:
  Export(const ExportOptions& options, PrepContext& context, const fs::path& folder)
      : options_(options),
        context_(context),
        folder_(folder),
        manifest_(Manifest::load(options.dataset).or_throw()),
        dataset_(Dataset::open(options.dataset.string(), {.ledger = &context.ledger})),
        arrays_(options.format == ExportFormat::kNpy) {}

  ExportReport run() {
    for (const NodeTypeSchema& node : manifest_.schema.nodes) {
      if (arrays_ && node.ids == IdKind::kString) {
        throw Error(
            ErrorCode::kUsage,
            fmt::format("ids of type '{}' are strings, and .npy has no array of those", node.name),
            "export as csv or parquet");
      }
      write_nodes(node);
      for (const FeatureSchema& table : node.features)
        write_features(
            node.name + "." + table.name, table, *dataset_.features(node.name, {}, table.name));
    }
    for (const RelationSchema& relation : manifest_.schema.relations) {
      write_edges(relation);
      const std::string key = relation.key();
      for (const FeatureSchema& table : relation.features)
        write_features(key + "." + table.name, table, *dataset_.edge_features(key, {}, table.name));
    }
    if (manifest_.schema.graphs) write_graphs(*manifest_.schema.graphs);
    return std::move(report_);
  }

 private:
  using Column = SinkColumn;
  using Columns = std::vector<Column>;

  std::unique_ptr<TableSink> create(const std::string& name,
                                    const Columns& columns,
                                    std::uint64_t rows) {
    report_.files.push_back(name + std::string(extension_of(options_.format)));
    return make_table(
        options_.format, folder_ / report_.files.back(), columns, rows, context_.ledger);
  }

  Column id_column(const std::string& type, const char* name) const {
    const bool text = manifest_.schema.node_type(type)->ids == IdKind::kString;
    return {name, text ? Column::Type::kText : Column::Type::kInt64};
  }
  static void put_id(TableSink& table,
                     const Column& column,
                     const ExternalIds& ids,
                     std::uint64_t node) {
    if (column.type == Column::Type::kText) return table.text(ids.text(node));
    table.integer(ids.integer(node));
  }

  void write_nodes(const NodeTypeSchema& node) {
    const ExternalIds ids = dataset_.ids(node.name);
    std::optional<LabelCells> labels;
    if (node.labels) labels.emplace(*node.labels, dataset_.labels(node.name));
    std::optional<Array> times;
    if (node.has_times) times = dataset_.node_times(node.name);
    const Column id = id_column(node.name, "id");
    Columns columns{id};
    if (labels && !arrays_) append(columns, labels->columns());
    if (times && !arrays_) columns.push_back({"time", Column::Type::kInt64});
    GraphOfNode graph(manifest_.schema.graphs, node.name, dataset_);
    if (graph.any() && !arrays_) columns.push_back({"graph", Column::Type::kInt64});
    const auto table = create(arrays_ ? node.name + ".ids" : node.name, columns, node.count);
    for (std::uint64_t i = 0; i < node.count; ++i) {
      put_id(*table, id, ids, i);
      if (labels && !arrays_) labels->put(*table, i);
      if (times && !arrays_) table->integer(times->as<std::int64_t>()[i]);
      if (graph.any() && !arrays_) table->integer(graph.of(i));
      table->end_row();
    }
    report_.bytes += table->finish();
    if (!arrays_) return;
    if (labels) write_array(node.name + ".labels", labels->array(), node.count);
    if (times) write_array(node.name + ".times", *times, node.count);
  }

  static void append(Columns& columns, Columns more) {
    for (Column& column : more) columns.push_back(std::move(column));
  }

  void write_array(const std::string& name, const Array& values, std::uint64_t rows) {
    report_.files.push_back(name + ".npy");
    ByteFile file(folder_ / report_.files.back());
    const auto width =
        values.shape().size() == 1 ? std::uint64_t{1} : static_cast<std::uint64_t>(values.size(1));
    file.append(npy_head(values.dtype(), rows, width));
    file.append(values.raw());
    report_.bytes += file.finish();
  }

  void write_features(const std::string& name, const FeatureSchema& table, FeatureStore& store) {
    Columns columns;
    for (std::uint32_t c = 0; c < table.dim; ++c)
      columns.push_back({fmt::format("f{}", c), Column::Type::kFloat32});
    const auto sink = create(name, columns, table.rows);
    std::vector<std::uint64_t> wanted;
    std::vector<std::byte> rows;
    std::vector<double> values(table.sparse() ? table.dim : 0);
    Progress progress(context_.progress, name, table.rows, "rows");
    for (std::uint64_t first = 0; first < table.rows; first += kChunkRows) {
      throw_if_interrupted();
      wanted.resize(std::min(kChunkRows, table.rows - first));
      for (std::uint64_t i = 0; i < wanted.size(); ++i) wanted[i] = first + i;
      rows.resize(wanted.size() * store.row_bytes());
      store.gather(wanted, rows).or_throw();
      for (std::uint64_t i = 0; i < wanted.size(); ++i) {
        const auto row = std::span(rows).subspan(i * store.row_bytes(), store.row_bytes());
        if (table.sparse()) read_sparse_row(table, row, values);
        for (std::uint32_t c = 0; c < table.dim; ++c) {
          const double value = table.sparse() ? values[c] : element_of_row(table.dtype, row, c);
          sink->real(static_cast<float>(value));
        }
        sink->end_row();
      }
      progress.add(wanted.size());
    }
    report_.bytes += sink->finish();
  }

  // What stands beside a relation's edges, in the order of the CSC; and what is kept by edge id.
  struct Attributes {
    std::optional<Array> times, weights;
    std::optional<LabelCells> labels;
    bool edge_ids = false;
  };

  // Of the CSC's edges, and then of the log's.
  Array times_of(const RelationSchema& relation) const {
    if (relation.appended == 0) return dataset_.edge_times(relation.key());
    const RelationLog log =
        RelationLog::load(options_.dataset, manifest_, relation, {&context_.ledger, Verify::kRead})
            .or_throw();
    Array all =
        Array::make(
            DType::kI64, {log.times.numel() + log.row_times.numel()}, &context_.ledger, "times")
            .or_throw();
    const auto end =
        std::ranges::copy(log.times.as<std::int64_t>(), all.as<std::int64_t>().begin());
    std::ranges::copy(log.row_times.as<std::int64_t>(), end.out);
    return all;
  }

  Attributes attributes_of(const RelationSchema& relation) const {
    Attributes all;
    if (relation.has_times) all.times = times_of(relation);
    if (relation.has_weights) all.weights = dataset_.edge_weights(relation.key());
    if (relation.labels) all.labels.emplace(*relation.labels, dataset_.edge_labels(relation.key()));
    all.edge_ids = relation.has_edge_ids && !relation.features.empty();
    return all;
  }

  void write_edges(const RelationSchema& relation) {
    const Attributes beside = attributes_of(relation);
    const ExternalIds sources = dataset_.ids(relation.source);
    const ExternalIds targets = dataset_.ids(relation.target);
    const Column from = id_column(relation.source, "source");
    const Column to = id_column(relation.target, "target");
    Columns columns{from, to};
    if (!arrays_) {
      if (beside.times) columns.push_back({"time", Column::Type::kInt64});
      if (beside.weights) columns.push_back({"weight", Column::Type::kFloat32});
      if (beside.labels) append(columns, beside.labels->columns());
      if (beside.edge_ids) columns.push_back({"edge_id", Column::Type::kInt64});
    }
    const auto table = create(relation.key(), columns, relation.edges + relation.appended);
    std::uint64_t at = 0;
    const auto write = [&](std::uint64_t source, std::uint64_t target, std::uint64_t edge_id) {
      put_id(*table, from, sources, source);
      put_id(*table, to, targets, target);
      if (!arrays_) {
        if (beside.times) table->integer(beside.times->as<std::int64_t>()[at]);
        if (beside.weights) table->real(beside.weights->as<float>()[at]);
        if (beside.labels) beside.labels->put(*table, edge_id);
        if (beside.edge_ids) table->integer(static_cast<std::int64_t>(edge_id));
      }
      table->end_row();
      ++at;
    };
    DatasetEdges edges(options_.dataset, manifest_, relation, {}, &context_.ledger);
    while (const auto view = edges.next()) {
      throw_if_interrupted();
      const auto& span = std::get<EdgeSpan<std::uint64_t>>(*view);
      for (std::size_t i = 0; i < span.count; ++i)
        write(span.source[i], span.target[i], span.ids == nullptr ? at : span.ids[i]);
    }
    if (relation.appended != 0) {
      const Array log =
          load_appended(options_.dataset, manifest_, relation, {&context_.ledger, Verify::kRead})
              .or_throw();
      for (std::uint64_t i = 0; i < relation.appended; ++i) {
        const AppendedEdge edge = appended_edge(log.as<std::uint64_t>(), i);
        write(edge.source, edge.target, edge.id);
      }
    }
    report_.bytes += table->finish();
    if (arrays_ && beside.times) write_array(relation.key() + ".times", *beside.times, at);
    if (arrays_ && beside.weights) write_array(relation.key() + ".weights", *beside.weights, at);
    if (arrays_ && beside.labels)
      write_array(relation.key() + ".labels", beside.labels->array(), relation.edge_id_bound);
  }

  void write_graphs(const GraphCollectionSchema& schema) {
    const GraphCollection graphs = dataset_.graphs();
    std::optional<LabelCells> labels;
    if (schema.labels) labels.emplace(*schema.labels, graphs.labels);
    Columns columns{{"graph", Column::Type::kInt64}, {"nodes", Column::Type::kInt64}};
    if (labels && !arrays_) append(columns, labels->columns());
    const auto table = create("graphs", columns, schema.count);
    const auto offsets = graphs.offsets.as<std::uint64_t>();
    for (std::uint64_t i = 0; i < schema.count; ++i) {
      table->integer(static_cast<std::int64_t>(i));
      table->integer(static_cast<std::int64_t>(offsets[i + 1] - offsets[i]));
      if (labels && !arrays_) labels->put(*table, i);
      table->end_row();
    }
    report_.bytes += table->finish();
    if (labels && arrays_) write_array("graphs.labels", labels->array(), schema.count);
  }

  const ExportOptions& options_;
  PrepContext& context_;
  fs::path folder_;
  Manifest manifest_;
  Dataset dataset_;
  bool arrays_;
  ExportReport report_;
};

}  // namespace

ExportReport export_dataset(const ExportOptions& options, PrepContext& context) {
  StagingDirectory staging(options.out, Overwrite::kRefuse);
  ExportReport report = Export(options, context, staging.path()).run();
  staging.commit();
  return report;
}

}  // namespace sluice
