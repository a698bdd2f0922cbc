#include "storage/io/read_errors.h"

#include <fmt/format.h>

namespace sluice {
namespace {

Place place_in(const ReadableFile& file, std::uint64_t offset) {
  return Place{file.file->path().string(), -1, -1, static_cast<std::int64_t>(offset)};
}

}  // namespace

Error read_failed(const ReadableFile& file,
                  const BlockRead& read,
                  std::uint32_t done,
                  int error_number) {
  return system_error(error_number,
                      fmt::format("cannot read {} bytes", read.length - done),
                      file.file->path(),
                      static_cast<std::int64_t>(read.file_offset + done));
}

Error write_failed(const ReadableFile& file,
                   const BlockRead& write,
                   std::uint32_t done,
                   int error_number) {
  return system_error(error_number,
                      fmt::format("cannot write {} bytes", write.length - done),
                      file.file->path(),
                      static_cast<std::int64_t>(write.file_offset + done));
}

Error read_truncated(const ReadableFile& file, const BlockRead& read, std::uint32_t done) {
  return Error(
      ErrorCode::kData,
      fmt::format("the file is truncated: it had {} bytes when it was opened and ends here now",
                  file.size),
      "something changed the dataset while it was read: run `sluice-prep verify`, and restore it "
      "from a copy",
      place_in(file, read.file_offset + done));
}

Error read_corrupt(const ReadableFile& file, const BlockRead& read, std::uint32_t done) {
  return checksum_error(file.file->path(), read.file_offset + done);
}

Error checksum_error(const std::filesystem::path& path, std::uint64_t offset) {
  return Error(ErrorCode::kData,
               "the page does not match its checksum",
               "the file is damaged: run `sluice-prep verify` to see what else is, and restore it "
               "from a copy",
               Place{path.string(), -1, -1, static_cast<std::int64_t>(offset)});
}

Error io_stalled(IoOp op,
                 const ReadableFile& file,
                 const BlockRead& read,
                 std::uint32_t done,
                 std::size_t waiting,
                 std::chrono::milliseconds timeout) {
  return Error(ErrorCode::kIo,
               fmt::format("the disk has stalled: no {} has completed for {} ms; {} are "
                           "waiting, the oldest here",
                           op == IoOp::kWrite ? "write" : "read",
                           timeout.count(),
                           waiting),
               "look at `dmesg` and check the disk or the network file system, then start again",
               place_in(file, read.file_offset + done));
}

Error read_invalid(const BlockRead& read, std::size_t index, const char* problem) {
  return Error(ErrorCode::kInternal,
               fmt::format("read {} asks for {}: {} bytes at {} of file {} into buffer {} at {}",
                           index,
                           problem,
                           read.length,
                           read.file_offset,
                           static_cast<std::uint32_t>(read.file),
                           static_cast<std::uint32_t>(read.buffer),
                           read.buffer_offset),
               "this is a bug in Sluice: please report it");
}

Result<void> check_pages(const ReadableFile& file) {
  const char* hint = "the file is truncated or not a dataset file: run `sluice-prep verify`";
  const Place place{file.file->path().string(), -1, -1, -1};
  if (file.size % kPageBytes != 0) {
    return Error(ErrorCode::kData,
                 fmt::format("the file has {} bytes, which is not a whole number of {}-byte pages",
                             file.size,
                             kPageBytes),
                 hint,
                 place);
  }
  const std::uint64_t pages = file.size / kPageBytes;
  if (!file.page_sums.empty() && file.page_sums.size() != pages) {
    return Error(
        ErrorCode::kData,
        fmt::format(
            "the file has {} pages, but {} checksums belong to it", pages, file.page_sums.size()),
        hint,
        place);
  }
  return {};
}

}  // namespace sluice
