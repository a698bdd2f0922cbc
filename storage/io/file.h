// File: an owned file descriptor with the path it was opened by. Move-only. Every syscall's result
// is checked, EINTR is retried, short transfers are continued, and errors name the file, the offset
// and what to do.
#pragma once

#include <sluice/error.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace sluice {

/// Whether reads pass the page cache by. kAuto: O_DIRECT, or buffered where the file system refuses
/// it (tmpfs).
enum class Direct { kAuto, kOff };

class File {
 public:
  File() = default;
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  static Result<File> open_read(const std::filesystem::path& path, Direct direct = Direct::kOff);
  /// Creates or truncates; 0644 before the umask.
  static Result<File> create(const std::filesystem::path& path);
  /// To write and read, whatever is in it stays; made if it is not there, 0644 before the umask.
  static Result<File> open_update(const std::filesystem::path& path, Direct direct = Direct::kOff);
  /// A file without a name in `folder`, to write and read: it is gone with its descriptor, however
  /// the process ends. Its path() is the folder.
  static Result<File> scratch(const std::filesystem::path& folder, Direct direct = Direct::kOff);

  int fd() const noexcept { return fd_; }
  bool is_open() const noexcept { return fd_ >= 0; }
  bool direct() const noexcept { return direct_; }
  const std::filesystem::path& path() const noexcept { return path_; }

  Result<std::uint64_t> size() const;
  /// Reads exactly `out.size()` bytes, in whole aligned pages when the file is direct; end of file
  /// is a kData error that says the file is truncated.
  Result<void> read_at(std::uint64_t offset, std::span<std::byte> out) const;
  /// Writes all bytes. ENOSPC, EDQUOT and EFBIG are kResource, everything else kIo.
  Result<void> write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Makes room on the disk for the first `bytes`, as far as the file system can; the file is that
  /// long then, if it was longer too. Errors: as write_at's. @param from there is room before here
  Result<void> reserve(std::uint64_t bytes, std::uint64_t from = 0);
  /// Makes the file that long; what is new reads as zeros and takes no room on the disk yet.
  Result<void> resize(std::uint64_t bytes);
  /// Gives the room of these bytes, whole pages, back to the disk; they read as zeros. Where the
  /// file system cannot do that, nothing happens.
  Result<void> punch(std::uint64_t offset, std::uint64_t bytes);
  Result<void> sync();   ///< fsync
  Result<void> close();  ///< reports a deferred write error; the destructor closes silently

 private:
  int fd_ = -1;
  bool direct_ = false;
  std::filesystem::path path_;
};

/// The error of a failed system call on a path: "what: strerror", with the hint and code that fit
/// `error_number`.
Error system_error(int error_number,
                   const std::string& what,
                   const std::filesystem::path& path,
                   std::int64_t offset = -1);

/// Why a write failed that would have ended at `end`: where `ulimit -f` allows no file of that
/// length, EFBIG. Of a direct write the system says EINVAL then.
int write_problem(int error_number, std::uint64_t end);

/// fsync of a directory, so that renames and new names in it last.
Result<void> sync_directory(const std::filesystem::path& path);

/// The whole of a (small) text file; at most `max_bytes`, else a kData error.
Result<std::string> read_text_file(const std::filesystem::path& path, std::uint64_t max_bytes);

}  // namespace sluice
