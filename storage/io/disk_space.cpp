#include "storage/io/disk_space.h"

#include "storage/io/file.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <sys/statvfs.h>
#include <cerrno>

namespace sluice {

std::uint64_t free_bytes(const std::filesystem::path& folder) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0)
    throw system_error(errno, "cannot look at the file system", folder);
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

void require_space(const std::filesystem::path& folder,
                   std::uint64_t bytes,
                   const std::string& what) {
  const std::uint64_t there = free_bytes(folder);
  if (bytes <= there) return;
  throw Error(
      ErrorCode::kResource,
      fmt::format(
          "{} need {} of disk, and {} are free", what, format_bytes(bytes), format_bytes(there)),
      "free space on this file system, or choose another place",
      Place{folder.string(), -1, -1, -1});
}

}  // namespace sluice
