#include "prep/export/table_sink.h"

#include "core/csv_line.h"
#include "prep/export/array_file.h"
#include "prep/export/parquet_file.h"

#include <fmt/format.h>

namespace sluice {
namespace {

class CsvTable final : public TableSink {
 public:
  CsvTable(const std::filesystem::path& path, const std::vector<SinkColumn>& columns)
      : file_(path) {
    for (const SinkColumn& column : columns) text(column.name);
    end_row();
  }

  void integer(std::int64_t value) override { add(fmt::format("{}", value)); }
  void real(float value) override { add(fmt::format("{}", value)); }
  void null() override { add(""); }
  void text(std::string_view value) override { add(csv_field(value)); }
  // "0 3 7"
  void list(std::span<const std::int32_t> values) override {
    std::string joined;
    for (const std::int32_t value : values)
      joined += fmt::format("{}{}", joined.empty() ? "" : " ", value);
    add(joined);
  }
  void end_row() override {
    line_ += '\n';
    file_.append(line_);
    line_.clear();
    first_ = true;
  }
  std::uint64_t finish() override { return file_.finish(); }

 private:
  void add(std::string_view field) {
    if (!first_) line_ += ',';
    first_ = false;
    line_ += field;
  }

  ByteFile file_;
  std::string line_;
  bool first_ = true;
};

class NpyTable final : public TableSink {
 public:
  NpyTable(const std::filesystem::path& path,
           const std::vector<SinkColumn>& columns,
           std::uint64_t rows)
      : file_(path) {
    const bool real = columns.front().type == SinkColumn::Type::kFloat32;
    file_.append(npy_head(real ? DType::kF32 : DType::kI64, rows, columns.size()));
  }

  void integer(std::int64_t value) override { put(value); }
  void real(float value) override { put(value); }
  void text(std::string_view) override { refuse(); }
  void list(std::span<const std::int32_t>) override { refuse(); }
  void null() override { refuse(); }
  void end_row() override {}
  std::uint64_t finish() override { return file_.finish(); }

 private:
  template <class T>
  void put(T value) {
    file_.append(std::as_bytes(std::span(&value, 1)));
  }
  [[noreturn]] static void refuse() {
    throw Error(ErrorCode::kInternal, "an array holds numbers alone");
  }

  ByteFile file_;
};

}  // namespace

std::string_view extension_of(ExportFormat format) {
  switch (format) {
    case ExportFormat::kCsv:
      return ".csv";
    case ExportFormat::kNpy:
      return ".npy";
    case ExportFormat::kParquet:
      break;
  }
  return ".parquet";
}

std::unique_ptr<TableSink> make_table(ExportFormat format,
                                      const std::filesystem::path& path,
                                      const std::vector<SinkColumn>& columns,
                                      std::uint64_t rows,
                                      MemoryLedger& ledger) {
  switch (format) {
    case ExportFormat::kCsv:
      return std::make_unique<CsvTable>(path, columns);
    case ExportFormat::kNpy:
      return std::make_unique<NpyTable>(path, columns, rows);
    case ExportFormat::kParquet:
      break;
  }
  return std::make_unique<ParquetFile>(path, columns, ledger);
}

}  // namespace sluice
