#include "storage/format/data_file_reader.h"

#include "core/hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

constexpr const char* kDamagedHint =
    "the dataset is damaged: restore it from a copy or prepare it again";

Error damaged(const std::filesystem::path& path, std::string what) {
  return Error(ErrorCode::kData, std::move(what), kDamagedHint, Place{path.string(), -1, -1, -1});
}

Result<void> verify_pages(const std::filesystem::path& path,
                          const ChecksumFile& sums,
                          std::uint64_t offset,
                          std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += kPageBytes) {
    if (xxh3_32(bytes.subspan(at, kPageBytes)) != sums.page_sums[(offset + at) / kPageBytes]) {
      return checksum_error(path, offset + at);
    }
  }
  return {};
}

}  // namespace

Error checksum_error(const std::filesystem::path& path, std::uint64_t offset) {
  return Error(ErrorCode::kData,
               "the page does not match its checksum",
               kDamagedHint,
               Place{path.string(), -1, -1, static_cast<std::int64_t>(offset)});
}

Result<FileEntry> find_file(const std::filesystem::path& root,
                            const Manifest& manifest,
                            const std::string& path) {
  const auto found = manifest.files.find(path);
  if (found == manifest.files.end())
    return damaged(root / path, "the manifest does not list this file");
  std::error_code problem;
  const std::uint64_t bytes = std::filesystem::file_size(root / path, problem);
  if (problem)
    return damaged(root / path, fmt::format("cannot look at the file: {}", problem.message()));
  if (bytes != found->second.bytes) {
    return damaged(
        root / path,
        fmt::format("the file has {} bytes, the manifest says {}", bytes, found->second.bytes));
  }
  return found->second;
}

Result<ChecksumFile> load_checksums(const std::filesystem::path& root,
                                    const FileEntry& entry,
                                    MemoryLedger* ledger) {
  const std::filesystem::path path = root / sum_path(entry.path);
  auto sums = ChecksumFile::load(path, ledger);
  if (!sums) return sums;
  if (sums.value().data_bytes != entry.bytes || sums.value().digest() != entry.digest) {
    return damaged(path, "the checksum file is not the one the manifest means");
  }
  return sums;
}

Result<FileCursor> FileCursor::open(const std::filesystem::path& root,
                                    const FileEntry& entry,
                                    Verify verify,
                                    MemoryLedger* ledger) {
  FileCursor cursor;
  cursor.path_ = root / entry.path;
  cursor.bytes_ = entry.bytes;
  cursor.verify_ = verify;
  if (verify == Verify::kRead) {
    auto loaded = load_checksums(root, entry, ledger);
    if (!loaded) return std::move(loaded).error();
    cursor.sums_ = std::move(loaded).value();
  }
  auto file = File::open_read(cursor.path_, Direct::kAuto);
  if (!file) return std::move(file).error();
  cursor.file_ = std::move(file).value();
  auto buffer = AlignedBuffer::make(kSumBlockBytes, ledger, "read buffers");
  if (!buffer) return std::move(buffer).error();
  cursor.buffer_ = std::move(buffer).value();
  return cursor;
}

Result<std::span<const std::byte>> FileCursor::next() {
  if (offset_ >= bytes_) return std::span<const std::byte>();
  const auto bytes =
      buffer_.bytes().first(std::min<std::uint64_t>(kSumBlockBytes, bytes_ - offset_));
  if (auto read = file_.read_at(offset_, bytes); !read) return std::move(read).error();
  if (verify_ == Verify::kRead) {
    if (auto checked = verify_pages(path_, sums_, offset_, bytes); !checked)
      return std::move(checked).error();
  }
  offset_ += bytes.size();
  return std::span<const std::byte>(bytes);
}

Result<void> scan_file(
    const std::filesystem::path& root,
    const FileEntry& entry,
    Verify verify,
    MemoryLedger* ledger,
    const std::function<Result<void>(std::uint64_t, std::span<const std::byte>)>& take) {
  auto cursor = FileCursor::open(root, entry, verify, ledger);
  if (!cursor) return std::move(cursor).error();
  for (;;) {
    const std::uint64_t offset = cursor.value().offset();
    auto bytes = cursor.value().next();
    if (!bytes) return std::move(bytes).error();
    if (bytes.value().empty()) return {};
    if (auto taken = take(offset, bytes.value()); !taken) return taken;
  }
}

Result<Array> load_array(const std::filesystem::path& root,
                         const Manifest& manifest,
                         const std::string& path,
                         DType dtype,
                         Array::Shape shape,
                         const DatasetOptions& options,
                         std::string_view charge_name) {
  auto entry = find_file(root, manifest, path);
  if (!entry) return std::move(entry).error();
  auto array = Array::make(dtype, std::move(shape), options.ledger, charge_name);
  if (!array) return array;
  const std::span<std::byte> out = array.value().raw();
  if (round_up_to_page(out.size()) != entry.value().bytes) {
    return damaged(
        root / path,
        fmt::format("the file has {} bytes where {} are needed", entry.value().bytes, out.size()));
  }
  auto scanned = scan_file(
      root,
      entry.value(),
      options.verify,
      options.ledger,
      [&](std::uint64_t offset, std::span<const std::byte> bytes) -> Result<void> {
        const std::size_t count = std::min<std::size_t>(bytes.size(), out.size() - offset);
        if (count != 0) std::memcpy(out.data() + offset, bytes.data(), count);
        return {};
      });
  if (!scanned) return std::move(scanned).error();
  return array;
}

}  // namespace sluice
