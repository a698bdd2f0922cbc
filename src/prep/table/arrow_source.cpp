#include "prep/table/arrow_source.h"

#include <arrow/buffer.h>
#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace sluice {

ArrowFile::ArrowFile(const std::filesystem::path& path, arrow::MemoryPool* pool)
    : file_(File::open_read(path).or_throw()),
      pool_(pool),
      size_(static_cast<std::int64_t>(file_.size().or_throw())) {}

arrow::Status ArrowFile::Seek(std::int64_t position) {
  if (position < 0 || position > size_) return arrow::Status::Invalid("a position past the end");
  position_ = position;
  return arrow::Status::OK();
}

arrow::Result<std::int64_t> ArrowFile::Read(std::int64_t bytes, void* out) {
  ARROW_ASSIGN_OR_RAISE(const std::int64_t taken, ReadAt(position_, bytes, out));
  position_ += taken;
  return taken;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ArrowFile::Read(std::int64_t bytes) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, bytes));
  position_ += buffer->size();
  return buffer;
}

arrow::Result<std::int64_t> ArrowFile::ReadAt(std::int64_t position,
                                              std::int64_t bytes,
                                              void* out) {
  if (position < 0 || bytes < 0 || position > size_)
    return arrow::Status::Invalid("a read outside of the file");
  const std::int64_t taken = std::min(bytes, size_ - position);
  auto read = file_.read_at(static_cast<std::uint64_t>(position),
                            {static_cast<std::byte*>(out), static_cast<std::size_t>(taken)});
  if (read) return taken;
  const MutexLock lock(mutex_);
  if (!problem_) problem_ = std::move(read).error();
  return arrow::Status::IOError(problem_->message());
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ArrowFile::ReadAt(std::int64_t position,
                                                                std::int64_t bytes) {
  if (position < 0 || bytes < 0 || position > size_)
    return arrow::Status::Invalid("a read outside of the file");
  const std::int64_t taken =
      std::min(bytes, size_ - position);  // a damaged file asks for terabytes
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateBuffer(taken, pool_));
  ARROW_RETURN_NOT_OK(ReadAt(position, taken, buffer->mutable_data()).status());
  return std::shared_ptr<arrow::Buffer>(std::move(buffer));
}

std::optional<Error> ArrowFile::problem() const {
  const MutexLock lock(mutex_);
  return problem_;
}

void ArrowFaults::check(const arrow::Status& status) const {
  if (const auto refusal = pool_.refusal()) throw Error(*refusal);
  if (status.ok()) return;
  if (disk_ != nullptr) {
    if (const auto problem = disk_->problem()) throw Error(*problem);
  }
  if (status.IsOutOfMemory()) {
    throw Error(ErrorCode::kResource,
                fmt::format("the system has no memory to decode {}", format_),
                "write the file in smaller row groups or batches",
                Place{file_, -1, -1, -1});
  }
  const std::string& reason = status.message();
  fail(fmt::format("cannot be read as {}: {}", format_, reason.substr(0, reason.find('\n'))),
       "the file was cut short or is damaged: write it again");
}

void ArrowFaults::run(const std::function<arrow::Status()>& work) const {
  arrow::Status status;
  try {
    status = work();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    status = arrow::Status::OutOfMemory("no memory");
  } catch (const std::exception& fault) {
    status = arrow::Status::Invalid(fault.what());
  }
  check(status);
}

void ArrowFaults::fail(const std::string& message, const std::string& hint) const {
  throw Error(ErrorCode::kData, message, hint, Place{file_, -1, -1, -1});
}

}  // namespace sluice
