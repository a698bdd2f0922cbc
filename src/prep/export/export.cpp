#include "prep/export/export.h"

#include "core/interrupt.h"
#include "prep/dataset_edges.h"
#include "prep/export/array_file.h"
#include "prep/features/elements.h"
#include "storage/format/appended_edges.h"
#include "storage/format/staging.h"

#include <sluice/dataset.h>

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kChunkRows = 4096;

// A CSV field: quoted where it holds what would end it.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

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
        csv_(options.format == ExportFormat::kCsv) {}

  ExportReport run() {
    for (const NodeTypeSchema& node : manifest_.schema.nodes) {
      if (!csv_ && node.ids == IdKind::kString) {
        throw Error(
            ErrorCode::kUsage,
            fmt::format("ids of type '{}' are strings, and .npy has no array of those", node.name),
            "export as csv");
      }
      write_nodes(node);
      for (const FeatureSchema& table : node.features) write_features(node, table);
    }
    for (const RelationSchema& relation : manifest_.schema.relations) write_edges(relation);
    return std::move(report_);
  }

 private:
  ByteFile create(const std::string& name) {
    report_.files.push_back(name);
    return ByteFile(folder_ / name);
  }
  void finish(ByteFile& file) { report_.bytes += file.finish(); }

  void write_nodes(const NodeTypeSchema& node) {
    const ExternalIds ids = dataset_.ids(node.name);
    std::optional<Array> labels;
    if (node.labels) labels = dataset_.labels(node.name);
    if (csv_) {
      ByteFile file = create(node.name + ".csv");
      file.append(labels ? "id,label\n" : "id\n");
      for (std::uint64_t i = 0; i < node.count; ++i) {
        file.append(field(ids.text(i)));
        if (labels) file.append("," + label_text(*labels, *node.labels, i));
        file.append("\n");
      }
      return finish(file);
    }
    ByteFile file = create(node.name + ".ids.npy");
    file.append(npy_head(DType::kI64, node.count, 1));
    for (std::uint64_t i = 0; i < node.count; ++i) {
      const std::int64_t id = ids.integer(i);
      file.append(std::as_bytes(std::span(&id, 1)));
    }
    finish(file);
    if (!labels) return;
    ByteFile label_file = create(node.name + ".labels.npy");
    const auto width = labels->shape().size() == 1 ? std::uint64_t{1}
                                                   : static_cast<std::uint64_t>(labels->size(1));
    label_file.append(npy_head(labels->dtype(), node.count, width));
    label_file.append(std::as_const(*labels).raw());
    finish(label_file);
  }

  // A class; "0 3 7" for several labels; numbers for targets.
  static std::string label_text(const Array& labels,
                                const LabelSchema& schema,
                                std::uint64_t node) {
    std::string text;
    const auto add = [&](const std::string& more) { text += (text.empty() ? "" : " ") + more; };
    switch (schema.kind) {
      case LabelKind::kClass: {
        const std::int32_t label = labels.as<std::int32_t>()[node];
        return label < 0 ? std::string() : std::to_string(label);
      }
      case LabelKind::kMultiLabel: {
        const std::size_t bytes = (schema.width + 7) / 8;
        const auto bits = labels.as<std::uint8_t>().subspan(node * bytes, bytes);
        for (std::uint32_t i = 0; i < schema.width; ++i)
          if ((bits[i / 8] >> i % 8 & 1) != 0) add(std::to_string(i));
        return text;
      }
      case LabelKind::kRegression:
        for (const float value : labels.as<float>().subspan(node * schema.width, schema.width))
          add(fmt::format("{}", value));
        return text;
    }
    return text;
  }

  void write_features(const NodeTypeSchema& node, const FeatureSchema& table) {
    const auto store = dataset_.features(node.name, {}, table.name);
    ByteFile file = create(node.name + "." + table.name + (csv_ ? ".csv" : ".npy"));
    if (csv_) {
      std::string head;
      for (std::uint32_t c = 0; c < table.dim; ++c)
        head += fmt::format("{}f{}", c == 0 ? "" : ",", c);
      file.append(head + "\n");
    } else {
      file.append(npy_head(DType::kF32, node.count, table.dim));
    }
    std::vector<std::uint64_t> wanted;
    std::vector<std::byte> rows;
    Progress progress(context_.progress, node.name + " " + table.name, node.count, "rows");
    for (std::uint64_t first = 0; first < node.count; first += kChunkRows) {
      throw_if_interrupted();
      wanted.resize(std::min(kChunkRows, node.count - first));
      for (std::uint64_t i = 0; i < wanted.size(); ++i) wanted[i] = first + i;
      rows.resize(wanted.size() * store->row_bytes());
      store->gather(wanted, rows).or_throw();
      for (std::uint64_t i = 0; i < wanted.size(); ++i)
        write_row(file, table, std::span(rows).subspan(i * store->row_bytes(), store->row_bytes()));
      progress.add(wanted.size());
    }
    finish(file);
  }

  void write_row(ByteFile& file, const FeatureSchema& table, std::span<const std::byte> row) const {
    std::string text;
    for (std::uint32_t c = 0; c < table.dim; ++c) {
      const auto value = static_cast<float>(element_of_row(table.dtype, row, c));
      if (csv_) {
        text += fmt::format("{}{}", c == 0 ? "" : ",", value);
      } else {
        file.append(std::as_bytes(std::span(&value, 1)));
      }
    }
    if (csv_) file.append(text + "\n");
  }

  void write_edges(const RelationSchema& relation) {
    const ExternalIds sources = dataset_.ids(relation.source);
    const ExternalIds targets = dataset_.ids(relation.target);
    ByteFile file = create(relation.key() + (csv_ ? ".csv" : ".npy"));
    if (csv_) {
      file.append("source,target\n");
    } else {
      file.append(npy_head(DType::kI64, relation.edges + relation.appended, 2));
    }
    const auto write = [&](std::uint64_t source, std::uint64_t target) {
      if (csv_) {
        file.append(field(sources.text(source)) + "," + field(targets.text(target)) + "\n");
        return;
      }
      const std::int64_t pair[2] = {sources.integer(source), targets.integer(target)};
      file.append(std::as_bytes(std::span(pair)));
    };
    DatasetEdges edges(options_.dataset, manifest_, relation, {}, &context_.ledger);
    while (const auto view = edges.next()) {
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
    finish(file);
  }

  const ExportOptions& options_;
  PrepContext& context_;
  fs::path folder_;
  Manifest manifest_;
  Dataset dataset_;
  bool csv_;
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
