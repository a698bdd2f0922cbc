#include "train/predictions.h"

#include "storage/io/atomic_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

namespace sluice {
namespace {

// RFC 4180: quoted where it must be.
std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

constexpr const char* kNameColumn = "class_name";

const std::string& name_of(const std::vector<std::string>& names,
                           const Array& values,
                           std::size_t row) {
  return names.at(static_cast<std::size_t>(values.as<std::int64_t>()[row]));
}

class CsvPredictions final : public PredictionFile {
 public:
  CsvPredictions(const std::filesystem::path& path,
                 const std::vector<ExternalIds>& ids,
                 const PredictionSchema& schema)
      : file_(path), ids_(ids), columns_(schema.columns.size()), names_(schema.names) {
    std::string header;
    for (const PredictionSchema::Ids& column : schema.ids)
      header.append(header.empty() ? "" : ",").append(column.name);
    for (const std::string& column : schema.columns) header.append(",").append(column);
    if (!names_.empty()) header.append(",").append(kNameColumn);
    file_.append(header.append("\n"));
  }

  void append(const std::vector<Array>& nodes,
              const Array& values,
              std::span<const std::uint8_t> known) override {
    std::string text;
    for (std::size_t row = 0; row < known.size(); ++row) {
      for (std::size_t column = 0; column < nodes.size(); ++column) {
        if (column != 0) text += ',';
        text += csv_text(ids_[column].text(nodes[column].as<std::uint64_t>()[row]));
      }
      for (std::size_t c = 0; c < columns_; ++c) {
        text += ',';
        if (known[row] != 0) text += value_text(values, row * columns_ + c);
      }
      if (!names_.empty()) {
        text += ',';
        if (known[row] != 0) text += csv_text(name_of(names_, values, row));
      }
      text += '\n';
    }
    file_.append(text);
  }

  void commit() override { file_.commit(); }

 private:
  static std::string value_text(const Array& values, std::size_t at) {
    return values.dtype() == DType::kI64 ? fmt::format("{}", values.as<std::int64_t>()[at])
                                         : fmt::format("{}", values.as<float>()[at]);
  }

  AtomicFile file_;
  const std::vector<ExternalIds>& ids_;
  std::size_t columns_;
  std::vector<std::string> names_;
};

class NpyPredictions final : public PredictionFile {
 public:
  NpyPredictions(const std::filesystem::path& path,
                 const std::vector<ExternalIds>& ids,
                 const PredictionSchema& schema)
      : file_(path),
        ids_(ids),
        row_bytes_(schema.columns.size() * size_of(schema.dtype)),
        names_(schema.names) {
    for (std::size_t column = 0; column < ids.size(); ++column)
      id_bytes_.push_back(is_text(column) ? std::max<std::uint64_t>(1, schema.ids[column].bytes)
                                          : sizeof(std::int64_t));
    if (!names_.empty()) name_bytes_ = 1;
    for (const std::string& name : names_) name_bytes_ = std::max(name_bytes_, name.size());
    file_.append(header(schema));
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
      std::memcpy(to, values.raw().data() + row * row_bytes_, row_bytes_);
      if (names_.empty()) continue;
      const std::string& name = name_of(names_, values, row);
      std::memcpy(to + row_bytes_, name.data(), name.size());
    }
    file_.append(records);
  }

  void commit() override { file_.commit(); }

 private:
  std::string header(const PredictionSchema& schema) const {
    std::string fields;
    for (std::size_t column = 0; column < id_bytes_.size(); ++column) {
      fields += fmt::format("{}('{}', '{}')",
                            column == 0 ? "" : ", ",
                            schema.ids[column].name,
                            is_text(column) ? fmt::format("|S{}", id_bytes_[column]) : "<i8");
    }
    for (const std::string& column : schema.columns) {
      fields += fmt::format(", ('{}', '{}')", column, schema.dtype == DType::kI64 ? "<i8" : "<f4");
    }
    if (!names_.empty()) fields += fmt::format(", ('{}', '|S{}')", kNameColumn, name_bytes_);
    std::string dict = fmt::format(
        "{{'descr': [{}], 'fortran_order': False, 'shape': ({},), }}", fields, schema.rows);
    // Version 2.0 of the format, whose header may be longer than 64 KiB: magic, u32 length, text to
    // a multiple of 64.
    constexpr std::size_t kBefore = 12;
    dict.append(63 - (kBefore + dict.size()) % 64, ' ');
    dict += '\n';
    const auto length = static_cast<std::uint32_t>(dict.size());
    std::string all("\x93NUMPY\x02\x00", 8);
    all.append(reinterpret_cast<const char*>(&length), sizeof length);
    return all + dict;
  }

  void put_unknown(std::byte* to, DType dtype) const {
    const std::int64_t none = -1;
    const float not_known = std::numeric_limits<float>::quiet_NaN();
    const void* from = dtype == DType::kI64 ? static_cast<const void*>(&none) : &not_known;
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
  std::size_t row_bytes_;
  std::vector<std::string> names_;
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
