// Files of Arrow's formats, written by Arrow from JSON.
#pragma once

#include <doctest/doctest.h>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <arrow/json/from_string.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/writer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

template <class T>
T value_of(arrow::Result<T> result) {
  REQUIRE_MESSAGE(result.ok(), result.status().ToString());
  return std::move(result).ValueUnsafe();
}

inline void succeed(const arrow::Status& status) {
  if (!status.ok()) FAIL(status.ToString());
}

inline std::shared_ptr<arrow::Array> array_of(const std::shared_ptr<arrow::DataType>& type,
                                              const std::string& json) {
  return value_of(arrow::json::ArrayFromJSONString(type, json));
}

struct NamedArray {
  std::string name;
  std::shared_ptr<arrow::Array> array;
};

inline std::shared_ptr<arrow::Table> table_of(const std::vector<NamedArray>& columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, array] : columns) {
    fields.push_back(arrow::field(name, array->type()));
    arrays.push_back(array);
  }
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

struct ParquetOptions {
  std::int64_t group_rows = 1 << 20;
  arrow::Compression::type codec = arrow::Compression::UNCOMPRESSED;
  bool dictionary = true;
  bool checksums = false;
  std::int64_t page_bytes = 1 << 20;
};

inline std::string finish(const std::shared_ptr<arrow::io::BufferOutputStream>& output) {
  return value_of(output->Finish())->ToString();
}

inline std::string parquet_of(const arrow::Table& table, const ParquetOptions& options = {}) {
  parquet::WriterProperties::Builder builder;
  builder.compression(options.codec)->data_pagesize(options.page_bytes);
  if (!options.dictionary) builder.disable_dictionary();
  if (options.checksums) builder.enable_page_checksum();
  const auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
  const auto output = value_of(arrow::io::BufferOutputStream::Create());
  succeed(parquet::arrow::WriteTable(table,
                                     arrow::default_memory_pool(),
                                     output,
                                     options.group_rows,
                                     builder.build(),
                                     arrow_properties));
  return finish(output);
}

enum class Ipc { kFile, kStream };

inline std::string ipc_of(const arrow::Table& table,
                          Ipc form = Ipc::kFile,
                          std::int64_t batch_rows = 1 << 20,
                          arrow::Compression::type codec = arrow::Compression::UNCOMPRESSED) {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.unify_dictionaries = true;
  options.use_threads = false;
  if (codec != arrow::Compression::UNCOMPRESSED)
    options.codec = value_of(arrow::util::Codec::Create(codec));
  const auto output = value_of(arrow::io::BufferOutputStream::Create());
  const auto writer =
      value_of(form == Ipc::kFile ? arrow::ipc::MakeFileWriter(output, table.schema(), options)
                                  : arrow::ipc::MakeStreamWriter(output, table.schema(), options));
  succeed(writer->WriteTable(table, batch_rows));
  succeed(writer->Close());
  return finish(output);
}

}  // namespace sluice::test
