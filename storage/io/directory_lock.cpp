#include "storage/io/directory_lock.h"

#include "storage/io/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sluice {

std::optional<DirectoryLock> DirectoryLock::try_lock(const std::filesystem::path& directory) {
  auto lock = lock_or_error(directory);
  if (!lock) return std::nullopt;
  return std::move(lock).value();
}

Result<std::optional<DirectoryLock>> DirectoryLock::lock_or_error(
    const std::filesystem::path& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_error(errno, "cannot open the folder", directory);
  DirectoryLock lock(fd);
  int result = 0;
  do {
    result = ::flock(fd, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return std::optional<DirectoryLock>(std::move(lock));
  if (errno == EWOULDBLOCK) return std::optional<DirectoryLock>();
  return system_error(errno, "cannot lock the folder", directory);
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

DirectoryLock& DirectoryLock::operator=(DirectoryLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

DirectoryLock::~DirectoryLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace sluice
