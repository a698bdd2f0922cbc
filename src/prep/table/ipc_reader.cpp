#include "prep/table/ipc_reader.h"

#include "prep/table/arrow_source.h"

#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/util/future.h>

#include <algorithm>
#include <string_view>

namespace sluice {
namespace {

constexpr std::string_view kIpcMagic = "ARROW1";

/// A mapped file that is read on the thread that asks. Arrow's own leaves the footer to a thread of
/// its pool, which may still hold buffers when the reader and its ledger are gone.
class MappedFile final : public arrow::io::RandomAccessFile {
 public:
  using Bytes = arrow::Result<std::shared_ptr<arrow::Buffer>>;
  using Future = arrow::Future<std::shared_ptr<arrow::Buffer>>;

  explicit MappedFile(std::shared_ptr<arrow::io::MemoryMappedFile> map) : map_(std::move(map)) {
    set_mode(arrow::io::FileMode::READ);
  }

  arrow::Status Close() override { return map_->Close(); }
  bool closed() const override { return map_->closed(); }
  bool supports_zero_copy() const override { return true; }
  arrow::Result<std::int64_t> Tell() const override { return map_->Tell(); }
  arrow::Status Seek(std::int64_t position) override { return map_->Seek(position); }
  arrow::Result<std::int64_t> GetSize() override { return map_->GetSize(); }
  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override {
    return map_->Read(bytes, out);
  }
  Bytes Read(std::int64_t bytes) override { return map_->Read(bytes); }
  using arrow::io::RandomAccessFile::ReadAt;
  arrow::Result<std::int64_t> ReadAt(std::int64_t position,
                                     std::int64_t bytes,
                                     void* out) override {
    return map_->ReadAt(position, bytes, out);
  }
  Bytes ReadAt(std::int64_t position, std::int64_t bytes) override {
    return map_->ReadAt(position, bytes);
  }
  using arrow::io::RandomAccessFile::ReadAsync;
  Future ReadAsync(const arrow::io::IOContext& /*context*/,
                   std::int64_t position,
                   std::int64_t bytes,
                   bool allow_short_read) override {
    return Future::MakeFinished(ReadAt(position, bytes, allow_short_read));
  }
  Future ReadAsync(const arrow::io::IOContext& /*context*/,
                   std::int64_t position,
                   std::int64_t bytes) override {
    return Future::MakeFinished(ReadAt(position, bytes));
  }

 private:
  std::shared_ptr<arrow::io::MemoryMappedFile> map_;
};

class IpcSource final : public ArrowSource {
 public:
  IpcSource(const TableSource& source, LedgerMemoryPool& pool, ArrowFaults& faults);

  const arrow::Schema& schema() const override { return *schema_; }
  std::optional<std::uint64_t> num_rows() const override { return rows_; }
  void start(const std::vector<int>& fields, std::uint64_t batch_rows) override;
  void refill(std::vector<std::shared_ptr<arrow::Array>>& arrays) override;

 private:
  void map(const std::filesystem::path& path);
  void open(const std::vector<int>& fields);
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> read_batch();

