// What memory the system grants this process: the tightest memory cgroup (v1 or v2) above it, and
// physical memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace sluice {

struct CgroupMemory {
  int version = 0;              ///< 1 or 2; 0 when no memory controller is visible
  std::string path;             ///< the directory whose limit binds
  std::uint64_t limit = 0;      ///< bytes; the smallest limit on the way to the root; 0: none
  std::uint64_t usage = 0;      ///< bytes charged to the process's own group, page cache included
  std::uint64_t anonymous = 0;  ///< bytes of anonymous memory of the process's own group
};

/// Reads the files below `root` ("/" outside tests): proc/self/cgroup, proc/self/mountinfo, the
/// controller's files. Missing or odd files mean "no limit known", never an error.
CgroupMemory read_cgroup_memory(const std::filesystem::path& root = "/");

/// Bytes this process may use: the cgroup limit or MemTotal, whichever is smaller.
std::uint64_t memory_granted(const std::filesystem::path& root = "/");

struct ProcessMemory {
  std::uint64_t rss = 0;        ///< VmRSS
  std::uint64_t peak_rss = 0;   ///< VmHWM
  std::uint64_t anonymous = 0;  ///< RssAnon
};

/// From proc/self/status.
ProcessMemory read_process_memory(const std::filesystem::path& root = "/");

}  // namespace sluice
