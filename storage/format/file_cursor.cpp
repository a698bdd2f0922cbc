#include "storage/format/file_cursor.h"

#include "core/hash.h"
#include "storage/format/data_file.h"
#include "storage/io/engine_kind.h"
#include "storage/io/read_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kPiece = kSumBlockBytes;
constexpr std::uint64_t kWorthReadingAhead = 8 * kPiece;  // shorter files do without a thread

Result<void> verify_pages(const std::filesystem::path& path,
                          std::span<const std::uint32_t> page_sums,
                          std::uint64_t offset,
                          std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += kPageBytes) {
    if (xxh3_32(bytes.subspan(at, kPageBytes)) != page_sums[(offset + at) / kPageBytes])
      return checksum_error(path, offset + at);
  }
  return {};
}

// As much as the ledger lets it take, two pieces at least.
Result<AlignedBuffer> ahead_buffer(std::uint64_t file_bytes, MemoryLedger* ledger) {
  std::uint64_t bytes = std::min(FileCursor::kAheadBytes, round_up_to_page(file_bytes));
  for (;;) {
    auto buffer = AlignedBuffer::make(bytes, ledger, "read buffers");
    if (buffer || buffer.error().code() != ErrorCode::kResource || bytes <= 2 * kPiece)
      return buffer;
    bytes = std::max(bytes / 2 / kPiece * kPiece, 2 * kPiece);
  }
}

}  // namespace

Result<FileCursor> FileCursor::open(const std::filesystem::path& root,
                                    const FileEntry& entry,
                                    const FileReading& how,
                                    MemoryLedger* ledger) {
  FileCursor cursor;
  cursor.bytes_ = entry.bytes;
  if (how.verify == Verify::kRead) {
    auto loaded = load_checksums(root, entry, ledger);
    if (!loaded) return std::move(loaded).error();
    cursor.sums_ = std::move(loaded).value();
  }
  auto file = File::open_read(root / entry.path, Direct::kAuto);
  if (!file) return std::move(file).error();
  auto size = file.value().size();
  if (!size) return std::move(size).error();
  if (size.value() < entry.bytes) {
    return damaged_file(file.value().path(),
                        fmt::format("the file is truncated: it has {} bytes, the manifest says {}",
                                    size.value(),
                                    entry.bytes));
  }
  cursor.file_ = std::make_shared<const File>(std::move(file).value());
  if (how.ahead && entry.bytes >= kWorthReadingAhead) {
    auto begun = cursor.read_ahead(*how.ahead, ledger);
    if (begun) return cursor;
    if (begun.error().code() != ErrorCode::kResource) return std::move(begun).error();
  }
  auto buffer = AlignedBuffer::make(kPiece, ledger, "read buffers");
  if (!buffer) return std::move(buffer).error();
  cursor.buffer_ = std::move(buffer).value();
  return cursor;
}

Result<void> FileCursor::read_ahead(IoChoice io, MemoryLedger* ledger) {
  IoEngineOptions options;
  options.kind = engine_kind(io);
  auto engine = make_io_engine(options);
  if (!engine) return std::move(engine).error();
  auto buffer = ahead_buffer(bytes_, ledger);
  if (!buffer) return std::move(buffer).error();

  ReadAhead::Source source;
  source.reader = std::make_unique<BlockReader>(std::move(engine).value().engine);
  auto file = source.reader->attach(file_, sums_.page_sums);
  if (!file) return std::move(file).error();
  source.file = file.value();
  source.bytes = bytes_;
  source.buffer = std::make_shared<AlignedBuffer>(std::move(buffer).value());
  auto slot = source.reader->attach(source.buffer);
  if (!slot) return std::move(slot).error();
  source.slot = slot.value();
  source.request_bytes = kPiece;
  try {
    ahead_ = std::make_unique<ReadAhead>(std::move(source));
  } catch (const std::system_error& problem) {
    return Error(ErrorCode::kResource, fmt::format("no thread to read ahead: {}", problem.what()));
  }
  return {};
}

Result<std::span<const std::byte>> FileCursor::next() {
  if (offset_ >= bytes_) return std::span<const std::byte>();
  auto piece = ahead_ ? ahead_->next() : read_piece();
  if (piece) offset_ += piece.value().size();
  return piece;
}

Result<std::span<const std::byte>> FileCursor::read_piece() {
  const auto bytes = buffer_.bytes().first(std::min(kPiece, bytes_ - offset_));
  if (auto read = file_->read_at(offset_, bytes); !read) return std::move(read).error();
  if (!sums_.page_sums.empty()) {
    if (auto checked = verify_pages(file_->path(), sums_.page_sums, offset_, bytes); !checked)
      return std::move(checked).error();
  }
  return std::span<const std::byte>(bytes);
}

}  // namespace sluice
