#include "prep/table/zip_archive.h"

#include "storage/io/file.h"

#include <fmt/format.h>
#include <zip.h>
#include <zipconf.h>

#include <algorithm>
#include <array>
#include <utility>

namespace sluice {
namespace {

constexpr const char* kSaveFileAgain = "the file was cut short or is damaged: save it again";

}  // namespace

ZipArchive::ZipArchive(const std::filesystem::path& path) : path_(path.string()) {
  File::open_read(path).or_throw();  // says best why a file cannot be opened
  int problem = 0;
  handle_ = zip_open(path_.c_str(), ZIP_RDONLY, &problem);
  if (handle_ == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, problem);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw Error(ErrorCode::kData,
                fmt::format("cannot be read as a zip archive: {}", reason),
                kSaveFileAgain,
                Place{path_, -1, -1, -1});
  }
  const auto count =
      static_cast<std::uint64_t>(std::max<zip_int64_t>(zip_get_num_entries(handle_, 0), 0));
  for (std::uint64_t index = 0; index < count; ++index) {
    zip_stat_t stat;
    constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE;
    if (zip_stat_index(handle_, index, ZIP_FL_ENC_RAW, &stat) != 0 ||
        (stat.valid & kNeeded) != kNeeded)
      continue;
    members_.push_back({stat.name, index, stat.size});
  }
}

ZipArchive::~ZipArchive() {
  if (handle_ != nullptr) zip_discard(handle_);
}

Error ZipArchive::member_error(const ZipMember& member,
                               const std::string& reason,
                               const std::string& hint) const {
  return Error(ErrorCode::kData,
               fmt::format("member '{}': {}", member.name, reason),
               hint,
               Place{path_, -1, -1, -1});
}

ZipStream::ZipStream(const ZipArchive& archive, const ZipMember& member)
    : archive_(&archive), member_(member) {
  handle_ = zip_fopen_index(archive.handle_, member.index, 0);
  if (handle_ != nullptr) return;
  throw archive.member_error(
      member,
      fmt::format("cannot be opened: {}", zip_error_strerror(zip_get_error(archive.handle_))),
      kSaveFileAgain);
}

ZipStream::ZipStream(ZipStream&& other) noexcept
    : archive_(other.archive_),
      member_(std::move(other.member_)),
      handle_(std::exchange(other.handle_, nullptr)),
      at_(other.at_) {}

ZipStream::~ZipStream() {
  if (handle_ != nullptr) zip_fclose(handle_);
}

void ZipStream::fail() const {
  throw archive_->member_error(
      member_,
      fmt::format("cannot be unpacked: {}", zip_error_strerror(zip_file_get_error(handle_))),
      kSaveFileAgain);
}

void ZipStream::read(std::span<std::byte> out) {
  while (!out.empty()) {
    const zip_int64_t taken = zip_fread(handle_, out.data(), out.size());
    if (taken < 0) fail();
    if (taken == 0) {
      throw archive_->member_error(
          member_, fmt::format("ends after {} of {} bytes", at_, member_.bytes), kSaveFileAgain);
    }
    at_ += static_cast<std::uint64_t>(taken);
    out = out.subspan(static_cast<std::size_t>(taken));
  }
  if (left() == 0) check_end();
}

// libzip compares the CRC when it is asked for more than there is.
void ZipStream::check_end() {
  std::byte more{};
  const zip_int64_t taken = zip_fread(handle_, &more, 1);
  if (taken < 0) fail();
  if (taken > 0) {
    throw archive_->member_error(
        member_, fmt::format("goes on behind its {} bytes", member_.bytes), kSaveFileAgain);
  }
}

void ZipStream::skip(std::uint64_t bytes) {
  std::array<std::byte, 4096> unused;
  while (bytes != 0) {
    const auto part = std::min<std::uint64_t>(bytes, unused.size());
    read(std::span(unused).first(static_cast<std::size_t>(part)));
    bytes -= part;
  }
}

}  // namespace sluice
