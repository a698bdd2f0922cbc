// A file in memory that has a path, for parsers that open what they read: no disk is touched.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

namespace sluice::fuzz {

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0) throw std::runtime_error("memfd_create failed");
    while (!content.empty()) {
      const ssize_t wrote = ::write(fd_, content.data(), content.size());
      if (wrote <= 0) throw std::runtime_error("a file in memory cannot be written");
      content.remove_prefix(static_cast<std::size_t>(wrote));
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(fd_); }

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace sluice::fuzz
