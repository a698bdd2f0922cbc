#include "storage/io/file.h"

#include "storage/io/aligned_buffer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sluice/units.h>
#include <stdlib.h>  // mkostemp
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace sluice {
namespace {

/// Linux transfers at most this much a call; more is a short transfer.
constexpr std::size_t kMaxTransferBytes = 0x7ffff000;

int open_retrying(const std::filesystem::path& path, int flags, mode_t mode = 0) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

/// O_TMPFILE, or where the file system has none a file whose name is taken away at once; -1 with
/// errno.
int open_unnamed(const std::filesystem::path& folder, int flags) {
  const int fd = open_retrying(folder, O_TMPFILE | O_EXCL | flags, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return fd;
  std::string name = (folder / ".sluice-scratch-XXXXXX").string();
  const int named = ::mkostemp(name.data(), O_CLOEXEC | (flags & ~O_ACCMODE));
  const int problem = errno;
  if (named >= 0) ::unlink(name.c_str());
  errno = problem;
  return named;
}

Place place_of(const std::filesystem::path& path, std::int64_t offset) {
  return Place{path.string(), -1, -1, offset};
}

struct Advice {
  ErrorCode code;
  const char* hint;
};

Advice advice_for(int error_number) {
  switch (error_number) {
    case ENOENT:
      return {ErrorCode::kData, "check the path"};
    case ENOTDIR:
      return {ErrorCode::kData, "a part of the path is a file, not a folder: check the path"};
    case EISDIR:
      return {ErrorCode::kData, "this is a folder; a file is needed"};
    case ENAMETOOLONG:
    case ELOOP:
      return {ErrorCode::kUsage, "check the path"};
    case EACCES:
    case EPERM:
      return {ErrorCode::kIo, "check the owner and the permissions, or choose another place"};
    case EROFS:
      return {ErrorCode::kIo, "the file system is read-only: choose another place"};
    case ENOSPC:
      return {ErrorCode::kResource, "free space on this file system, or choose another place"};
    case EDQUOT:
      return {ErrorCode::kResource,
              "your disk quota is used up: free space, or choose another place"};
    case EFBIG:
      return {ErrorCode::kResource,
              "the file would be larger than the file system or `ulimit -f` allows"};
    case EMFILE:
    case ENFILE:
      return {ErrorCode::kResource, "too many open files: raise `ulimit -n`"};
    case ENOMEM:
      return {ErrorCode::kResource, "the system is out of memory"};
    case EIO:
    case ENXIO:
    case ENODEV:
      return {ErrorCode::kIo,
              "the disk failed: look at `dmesg`, check the disk, and restore the file from a copy"};
    case ESTALE:
      return {ErrorCode::kIo, "the file vanished from the network file system: mount it again"};
    default:
      return {ErrorCode::kIo, "look at `dmesg` and check the disk"};
  }
}

}  // namespace

Error system_error(int error_number,
                   const std::string& what,
                   const std::filesystem::path& path,
                   std::int64_t offset) {
  const Advice advice = advice_for(error_number);
  const char* reason = error_number == ENOENT ? "no such file" : std::strerror(error_number);
  return Error(
      advice.code, fmt::format("{}: {}", what, reason), advice.hint, place_of(path, offset));
}

int write_problem(int error_number, std::uint64_t end) {
  rlimit limit{};
  const bool beyond = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
                      end > limit.rlim_cur;
  return error_number == EINVAL && beyond ? EFBIG : error_number;
}

File::File(File&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), direct_(other.direct_), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(direct_, other.direct_);
  std::swap(path_, other.path_);
  return *this;
}

File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

Result<File> File::open_read(const std::filesystem::path& path, Direct direct) {
  File file;
  file.path_ = path;
  if (direct == Direct::kAuto) {
    file.fd_ = open_retrying(path, O_RDONLY | O_DIRECT);
    file.direct_ = file.fd_ >= 0;
  }
  const bool refused = direct == Direct::kAuto && file.fd_ < 0 && errno == EINVAL;
  if (direct == Direct::kOff || refused) file.fd_ = open_retrying(path, O_RDONLY);
  if (file.fd_ < 0) return system_error(errno, "cannot open", path);
  struct stat status {};
  if (::fstat(file.fd_, &status) != 0) return system_error(errno, "cannot look at", path);
  if (S_ISDIR(status.st_mode)) return system_error(EISDIR, "cannot open", path);
  return file;
}

Result<File> File::create(const std::filesystem::path& path) {
  File file;
  file.path_ = path;
  file.fd_ = open_retrying(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (file.fd_ < 0) return system_error(errno, "cannot create", path);
  return file;
}

Result<File> File::open_update(const std::filesystem::path& path, Direct direct) {
  constexpr int kFlags = O_RDWR | O_CREAT;
  File file;
  file.path_ = path;
  if (direct == Direct::kAuto) {
    file.fd_ = open_retrying(path, kFlags | O_DIRECT, 0644);
    file.direct_ = file.fd_ >= 0;
  }
  const bool refused = direct == Direct::kAuto && file.fd_ < 0 && errno == EINVAL;
  if (direct == Direct::kOff || refused) file.fd_ = open_retrying(path, kFlags, 0644);
  if (file.fd_ < 0) return system_error(errno, "cannot open for writing", path);
  return file;
}

Result<File> File::scratch(const std::filesystem::path& folder, Direct direct) {
  File file;
  file.path_ = folder;
  if (direct == Direct::kAuto) {
    file.fd_ = open_unnamed(folder, O_RDWR | O_DIRECT);
    file.direct_ = file.fd_ >= 0;
  }
  const bool refused = direct == Direct::kAuto && file.fd_ < 0 && errno == EINVAL;
  if (direct == Direct::kOff || refused) file.fd_ = open_unnamed(folder, O_RDWR);
  if (file.fd_ < 0) return system_error(errno, "cannot make a scratch file in this folder", folder);
  return file;
}

Result<std::uint64_t> File::size() const {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) return system_error(errno, "cannot look at", path_);
  return static_cast<std::uint64_t>(status.st_size);
}

Result<void> File::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::size_t wanted = std::min(out.size() - done, kMaxTransferBytes);
    const ssize_t got = ::pread(fd_, out.data() + done, wanted, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    const auto at = static_cast<std::int64_t>(offset + done);
    if (got < 0) return system_error(errno, "cannot read", path_, at);
    done += static_cast<std::size_t>(got);
    if (done == out.size()) break;
    // O_DIRECT can only go on from a page; a tail that does not reach its page's end is the end of
    // the file.
    const std::size_t whole = direct_ ? done / kPageBytes * kPageBytes : done;
    const bool progress = got > 0 && static_cast<std::int64_t>(offset + whole) > at;
    if (!progress) {
      return Error(
          ErrorCode::kData,
          fmt::format("the file is truncated: {} more bytes were expected here", out.size() - done),
          "restore the file from a copy or make it again",
          place_of(path_, static_cast<std::int64_t>(offset + done)));
    }
    done = whole;
  }
  return {};
}

