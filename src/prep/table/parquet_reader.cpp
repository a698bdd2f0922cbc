#include "prep/table/parquet_reader.h"

#include "prep/table/arrow_source.h"

#include <sluice/units.h>

#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace sluice {
namespace {

constexpr std::uint64_t kBatchBytes = 4 * kMiB;  // of a column, as the file says
constexpr std::string_view kParquetMagic = "PAR1";

/// A column of the file with a reader of its own, so that columns are read at the same time.
struct Column {
  std::unique_ptr<parquet::arrow::FileReader> file;
  std::unique_ptr<arrow::RecordBatchReader> batches;
};

void list_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
  if (field.is_leaf()) leaves.push_back(field.column_index);
  for (const auto& child : field.children) list_leaves(child, leaves);
}

class ParquetSource final : public ArrowSource {
 public:
  ParquetSource(const TableSource& source, LedgerMemoryPool& pool, ArrowFaults& faults);

  const arrow::Schema& schema() const override { return *schema_; }
  std::optional<std::uint64_t> num_rows() const override {
    return static_cast<std::uint64_t>(metadata_->num_rows());
  }
  void start(const std::vector<int>& fields, std::uint64_t batch_rows) override;
  void refill(std::vector<std::shared_ptr<arrow::Array>>& arrays) override;

 private:
  void check_ends() const;
  std::unique_ptr<parquet::arrow::FileReader> open(std::uint64_t batch_rows) const;
  Column open_column(int field, std::uint64_t batch_rows) const;
  std::uint64_t row_bytes(const std::vector<int>& leaves) const;
  std::shared_ptr<arrow::Array> next_array(Column& column) const;

  ThreadArena& arena_;
  LedgerMemoryPool& pool_;
  ArrowFaults& faults_;
  std::shared_ptr<ArrowFile> file_;
  std::shared_ptr<parquet::FileMetaData> metadata_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<Column> columns_;
};

ParquetSource::ParquetSource(const TableSource& source, LedgerMemoryPool& pool, ArrowFaults& faults)
    : arena_(*source.arena),
      pool_(pool),
      faults_(faults),
      file_(std::make_shared<ArrowFile>(source.path, &pool)) {
  faults_.watch(file_);
  check_ends();
  faults_.run([&] {
    const auto reader = open(1);
    metadata_ = reader->parquet_reader()->metadata();
    return reader->GetSchema(&schema_);
  });
  if (metadata_->num_rows() < 0)
    faults_.fail("claims a negative number of rows", "the file is damaged: write it again");
}

void ParquetSource::check_ends() const {
  std::array<char, kParquetMagic.size()> front{}, back{};
  faults_.run([&] {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t size, file_->GetSize());
    const auto length = static_cast<std::int64_t>(kParquetMagic.size());
    ARROW_RETURN_NOT_OK(file_->ReadAt(0, length, front.data()));
    return file_->ReadAt(std::max<std::int64_t>(size - length, 0), length, back.data()).status();
  });
  const auto holds = [](const auto& bytes, std::string_view text) {
    return std::string_view(bytes.data(), bytes.size()) == text;
  };
  if (holds(front, "PARE") || holds(back, "PARE"))
    faults_.fail("is encrypted Parquet", "write it without encryption");
  if (!holds(front, kParquetMagic))
    faults_.fail("is not a Parquet file", "the first bytes of one are PAR1");
  if (!holds(back, kParquetMagic))
    faults_.fail("ends before its footer", "the file was cut short: write it again");
}

std::unique_ptr<parquet::arrow::FileReader> ParquetSource::open(std::uint64_t batch_rows) const {
  parquet::ReaderProperties properties(&pool_);
  properties.enable_buffered_stream();  // else a column of a row group is read whole
  properties.set_page_checksum_verification(true);
  parquet::ArrowReaderProperties arrow_properties(/*use_threads=*/false);  // the arena has them
  arrow_properties.set_pre_buffer(false);
  arrow_properties.set_batch_size(static_cast<std::int64_t>(batch_rows));
  parquet::arrow::FileReaderBuilder builder;
  std::unique_ptr<parquet::arrow::FileReader> reader;
  faults_.run([&] {
    ARROW_RETURN_NOT_OK(builder.Open(file_, properties, metadata_));
    return builder.memory_pool(&pool_)->properties(arrow_properties)->Build(&reader);
  });
  return reader;
}

/// Of these leaves, decoded, on average.
std::uint64_t ParquetSource::row_bytes(const std::vector<int>& leaves) const {
  std::uint64_t bytes = 0;
  for (int group = 0; group < metadata_->num_row_groups(); ++group) {
    const auto row_group = metadata_->RowGroup(group);
    for (const int leaf : leaves) {
      const std::int64_t size = row_group->ColumnChunk(leaf)->total_uncompressed_size();
      bytes += static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0));
    }
  }
  return bytes / std::max<std::uint64_t>(*num_rows(), 1);
}

Column ParquetSource::open_column(int field, std::uint64_t batch_rows) const {
  Column column;
  faults_.run([&] {
    std::vector<int> leaves;
    list_leaves(open(1)->manifest().schema_fields.at(static_cast<std::size_t>(field)), leaves);
    const std::uint64_t most = kBatchBytes / std::max<std::uint64_t>(row_bytes(leaves), 1);
    column.file = open(std::clamp<std::uint64_t>(most, 1, batch_rows));
    std::vector<int> groups(static_cast<std::size_t>(metadata_->num_row_groups()));
    std::iota(groups.begin(), groups.end(), 0);
    ARROW_ASSIGN_OR_RAISE(column.batches, column.file->GetRecordBatchReader(groups, leaves));
    return arrow::Status::OK();
  });
  return column;
}

void ParquetSource::start(const std::vector<int>& fields, std::uint64_t batch_rows) {
  columns_.clear();
  for (const int field : fields) columns_.push_back(open_column(field, batch_rows));
}

std::shared_ptr<arrow::Array> ParquetSource::next_array(Column& column) const {
  std::shared_ptr<arrow::RecordBatch> batch;
  do {
    faults_.run([&] { return column.batches->ReadNext(&batch); });
    if (batch == nullptr) return nullptr;
  } while (batch->num_rows() == 0);
  return batch->column(0);
}

void ParquetSource::refill(std::vector<std::shared_ptr<arrow::Array>>& arrays) {
  std::vector<std::optional<Error>> problems(arrays.size());
  arena_.for_each(arrays.size(), [&](std::size_t i) {
    if (arrays[i] != nullptr) return;
    try {
      arrays[i] = next_array(columns_[i]);
    } catch (const Error& error) {
      problems[i] = error;
    }
  });
  for (const auto& problem : problems) {
    if (problem) throw Error(*problem);
  }
}

std::unique_ptr<ArrowSource> open_parquet(const TableSource& source,
                                          LedgerMemoryPool& pool,
                                          ArrowFaults& faults) {
  return std::make_unique<ParquetSource>(source, pool, faults);
}

}  // namespace

ParquetReader::ParquetReader(Options /*options*/, const TableSource& source)
    : ArrowTableReader(source, "Parquet", &open_parquet) {}

}  // namespace sluice
