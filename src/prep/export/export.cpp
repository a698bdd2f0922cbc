#include "prep/export/export.h"

#include "core/interrupt.h"
#include "prep/dataset_edges.h"
#include "prep/export/array_file.h"
#include "prep/features/elements.h"
#include "storage/format/appended_edges.h"
#include "storage/format/staging.h"

#include <sluice/dataset.h>

#include <fmt/format.h>

#include <cmath>
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
      for (const FeatureSchema& table : node.features) write_features(node, table);
    }
    for (const RelationSchema& relation : manifest_.schema.relations) write_edges(relation);
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

  static Columns label_columns(const LabelSchema& schema) {
    switch (schema.kind) {
      case LabelKind::kClass:
        return {{"label", Column::Type::kInt32}};
      case LabelKind::kMultiLabel:
        return {{"label", Column::Type::kInt32List}};
      case LabelKind::kRegression:
        break;
    }
    if (schema.width == 1) return {{"label", Column::Type::kFloat32}};
    Columns columns;
    for (std::uint32_t i = 0; i < schema.width; ++i)
      columns.push_back({fmt::format("label{}", i), Column::Type::kFloat32});
    return columns;
  }

  static void put_label(TableSink& table,
                        const Array& labels,
                        const LabelSchema& schema,
                        std::uint64_t node) {
    switch (schema.kind) {
      case LabelKind::kClass: {
        const std::int32_t label = labels.as<std::int32_t>()[node];
        return label < 0 ? table.null() : table.integer(label);
      }
      case LabelKind::kMultiLabel: {
        const std::size_t bytes = (schema.width + 7) / 8;
        const auto bits = labels.as<std::uint8_t>().subspan(node * bytes, bytes);
        std::vector<std::int32_t> set;
        for (std::uint32_t i = 0; i < schema.width; ++i)
          if ((bits[i / 8] >> i % 8 & 1) != 0) set.push_back(static_cast<std::int32_t>(i));
        return table.list(set);
      }
      case LabelKind::kRegression:
        for (const float value : labels.as<float>().subspan(node * schema.width, schema.width))
          std::isnan(value) ? table.null() : table.real(value);
    }
  }

  void write_nodes(const NodeTypeSchema& node) {
    const ExternalIds ids = dataset_.ids(node.name);
    std::optional<Array> labels;
    if (node.labels) labels = dataset_.labels(node.name);
    const Column id = id_column(node.name, "id");
    Columns columns{id};
    const bool beside = labels && !arrays_;
    if (beside) {
      for (Column& column : label_columns(*node.labels)) columns.push_back(std::move(column));
    }
    const auto table = create(arrays_ ? node.name + ".ids" : node.name, columns, node.count);
    for (std::uint64_t i = 0; i < node.count; ++i) {
      put_id(*table, id, ids, i);
      if (beside) put_label(*table, *labels, *node.labels, i);
      table->end_row();
    }
    report_.bytes += table->finish();
    if (labels && arrays_) write_label_array(node, *labels);
  }

  void write_label_array(const NodeTypeSchema& node, const Array& labels) {
    report_.files.push_back(node.name + ".labels.npy");
    ByteFile file(folder_ / report_.files.back());
    const auto width =
        labels.shape().size() == 1 ? std::uint64_t{1} : static_cast<std::uint64_t>(labels.size(1));
    file.append(npy_head(labels.dtype(), node.count, width));
    file.append(labels.raw());
    report_.bytes += file.finish();
  }

  void write_features(const NodeTypeSchema& node, const FeatureSchema& table) {
    const auto store = dataset_.features(node.name, {}, table.name);
    Columns columns;
    for (std::uint32_t c = 0; c < table.dim; ++c)
      columns.push_back({fmt::format("f{}", c), Column::Type::kFloat32});
    const auto sink = create(node.name + "." + table.name, columns, node.count);
    std::vector<std::uint64_t> wanted;
    std::vector<std::byte> rows;
    Progress progress(context_.progress, node.name + " " + table.name, node.count, "rows");
    for (std::uint64_t first = 0; first < node.count; first += kChunkRows) {
      throw_if_interrupted();
      wanted.resize(std::min(kChunkRows, node.count - first));
      for (std::uint64_t i = 0; i < wanted.size(); ++i) wanted[i] = first + i;
      rows.resize(wanted.size() * store->row_bytes());
      store->gather(wanted, rows).or_throw();
      for (std::uint64_t i = 0; i < wanted.size(); ++i) {
        const auto row = std::span(rows).subspan(i * store->row_bytes(), store->row_bytes());
        for (std::uint32_t c = 0; c < table.dim; ++c)
          sink->real(static_cast<float>(element_of_row(table.dtype, row, c)));
        sink->end_row();
      }
      progress.add(wanted.size());
    }
    report_.bytes += sink->finish();
  }

  void write_edges(const RelationSchema& relation) {
    const ExternalIds sources = dataset_.ids(relation.source);
    const ExternalIds targets = dataset_.ids(relation.target);
    const Column from = id_column(relation.source, "source");
    const Column to = id_column(relation.target, "target");
    const auto table = create(relation.key(), {from, to}, relation.edges + relation.appended);
    const auto write = [&](std::uint64_t source, std::uint64_t target) {
      put_id(*table, from, sources, source);
      put_id(*table, to, targets, target);
      table->end_row();
    };
    DatasetEdges edges(options_.dataset, manifest_, relation, {}, &context_.ledger);
    while (const auto view = edges.next()) {
      throw_if_interrupted();
      const auto& span = std::get<EdgeSpan<std::uint64_t>>(*view);
      for (std::size_t i = 0; i < span.count; ++i) write(span.source[i], span.target[i]);
    }
    if (relation.appended != 0) {
      const Array log =
          load_appended(options_.dataset, manifest_, relation, {&context_.ledger, Verify::kRead})
              .or_throw();
      for (std::uint64_t i = 0; i < relation.appended; ++i) {
        const AppendedEdge edge = appended_edge(log.as<std::uint64_t>(), i);
        write(edge.source, edge.target);
      }
    }
    report_.bytes += table->finish();
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