Result<void> File::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::size_t wanted = std::min(bytes.size() - done, kMaxTransferBytes);
    const ssize_t put =
        ::pwrite(fd_, bytes.data() + done, wanted, static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    // A write of nothing without an error would repeat for ever; the next one would fail for want
    // of space.
    int problem = put < 0 ? write_problem(errno, offset + bytes.size()) : put == 0 ? ENOSPC : 0;
    std::size_t whole = problem != 0 ? done : done + static_cast<std::size_t>(put);
    // O_DIRECT can only go on from a page. Less than one is what a limit within it let through.
    if (direct_ && whole < bytes.size()) whole = whole / kPageBytes * kPageBytes;
    if (problem == 0 && whole == done) problem = ENOSPC;
    if (problem != 0) {
      return system_error(problem, "cannot write", path_, static_cast<std::int64_t>(offset + done));
    }
    done = whole;
  }
  return {};
}

Result<void> File::sync() {
  int status = 0;
  do {
    status = ::fsync(fd_);
  } while (status != 0 && errno == EINTR);
  if (status != 0) return system_error(errno, "cannot flush to the disk", path_);
  return {};
}

Result<void> File::close() {
  const int fd = std::exchange(fd_, -1);
  // Linux frees the descriptor even when close reports EINTR: closing again could hit another
  // thread's file.
  if (fd >= 0 && ::close(fd) != 0 && errno != EINTR)
    return system_error(errno, "cannot close", path_);
  return {};
}

Result<void> File::resize(std::uint64_t bytes) {
  int status = 0;
  do {
    status = ::ftruncate(fd_, static_cast<off_t>(bytes));
  } while (status != 0 && errno == EINTR);
  if (status != 0)
    return system_error(errno, fmt::format("cannot resize to {} bytes", bytes), path_);
  return {};
}

Result<void> File::punch(std::uint64_t offset, std::uint64_t bytes) {
  int status = 0;
  do {
    status = ::fallocate(fd_,
                         FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                         static_cast<off_t>(offset),
                         static_cast<off_t>(bytes));
  } while (status != 0 && errno == EINTR);
  if (status != 0 && errno != EOPNOTSUPP && errno != ENOSYS) {
    return system_error(
        errno, "cannot give room back to the disk", path_, static_cast<std::int64_t>(offset));
  }
  return {};
}

Result<void> File::reserve(std::uint64_t bytes, std::uint64_t from) {
  int problem = 0;
  do {
    if (from < bytes)
      problem = ::posix_fallocate(fd_, static_cast<off_t>(from), static_cast<off_t>(bytes - from));
  } while (problem == EINTR);
  auto now = size();
  if (!now) return std::move(now).error();
  const bool refused = problem == EOPNOTSUPP || problem == EINVAL;
  if (refused || (problem == 0 && now.value() > bytes))
    problem = ::ftruncate(fd_, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  if (problem != 0)
    return system_error(problem, fmt::format("cannot reserve {}", format_bytes(bytes)), path_);
  return {};
}

Result<void> sync_directory(const std::filesystem::path& path) {
  const int fd = open_retrying(path, O_RDONLY | O_DIRECTORY);
  if (fd < 0) return system_error(errno, "cannot open the folder", path);
  int status = 0;
  do {
    status = ::fsync(fd);
  } while (status != 0 && errno == EINTR);
  const int problem = status == 0 ? 0 : errno;
  ::close(fd);
  if (problem != 0) return system_error(problem, "cannot flush the folder to the disk", path);
  return {};
}

Result<std::string> read_text_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  auto file = File::open_read(path);
  if (!file) return std::move(file).error();
  auto size = file.value().size();
  if (!size) return std::move(size).error();
  if (size.value() > max_bytes) {
    return Error(
        ErrorCode::kData,
        fmt::format("the file has {} bytes; at most {} are expected here", size.value(), max_bytes),
        "check that this is the right file",
        place_of(path, -1));
  }
  std::string text(size.value(), '\0');
  auto read = file.value().read_at(0, std::as_writable_bytes(std::span(text)));
  if (!read) return std::move(read).error();
  return text;
}

}  // namespace sluice
