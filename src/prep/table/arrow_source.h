// ArrowSource: a file that Arrow decodes (Parquet, IPC), as arrays column by column; and what its
// formats share: a file of ours under Arrow, and Arrow's faults as our errors.
#pragma once

#include "prep/table/arrow_memory.h"
#include "storage/io/file.h"

#include <sluice/mutex.h>

#include <arrow/array.h>
#include <arrow/io/interfaces.h>
#include <arrow/type.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Used by one thread; refill() may work in parallel inside. Everything throws Error.
class ArrowSource {
 public:
  virtual ~ArrowSource() = default;

  virtual const arrow::Schema& schema() const = 0;
  virtual std::optional<std::uint64_t> num_rows() const = 0;
  /// Begins at the first row with these fields of the schema, ascending; again and again.
  /// @param batch_rows as many are decoded at a time, where the format leaves the choice
  virtual void start(const std::vector<int>& fields, std::uint64_t batch_rows) = 0;
  /// Fills the entries that are null (one a field of start()) with the next rows of their columns,
  /// at least one; an entry stays null at the end of its column.
  virtual void refill(std::vector<std::shared_ptr<arrow::Array>>& arrays) = 0;
};

/// A File as Arrow reads it, by position, so from several threads at a time.
class ArrowFile final : public arrow::io::RandomAccessFile {
 public:
  ArrowFile(const std::filesystem::path& path, arrow::MemoryPool* pool);

  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  arrow::Status Seek(std::int64_t position) override;
  arrow::Result<std::int64_t> GetSize() override { return size_; }
  arrow::Result<std::int64_t> Read(std::int64_t bytes, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t bytes) override;
  using arrow::io::RandomAccessFile::ReadAt;
  arrow::Result<std::int64_t> ReadAt(std::int64_t position, std::int64_t bytes, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t position,
                                                       std::int64_t bytes) override;

  /// The first error of the disk: what Arrow's status came from, if from here.
  std::optional<Error> problem() const;

 private:
  File file_;
  arrow::MemoryPool* pool_;
  std::int64_t size_;
  std::int64_t position_ = 0;
  mutable Mutex mutex_;
  std::optional<Error> problem_ SLUICE_GUARDED_BY(mutex_);
};

/// Tells what stands behind a fault of Arrow's: the budget, the disk, or the file itself.
class ArrowFaults {
 public:
  /// @param format as users call it: "Parquet". What is referred to outlives this.
  ArrowFaults(std::string file, std::string format, const LedgerMemoryPool& pool)
      : file_(std::move(file)), format_(std::move(format)), pool_(pool) {}

  void watch(std::shared_ptr<const ArrowFile> disk) { disk_ = std::move(disk); }
  /// Throws Error where the status is none of success.
  void check(const arrow::Status& status) const;
  /// Runs what may also throw: Parquet does.
  void run(const std::function<arrow::Status()>& work) const;
  [[noreturn]] void fail(const std::string& message, const std::string& hint) const;

 private:
  std::string file_;
  std::string format_;
  const LedgerMemoryPool& pool_;
  std::shared_ptr<const ArrowFile> disk_;
};

}  // namespace sluice
