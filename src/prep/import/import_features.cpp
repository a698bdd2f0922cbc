// Feature tables: from .npy matrices or from columns of numbers, converted and checked chunk by
// chunk.
#include "core/interrupt.h"
#include "prep/import/convert.h"
#include "prep/import/import_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>

namespace sluice {
namespace {

constexpr std::size_t kGrain = 65536;  // elements a task

/// Rows of one chunk as they are stored: converted, checked, and ready for the writer.
class FeatureRows {
 public:
  FeatureRows(ImportContext& context, const FeatureSpec& spec, DType dtype)
      : arena_(context.prep.arena),
        ledger_(context.prep.ledger),
        not_finite_(spec.not_finite),
        dtype_(dtype) {}

  /// @param raw elements of dtype `from`, row by row
  std::span<const std::byte> store(DType from, std::span<const std::byte> raw);

  /// Index of the first element that may not be stored, or the number of elements.
  std::size_t first_refused(std::span<const std::byte> stored) const;
  /// f64 room for `count` elements, for tables of several columns.
  std::span<double> scratch(std::size_t count) {
    return {room_for<double>(scratch_, count), count};
  }

 private:
  template <class T>
  T* room_for(AlignedBuffer& buffer, std::size_t count) {
    if (buffer.size() < count * sizeof(T)) {
      buffer = AlignedBuffer::make(count * sizeof(T), &ledger_, "feature rows").or_throw();
    }
    return reinterpret_cast<T*>(buffer.data());
  }

  ThreadArena& arena_;
  MemoryLedger& ledger_;
  NotFinite not_finite_;
  DType dtype_;
  AlignedBuffer converted_;
  AlignedBuffer scratch_;
};

std::span<const std::byte> FeatureRows::store(DType from, std::span<const std::byte> raw) {
  if (from == dtype_) return raw;
  const std::size_t from_bytes = size_of(from), to_bytes = size_of(dtype_),
                    count = raw.size() / from_bytes;
  const std::span out(room_for<std::byte>(converted_, count * to_bytes), count * to_bytes);
  arena_.for_ranges(count, kGrain, [&](std::size_t begin, std::size_t end) {
    convert_elements(from,
                     raw.subspan(begin * from_bytes, (end - begin) * from_bytes),
                     dtype_,
                     out.subspan(begin * to_bytes, (end - begin) * to_bytes));
  });
  return out;
}

std::size_t FeatureRows::first_refused(std::span<const std::byte> stored) const {
  const std::size_t bytes = size_of(dtype_), count = stored.size() / bytes;
  if (not_finite_ == NotFinite::kKeep) return count;
  std::atomic<std::size_t> first = count;
  arena_.for_ranges(count, kGrain, [&](std::size_t begin, std::size_t end) {
    const std::size_t found =
        begin + first_not_finite(dtype_, stored.subspan(begin * bytes, (end - begin) * bytes));
    for (std::size_t known = first;
         found < end && found < known && !first.compare_exchange_weak(known, found);) {
    }
  });
  return first;
}

DType stored_dtype(FeatureDType choice, DType from) {
  if (choice == FeatureDType::kF16) return DType::kF16;
  if (choice == FeatureDType::kF32) return DType::kF32;
  return is_feature_dtype(from) ? from : DType::kF32;
}

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

[[noreturn]] void fail_not_finite(const TableReader& table,
                                  const TableChunk& chunk,
                                  const std::vector<ColumnRequest>& requests,
                                  std::uint32_t dim,
                                  std::size_t element,
                                  double value,
                                  DType stored) {
  const std::size_t column = element % dim;
  const bool matrix = requests.size() == 1 && dim > 1;
  const std::string where = matrix ? fmt::format("element {}: ", column) : "";
  const bool finite = value - value == 0;
  const std::string reason = finite
                                 ? fmt::format("{}{} is beyond {}", where, value, to_string(stored))
                                 : fmt::format("{}the value is {}", where, value);
  throw table.value_error(chunk.first_row + element / dim,
                          requests[matrix ? 0 : column].name,
                          reason,
                          "mend the data, or say not_finite = \"keep\"");
}

}  // namespace

void import_features(ImportContext& context, NodeState& node) {
  const FeatureSpec& spec = node.spec.features;
  const auto table = context.open(spec.file, spec.format);
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
  if (const auto rows = table->num_rows()) node.ids.set_count(*rows, spec.file, place);

  FeatureSchema schema{"features", stored_dtype(spec.dtype, from), 0, dim};
  FeatureRows rows(context, spec, schema.dtype);
  auto file = context.writer.create(node_path(node.spec.type, "features.bin"));
  FeatureWriter writer(*file, FeatureLayout::make(schema.dtype, dim, 0));
  Progress progress(context.prep.progress, spec.file, table->num_rows().value_or(0), "rows");
  table->select(requests);
  for (TableChunk chunk; table->next(chunk);) {
    throw_if_interrupted();
    const auto raw =
        matrix ? chunk.columns[0].raw : interleave(chunk, rows.scratch(chunk.rows * dim));
    const auto stored = rows.store(from, raw);
    const std::size_t refused = rows.first_refused(stored);
    if (refused < chunk.rows * dim) {
      const double value = is_feature_dtype(from) || from == DType::kF64
                               ? element_as_double(from, raw, refused)
                               : element_as_double(schema.dtype, stored, refused);
      fail_not_finite(*table, chunk, requests, dim, refused, value, schema.dtype);
    }
    writer.append_rows(stored);
    progress.add(chunk.rows);
  }
  context.writer.add(std::move(file));
  schema.rows = writer.rows();
  node.ids.set_count(schema.rows, spec.file, place);
  node.schema.features.push_back(schema);
}

}  // namespace sluice