  LedgerMemoryPool& pool_;
  ArrowFaults& faults_;
  std::shared_ptr<MappedFile> file_;
  bool is_stream_ = false;
  std::shared_ptr<arrow::Schema> schema_;
  std::optional<std::uint64_t> rows_;  // a stream does not tell
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> batches_;
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> stream_;
  int next_batch_ = 0;  // of a file
  std::shared_ptr<arrow::RecordBatch> batch_;
};

IpcSource::IpcSource(const TableSource& source, LedgerMemoryPool& pool, ArrowFaults& faults)
    : pool_(pool), faults_(faults) {
  map(source.path);
  open({});
  schema_ = is_stream_ ? stream_->schema() : batches_->schema();
  if (is_stream_) return;
  faults_.run([&] {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t rows, batches_->CountRows());
    if (rows < 0) return arrow::Status::Invalid("a negative number of rows");
    rows_ = static_cast<std::uint64_t>(rows);
    return arrow::Status::OK();
  });
}

// An empty file cannot be mapped.
void IpcSource::map(const std::filesystem::path& path) {
  const File file = File::open_read(path).or_throw();
  const std::uint64_t bytes = file.size().or_throw();
  std::string front(std::min<std::uint64_t>(bytes, kIpcMagic.size()), '\0'), back = front;
  file.read_at(0, std::as_writable_bytes(std::span(front))).or_throw();
  file.read_at(bytes - back.size(), std::as_writable_bytes(std::span(back))).or_throw();
  if (front.starts_with("FEA1"))
    faults_.fail("is of Feather version 1", "write version 2, which pandas and pyarrow do now");
  is_stream_ = front.starts_with("\xff\xff\xff\xff");
  if (!is_stream_ && front != kIpcMagic)
    faults_.fail("is not an Arrow file or stream", "the first bytes of a file are ARROW1");
  if (!is_stream_ && back != kIpcMagic)
    faults_.fail("ends before its footer", "the file was cut short: write it again");
  faults_.run([&] {
    ARROW_ASSIGN_OR_RAISE(
        auto map, arrow::io::MemoryMappedFile::Open(path.string(), arrow::io::FileMode::READ));
    file_ = std::make_shared<MappedFile>(std::move(map));
    return arrow::Status::OK();
  });
}

// No fields: all of them.
void IpcSource::open(const std::vector<int>& fields) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = &pool_;
  options.use_threads = false;
  options.included_fields = fields;
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  next_batch_ = 0;
  batch_.reset();
  faults_.run([&] {
    ARROW_RETURN_NOT_OK(file_->Seek(0));
    if (is_stream_) {
      ARROW_ASSIGN_OR_RAISE(stream_,
                            arrow::ipc::RecordBatchStreamReader::Open(file_.get(), options));
    } else {
      ARROW_ASSIGN_OR_RAISE(batches_,
                            arrow::ipc::RecordBatchFileReader::Open(file_.get(), options));
    }
    return arrow::Status::OK();
  });
}

void IpcSource::start(const std::vector<int>& fields, std::uint64_t /*batch_rows*/) {
  open(fields);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> IpcSource::read_batch() {
  std::shared_ptr<arrow::RecordBatch> batch;
  if (is_stream_) {
    ARROW_RETURN_NOT_OK(stream_->ReadNext(&batch));
    return batch;
  }
  if (next_batch_ == batches_->num_record_batches()) return batch;
  return batches_->ReadRecordBatch(next_batch_++);
}

// All columns of a batch end together, so either none is null or all are.
void IpcSource::refill(std::vector<std::shared_ptr<arrow::Array>>& arrays) {
  if (arrays.front() != nullptr) return;
  batch_.reset();
  do {
    faults_.run([&] {
      ARROW_ASSIGN_OR_RAISE(batch_, read_batch());
      return batch_ == nullptr ? arrow::Status::OK() : batch_->Validate();
    });
    if (batch_ == nullptr) return;
  } while (batch_->num_rows() == 0);
  if (static_cast<std::size_t>(batch_->num_columns()) != arrays.size())
    faults_.fail("a batch has other columns than the file", "the file is damaged: write it again");
  for (std::size_t i = 0; i < arrays.size(); ++i) arrays[i] = batch_->column(static_cast<int>(i));
  batch_.reset();
}

std::unique_ptr<ArrowSource> open_ipc(const TableSource& source,
                                      LedgerMemoryPool& pool,
                                      ArrowFaults& faults) {
  return std::make_unique<IpcSource>(source, pool, faults);
}

}  // namespace

IpcReader::IpcReader(Options /*options*/, const TableSource& source)
    : ArrowTableReader(source, "Arrow", &open_ipc) {}

}  // namespace sluice
