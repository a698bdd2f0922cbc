#include "train/predictions.h"

#include "core/csv_line.h"
#include "storage/io/atomic_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

namespace sluice {
namespace {

// Columns of values that are written as numbers: the last may give way to its names.
std::size_t number_columns(const PredictionSchema& schema) {
  const bool instead = !schema.names.empty() && schema.name_column.empty();
  return schema.columns.size() - (instead ? 1 : 0);
}

const std::string& name_column(const PredictionSchema& schema) {
  return schema.name_column.empty() ? schema.columns.back() : schema.name_column;
}

const std::string& name_of(const PredictionSchema& schema, const Array& values, std::size_t row) {
  const std::size_t at = (row + 1) * schema.columns.size() - 1;
  if (values.dtype() == DType::kI64)
    return schema.names.at(static_cast<std::size_t>(values.as<std::int64_t>()[at]));
  return schema.names.at(values.dtype() == DType::kF64
                             ? static_cast<std::size_t>(values.as<double>()[at])
                             : static_cast<std::size_t>(values.as<float>()[at]));
}

// As Python writes a text: names of columns may hold anything.
std::string python_text(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      continue;
    }
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '\'';
}

bool is_ascii(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

class CsvPredictions final : public PredictionFile {
 public:
  CsvPredictions(const std::filesystem::path& path,
                 const std::vector<ExternalIds>& ids,
                 const PredictionSchema& schema)
      : file_(path), ids_(ids), schema_(schema), numbers_(number_columns(schema)) {
    std::string header;
    for (const PredictionSchema::Ids& column : schema.ids)
      header.append(header.empty() ? "" : ",").append(column.name);
    for (std::size_t c = 0; c < numbers_; ++c)
      header.append(",").append(csv_field(schema.columns[c]));
    if (!schema.names.empty()) header.append(",").append(csv_field(name_column(schema)));
    file_.append(header.append("\n"));
  }

  void append(const std::vector<Array>& nodes,
              const Array& values,
              std::span<const std::uint8_t> known) override {
    std::string text;
    for (std::size_t row = 0; row < known.size(); ++row) {
      for (std::size_t column = 0; column < nodes.size(); ++column) {
        if (column != 0) text += ',';
        text += csv_field(ids_[column].text(nodes[column].as<std::uint64_t>()[row]));
      }
      for (std::size_t c = 0; c < numbers_; ++c) {
        text += ',';
        if (known[row] != 0) text += value_text(values, row * schema_.columns.size() + c);
      }
      if (!schema_.names.empty()) {
        text += ',';
        if (known[row] != 0) text += csv_field(name_of(schema_, values, row));
      }
      text += '\n';
    }
    file_.append(text);
  }

  void commit() override { file_.commit(); }

 private:
  static std::string value_text(const Array& values, std::size_t at) {
    if (values.dtype() == DType::kI64) return fmt::format("{}", values.as<std::int64_t>()[at]);
    return values.dtype() == DType::kF64 ? fmt::format("{}", values.as<double>()[at])
                                         : fmt::format("{}", values.as<float>()[at]);
  }

  AtomicFile file_;
  const std::vector<ExternalIds>& ids_;
  PredictionSchema schema_;
  std::size_t numbers_;
};

class NpyPredictions final : public PredictionFile {
 public:
  NpyPredictions(const std::filesystem::path& path,
                 const std::vector<ExternalIds>& ids,
                 const PredictionSchema& schema)
      : file_(path),
        ids_(ids),
        schema_(schema),
        numbers_(number_columns(schema)),
        row_bytes_(numbers_ * size_of(schema.dtype)),
        rows_(0) {
    for (std::size_t column = 0; column < ids.size(); ++column)
      id_bytes_.push_back(is_text(column) ? std::max<std::uint64_t>(1, schema.ids[column].bytes)
                                          : sizeof(std::int64_t));
    if (!schema.names.empty()) name_bytes_ = 1;
    for (const std::string& name : schema.names) name_bytes_ = std::max(name_bytes_, name.size());
    file_.append(header(schema.rows, 0));
  }

  void append(const std::vector<Array>& nodes,
              const Array& values,
              std::span<const std::uint8_t> known) override {
    const std::size_t ids_bytes = std::accumulate(id_bytes_.begin(), id_bytes_.end(), 0ul);
    const std::size_t record_bytes = ids_bytes + row_bytes_ + name_bytes_;
    std::vector<std::byte> records(record_bytes * known.size());
    std::byte* to = records.data();
    for (std::size_t row = 0; row < known.size(); ++row, to += record_bytes - ids_bytes) {
      for (std::size_t column = 0; column < nodes.size(); to += id_bytes_[column++])
        put_id(to, column, nodes[column].as<std::uint64_t>()[row]);
      if (known[row] == 0) {
        put_unknown(to, values.dtype());
        continue;
      }
      const std::size_t stride = schema_.columns.size() * size_of(schema_.dtype);
      std::memcpy(to, values.raw().data() + row * stride, row_bytes_);
      if (schema_.names.empty()) continue;
      const std::string& name = name_of(schema_, values, row);
      std::memcpy(to + row_bytes_, name.data(), name.size());
    }
    file_.append(records);
    rows_ += known.size();
  }

  void commit() override {
    if (rows_ != schema_.rows) {
      const std::string fewer = header(rows_, header(schema_.rows, 0).size());
      file_.write_at(0, std::as_bytes(std::span(fewer)));
    }
    file_.commit();
  }

 private:
  // @param bytes that it takes: with spaces at its end; 0: as many as suit
  std::string header(std::uint64_t rows, std::size_t bytes) const {
    std::string fields;
    for (std::size_t column = 0; column < id_bytes_.size(); ++column) {
      fields += fmt::format("{}('{}', '{}')",
                            column == 0 ? "" : ", ",
                            schema_.ids[column].name,
                            is_text(column) ? fmt::format("|S{}", id_bytes_[column]) : "<i8");
    }
    const char* const type = schema_.dtype == DType::kI64   ? "<i8"
                             : schema_.dtype == DType::kF64 ? "<f8"
                                                            : "<f4";
    for (std::size_t c = 0; c < numbers_; ++c)
      fields += fmt::format(", ({}, '{}')", python_text(schema_.columns[c]), type);
    if (!schema_.names.empty())
      fields += fmt::format(", ({}, '|S{}')", python_text(name_column(schema_)), name_bytes_);
    std::string dict =
        fmt::format("{{'descr': [{}], 'fortran_order': False, 'shape': ({},), }}", fields, rows);
    // Version 2.0 of the format, whose header may be longer than 64 KiB, or 3.0, which is that in
    // UTF-8: magic, u32 length, text to a multiple of 64.
    constexpr std::size_t kBefore = 12;
    dict.append(63 - (kBefore + dict.size()) % 64, ' ');
    if (bytes != 0) dict.resize(bytes - kBefore - 1, ' ');
    dict += '\n';
    const auto length = static_cast<std::uint32_t>(dict.size());
    std::string all("\x93NUMPY", 6);
    all += is_ascii(dict) ? '\x02' : '\x03';
    all += '\0';
    all.append(reinterpret_cast<const char*>(&length), sizeof length);
    return all + dict;
  }

  void put_unknown(std::byte* to, DType dtype) const {
    const std::int64_t none = -1;
    const float not_known = std::numeric_limits<float>::quiet_NaN();
    const double not_known_double = std::numeric_limits<double>::quiet_NaN();
    const void* from = &not_known;
    if (dtype == DType::kI64) from = &none;
    if (dtype == DType::kF64) from = &not_known_double;
    for (std::size_t at = 0; at < row_bytes_; at += size_of(dtype))
      std::memcpy(to + at, from, size_of(dtype));
  }

  bool is_text(std::size_t column) const { return ids_[column].kind() == IdKind::kString; }

  void put_id(std::byte* to, std::size_t column, std::uint64_t node) const {
    if (is_text(column)) {
      const std::string id = ids_[column].text(node);
      std::memcpy(to, id.data(), std::min<std::size_t>(id.size(), id_bytes_[column]));
    } else {
      const std::int64_t id = ids_[column].integer(node);
      std::memcpy(to, &id, sizeof id);
    }
  }

  AtomicFile file_;
  const std::vector<ExternalIds>& ids_;
  std::vector<std::uint64_t> id_bytes_;  // by column
  PredictionSchema schema_;
  std::size_t numbers_;
  std::size_t row_bytes_;       // of the numbers
  std::uint64_t rows_;          // that were written
  std::size_t name_bytes_ = 0;  // of each, the longest
};

}  // namespace

void PredictionFile::check_name(const std::filesystem::path& path) {
  if (path.extension() == ".csv" || path.extension() == ".npy") return;
  throw Error(ErrorCode::kUsage,
              "predictions are written as .csv or .npy, and this name ends in neither",
              "for example --out predictions.csv",
              Place{path.string(), -1, -1, -1});
}

std::unique_ptr<PredictionFile> PredictionFile::create(const std::filesystem::path& path,
                                                       const std::vector<ExternalIds>& ids,
                                                       const PredictionSchema& schema) {
  check_name(path);
  if (path.extension() == ".csv") return std::make_unique<CsvPredictions>(path, ids, schema);
  return std::make_unique<NpyPredictions>(path, ids, schema);
}

}  // namespace sluice
