#include "prep/export/parquet_file.h"

#include "prep/table/arrow_memory.h"
#include "storage/io/file.h"

#include <arrow/api.h>
#include <arrow/io/interfaces.h>
#include <parquet/arrow/writer.h>

#include <optional>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kGroupBytes = std::uint64_t{16} << 20;  // of values, before encoding
constexpr std::uint64_t kMostRows = 1 << 17;                    // a group

// What Arrow writes to: a file of ours, so that a full disk is told from other errors.
class Output final : public arrow::io::OutputStream {
 public:
  explicit Output(const std::filesystem::path& path) : file_(File::create(path).or_throw()) {
    set_mode(arrow::io::FileMode::WRITE);
  }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> Tell() const override { return static_cast<std::int64_t>(written_); }
  bool closed() const override { return closed_; }
  arrow::Status Write(const void* data, std::int64_t bytes) override {
    const auto* const begin = static_cast<const std::byte*>(data);
    auto put = file_.write_at(written_, {begin, static_cast<std::size_t>(bytes)});
    if (!put) {
      problem_ = std::move(put).error();
      return arrow::Status::IOError(problem_->message());
    }
    written_ += static_cast<std::uint64_t>(bytes);
    return arrow::Status::OK();
  }

  File& file() { return file_; }
  std::uint64_t written() const { return written_; }
  /// What Arrow's status came from, if from here.
  const std::optional<Error>& problem() const { return problem_; }

 private:
  File file_;
  std::uint64_t written_ = 0;
  std::optional<Error> problem_;
  bool closed_ = false;
};

std::shared_ptr<arrow::DataType> type_of(SinkColumn::Type type) {
  switch (type) {
    case SinkColumn::Type::kInt64:
      return arrow::int64();
    case SinkColumn::Type::kInt32:
      return arrow::int32();
    case SinkColumn::Type::kText:
      return arrow::utf8();
    case SinkColumn::Type::kFloat32:
      return arrow::float32();
    case SinkColumn::Type::kInt32List:
      break;
  }
  return arrow::list(arrow::int32());
}

std::shared_ptr<arrow::Schema> schema_of(const std::vector<SinkColumn>& columns) {
  arrow::FieldVector fields;
  for (const SinkColumn& column : columns)
    fields.push_back(arrow::field(column.name, type_of(column.type)));
  return arrow::schema(std::move(fields));
}

}  // namespace

struct ParquetFile::State {
  State(const std::filesystem::path& path,
        const std::vector<SinkColumn>& columns,
        MemoryLedger& ledger)
      : memory(ledger), output(std::make_shared<Output>(path)), schema(schema_of(columns)) {
    for (const auto& field : schema->fields()) {
      std::unique_ptr<arrow::ArrayBuilder> builder;
      check(arrow::MakeBuilder(&memory, field->type(), &builder));
      builders.push_back(std::move(builder));
    }
    const auto properties =
        parquet::WriterProperties::Builder().compression(parquet::Compression::ZSTD)->build();
    auto made = parquet::arrow::FileWriter::Open(*schema, &memory, output, properties);
    check(made.status());
    writer = std::move(made).ValueUnsafe();
  }

  void check(const arrow::Status& status) const {
    if (output->problem()) throw Error(*output->problem());
    if (memory.refusal()) throw Error(*memory.refusal());
    if (!status.ok()) throw Error(ErrorCode::kIo, "cannot write Parquet: " + status.message());
  }

  void write_group() {
    if (rows == 0) return;
    arrow::ArrayVector arrays;
    for (const auto& builder : builders) {
      std::shared_ptr<arrow::Array> array;
      check(builder->Finish(&array));
      arrays.push_back(std::move(array));
    }
    const auto table = arrow::Table::Make(schema, arrays, static_cast<std::int64_t>(rows));
    check(writer->WriteTable(*table, static_cast<std::int64_t>(rows)));
    rows = bytes = 0;
  }

  /// The next column of the row, for a value of so many bytes.
  template <class Builder = arrow::ArrayBuilder>
  Builder& next(std::size_t value_bytes) {
    bytes += value_bytes;
    return static_cast<Builder&>(*builders[column++]);
  }

  LedgerMemoryPool memory;
  std::shared_ptr<Output> output;
  std::shared_ptr<arrow::Schema> schema;
  std::vector<std::unique_ptr<arrow::ArrayBuilder>> builders;
  std::unique_ptr<parquet::arrow::FileWriter> writer;
  std::uint64_t rows = 0;   // of the group
  std::uint64_t bytes = 0;  // likewise
  std::size_t column = 0;   // of the row, the next
};

ParquetFile::ParquetFile(const std::filesystem::path& path,
                         const std::vector<SinkColumn>& columns,
                         MemoryLedger& ledger)
    : state_(std::make_unique<State>(path, columns, ledger)) {}

ParquetFile::~ParquetFile() = default;

void ParquetFile::integer(std::int64_t value) {
  State& state = *state_;
  if (state.builders[state.column]->type()->id() == arrow::Type::INT32) {
    const auto narrow = static_cast<std::int32_t>(value);
    return state.check(state.next<arrow::Int32Builder>(sizeof narrow).Append(narrow));
  }
  state.check(state.next<arrow::Int64Builder>(sizeof value).Append(value));
}

void ParquetFile::text(std::string_view value) {
  state_->check(state_->next<arrow::StringBuilder>(value.size() + 4).Append(value));
}

void ParquetFile::real(float value) {
  state_->check(state_->next<arrow::FloatBuilder>(sizeof value).Append(value));
}

void ParquetFile::list(std::span<const std::int32_t> values) {
  auto& lists = state_->next<arrow::ListBuilder>(values.size_bytes() + 4);
  state_->check(lists.Append());
  state_->check(static_cast<arrow::Int32Builder*>(lists.value_builder())
                    ->AppendValues(values.data(), static_cast<std::int64_t>(values.size())));
}

void ParquetFile::null() {
  state_->check(state_->next(1).AppendNull());
}

void ParquetFile::end_row() {
  state_->column = 0;
  if (++state_->rows >= kMostRows || state_->bytes >= kGroupBytes) state_->write_group();
}

std::uint64_t ParquetFile::finish() {
  state_->write_group();
  state_->check(state_->writer->Close());
  state_->output->file().sync().or_throw();
  return state_->output->written();
}

}  // namespace sluice
