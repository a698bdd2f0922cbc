// Disk profiles remembered between runs, in one JSON file of the user's cache folder. Measuring
// takes a second or two; a disk seldom changes.
//
// The file is replaced whole, by one process at a time. An entry that is older than 30 days, of
// another version, damaged or of another kernel is as if it were not there. Figures that look like
// those of a bad moment, or lack the speed of writing, are not remembered at all.
#pragma once

#include "storage/io/disk_profile.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace sluice {

/// What a profile holds for. The disk is that of the file system: "254:0".
struct DiskKey {
  std::string disk;
  std::string file_system;  ///< "ext4", "xfs", ..., or its magic number in hex
  std::string engine;       ///< "io_uring", "pread"
  std::size_t depth = 0;    ///< requests in flight
  std::string kernel;       ///< release, as `uname -r`
  friend bool operator==(const DiskKey&, const DiskKey&) = default;
};

Result<DiskKey> disk_key(const std::filesystem::path& place,
                         std::string_view engine,
                         std::size_t depth);

/// $XDG_CACHE_HOME/sluice/disks.json, else ~/.cache/sluice/disks.json; empty without a home.
std::filesystem::path default_disk_cache();

class DiskCache {
 public:
  static constexpr int kVersion = 2;
  static constexpr std::chrono::days kMaxAge{30};
  static constexpr std::size_t kMaxEntries = 64;  ///< the oldest go first

  /// @param file need not exist, nor its folder
  explicit DiskCache(std::filesystem::path file) : file_(std::move(file)) {}

  /// @param buffer_bytes that the probe must have had at least
  std::optional<DiskProfile> find(const DiskKey& key,
                                  std::chrono::sys_seconds now,
                                  std::uint64_t buffer_bytes = 0) const;
  /// Adds or replaces an entry, making the folder where needed. An error leaves the file as it was.
  Result<void> store(const DiskKey& key, const DiskProfile& profile);

 private:
  std::filesystem::path file_;
};

struct FoundDisk {
  DiskProfile profile;
  bool from_cache = false;
  std::string warning;  ///< why the profile is not remembered, for the log; else empty
};

/// The profile of the disk under `place` (as DiskProfile::measure takes it): remembered, or
/// measured now (again, where the figures are in doubt) and remembered where they are not. @param
/// cache empty: measured and not remembered
Result<FoundDisk> find_disk_profile(const std::filesystem::path& place,
                                    const DiskProbeOptions& options,
                                    MemoryLedger* ledger,
                                    const std::filesystem::path& cache);

}  // namespace sluice
