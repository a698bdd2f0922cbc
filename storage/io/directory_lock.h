// DirectoryLock: an exclusive flock on a directory itself, held while the object lives, freed by
// the kernel however its owner ends. Move-only.
#pragma once

#include <sluice/error.h>

#include <filesystem>
#include <optional>

namespace sluice {

class DirectoryLock {
 public:
  /// Nothing when the directory cannot be opened or somebody else holds its lock.
  static std::optional<DirectoryLock> try_lock(const std::filesystem::path& directory);
  /// Nothing when somebody else holds its lock; the system's error where it cannot be opened or
  /// locked for another reason.
  static Result<std::optional<DirectoryLock>> lock_or_error(const std::filesystem::path& directory);

  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  ~DirectoryLock();

 private:
  explicit DirectoryLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace sluice
