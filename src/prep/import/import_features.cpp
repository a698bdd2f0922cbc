// Feature tables: from matrices or from columns of numbers, encoded and checked chunk by
// chunk.
#include "core/interrupt.h"
#include "prep/features/elements.h"
#include "prep/features/feature_encoder.h"
#include "prep/import/import_context.h"
#include "prep/import/rows_by_id.h"
#include "storage/io/disk_space.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace sluice {
namespace {

std::vector<ColumnRequest> choose_columns(const TableReader& table, const FeatureSpec& spec) {
  std::vector<std::string> names = spec.columns;
  if (names.empty()) {
    for (const ColumnInfo& column : table.columns()) names.push_back(column.name);
  }
  const EmptyCell empty =
      spec.not_finite == NotFinite::kKeep ? EmptyCell::kMissing : EmptyCell::kRefuse;
  std::vector<ColumnRequest> requests;
  for (const std::string& name : names) {
    const ColumnInfo& column = table.column(name, 0);
    const bool matrix = names.size() == 1 && column.dtype.has_value();
    if (!matrix && column.width != 1) {
      throw Error(
          ErrorCode::kData,
          fmt::format(
              "column '{}' has {} numbers a row, beside other columns", column.name, column.width),
          "name it alone in features.columns, or only columns of one number a row",
          Place{table.path().string(), -1, -1, -1});
    }
    requests.push_back({column.name, matrix ? ColumnType::kRaw : ColumnType::kReal, empty});
  }
  return requests;
}

/// The chunk's columns side by side, row by row.
std::span<const std::byte> interleave(const TableChunk& chunk, std::span<double> rows) {
  const std::size_t dim = chunk.columns.size();
  for (std::size_t column = 0; column < dim; ++column) {
    const std::span<const double> values = chunk.columns[column].reals;
    for (std::size_t row = 0; row < chunk.rows; ++row) rows[row * dim + column] = values[row];
  }
  return std::as_bytes(rows);
}

std::string hint_of(bool finite, DType stored) {
  if (!finite && stored == DType::kI8) {
    return "mend the data, or say dtype = \"f32\" and not_finite = \"keep\": int8 has no place for "
           "it";
  }
  if (!finite) return "mend the data, or say not_finite = \"keep\"";
  if (stored == DType::kF16) return "f16 ends at 65504: say dtype = \"bf16\" or \"f32\"";
  return "mend the data: features reach up to 3.4e38";
}

[[noreturn]] void fail_refused(const TableReader& table,
                               const TableChunk& chunk,
                               const std::vector<ColumnRequest>& requests,
                               std::uint32_t dim,
                               std::size_t element,
                               double value,
                               DType stored) {
  const std::size_t column = element % dim;
  const bool matrix = requests.size() == 1 && dim > 1;
  const std::string where = matrix ? fmt::format("element {}: ", column) : "";
  const bool finite = std::isfinite(value);
  const std::string reason =
      finite ? fmt::format("{}{} is beyond {}", where, value, feature_dtype_name(stored))
             : fmt::format("{}the value is {}", where, value);
  throw table.value_error(chunk.first_row + element / dim,
                          requests[matrix ? 0 : column].name,
                          reason,
                          hint_of(finite, stored));
}

// int8 rounds by (seed, node type or relation, row, column).
FeatureEncoding encoding_of(const FeatureSpec& spec,
                            const std::string& owner,
                            DType stored,
                            std::uint32_t dim) {
  FeatureEncoding encoding{stored, dim, spec.not_finite};
  if (stored == DType::kI8 && spec.choice.stochastic()) {
    encoding.draws = RandomKey(static_cast<std::uint64_t>(spec.seed)).with("rounding").with(owner);
  }
  return encoding;
}

// Rows behind those that are there are stored as they are.
DType dtype_of_earlier(const NodeTypeSchema& there, std::uint32_t dim, const Place& place) {
  const std::vector<FeatureSchema>& tables = there.features;
  if (tables.empty()) {
    throw Error(ErrorCode::kData,
                fmt::format("nodes of type '{}' have no features", there.name),
                "leave features out, or import the dataset again",
                place);
  }
  if (tables.front().dim == dim) return tables.front().dtype;
  throw Error(
      ErrorCode::kData,
      fmt::format(
          "{} features a row; nodes of type '{}' have {}", dim, there.name, tables.front().dim),
      "is this the file of another type?",
      place);
}

}  // namespace

FeatureSchema import_feature_table(ImportContext& context,
                                   const FeatureSpec& spec,
                                   const RowTarget& target) {
  const auto table = open_rows(context, spec.file, spec.format, target);
  const std::vector<ColumnRequest> requests = choose_columns(*table, spec);
  const ColumnInfo& first = table->column(requests.front().name, 0);
  const bool matrix = requests.front().type == ColumnType::kRaw;
  const Place place{table->path().string(), -1, -1, -1};
  const DType from = matrix ? *first.dtype : DType::kF64;
  const auto dim = matrix ? first.width : static_cast<std::uint32_t>(requests.size());
  if (dim == 0)
    throw Error(ErrorCode::kData,
                "the features have no columns (dimension 0)",
                "leave features out",
                place);
  if (dim > std::numeric_limits<std::uint32_t>::max() / sizeof(double)) {
    throw Error(ErrorCode::kData,
                fmt::format("a row of {} elements is too wide", dim),
                "is the array transposed?",
                place);
  }
  const std::uint64_t first_new = target.first_new;
  table->select(requests);
  if (const auto rows = table->num_rows()) target.check_rows(first_new + *rows, place);

  FeatureSchema schema{"features", spec.choice.stored(from), 0, dim};
  if (target.earlier != nullptr)
    schema.dtype = dtype_of_earlier(target.earlier->schema(), dim, place);
  FeatureEncoder encoder(encoding_of(spec, target.owner, schema.dtype, dim), context.prep);
  if (const auto rows = table->num_rows()) {
    require_space(context.writer.staging().path(),
                  FeatureLayout::make(schema.dtype, dim, first_new + *rows).file_bytes(),
                  fmt::format("the features of '{}'", target.owner));
  }
  auto file = context.writer.create(target.path);
  FeatureWriter writer(*file, FeatureLayout::make(schema.dtype, dim, 0));
  if (target.earlier != nullptr) target.earlier->copy_features(writer);
  Progress progress(context.prep.progress, spec.file, table->num_rows().value_or(0), "rows");
  for (TableChunk chunk; table->next(chunk);) {
    throw_if_interrupted();
    const auto raw =
        matrix ? chunk.columns[0].raw : interleave(chunk, encoder.scratch(chunk.rows * dim));
    const FeatureEncoder::Rows rows = encoder.encode(first_new + chunk.first_row, from, raw);
    if (rows.refused < chunk.rows * dim) {
      const double value = element_as_double(from, raw, rows.refused);
      fail_refused(*table, chunk, requests, dim, rows.refused, value, schema.dtype);
    }
    writer.append_rows(rows.bytes);
    progress.add(chunk.rows);
  }
  context.writer.add(std::move(file));
  schema.rows = writer.rows();
  target.check_rows(schema.rows, place);
  return schema;
}

void import_features(ImportContext& context, NodeState& node) {
  const FeatureSpec& spec = node.spec.features;
  RowTarget target = rows_of(node, spec.file, "features.bin");
  order_by_id(target, context, node, {spec.file, spec.format, spec.id_column});
  node.schema.features.push_back(import_feature_table(context, spec, target));
}

}  // namespace sluice
