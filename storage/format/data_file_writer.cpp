#include "storage/format/data_file_writer.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace sluice {
namespace {

void create_parents(const std::filesystem::path& path) {
  std::error_code problem;
  std::filesystem::create_directories(path.parent_path(), problem);
  if (problem) throw system_error(problem.value(), "cannot create the folder", path.parent_path());
}

// A new file in the place of one that is there, which may be another dataset's under a second name:
// that one keeps its bytes.
File create_anew(const std::filesystem::path& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    throw system_error(errno, "cannot create", path);
  return File::create(path).or_throw();
}

}  // namespace

DataFileWriter::DataFileWriter(const std::filesystem::path& root,
                               std::string path,
                               MemoryLedger* ledger)
    : root_(root), path_(std::move(path)) {
  create_parents(root_ / path_);
  file_ = create_anew(root_ / path_);
  buffer_ = AlignedBuffer::make(kSumBlockBytes, ledger, "write buffers").or_throw();
}

void DataFileWriter::append(std::span<const std::byte> bytes) {
  appended_ += bytes.size();
  while (!bytes.empty()) {
    if (filled_ == 0 && bytes.size() >= kSumBlockBytes) {
      const std::size_t whole = bytes.size() / kSumBlockBytes * kSumBlockBytes;
      write_block(bytes.first(whole));
      bytes = bytes.subspan(whole);
      continue;
    }
    const std::size_t take = std::min<std::size_t>(bytes.size(), kSumBlockBytes - filled_);
    std::memcpy(buffer_.data() + filled_, bytes.data(), take);
    filled_ += take;
    bytes = bytes.subspan(take);
    if (filled_ == kSumBlockBytes) {
      write_block(buffer_.bytes().first(filled_));
      filled_ = 0;
    }
  }
}

void DataFileWriter::write_block(std::span<const std::byte> bytes) {
  sums_.append(bytes);
  file_.write_at(written_, bytes).or_throw();
  written_ += bytes.size();
}

FileEntry DataFileWriter::finish() {
  if (filled_ != 0) {
    const std::size_t padded = round_up_to_page(filled_);
    std::memset(buffer_.data() + filled_, 0, padded - filled_);
    write_block(buffer_.bytes().first(padded));
    filled_ = 0;
  }
  file_.sync().or_throw();
  file_.close().or_throw();

  File sum_file = create_anew(root_ / sum_path(path_));
  const std::vector<std::byte> serialized = sums_.serialize();
  sum_file.write_at(0, serialized).or_throw();
  sum_file.sync().or_throw();
  sum_file.close().or_throw();
  return {path_, written_, sums_.digest()};
}

void FeatureWriter::append_rows(std::span<const std::byte> rows) {
  const std::size_t row_bytes = layout_.row_bytes;
  if (row_bytes == 0) return;
  if (layout_.rows_per_page == 0 || row_bytes * layout_.rows_per_page == kPageBytes) {
    rows_ += rows.size() / row_bytes;
    file_.append(rows);
    return;
  }
  constexpr std::array<std::byte, kPageBytes> kZeros{};
  const std::size_t gap = kPageBytes - row_bytes * layout_.rows_per_page;
  while (!rows.empty()) {
    const std::uint64_t in_page = rows_ % layout_.rows_per_page;
    const std::size_t take =
        std::min<std::size_t>(rows.size() / row_bytes, layout_.rows_per_page - in_page);
    file_.append(rows.first(take * row_bytes));
    rows = rows.subspan(take * row_bytes);
    rows_ += take;
    if (rows_ % layout_.rows_per_page == 0) file_.append(std::span(kZeros).first(gap));
  }
}

}  // namespace sluice
