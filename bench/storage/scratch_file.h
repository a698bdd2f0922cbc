// The file that the storage benchmark reads: the user's, or 2 GiB of random bytes that vanish with
// the process.
#pragma once

#include "storage/io/file.h"

#include <sluice/random.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::bench {

struct TestFile {
  std::shared_ptr<const File> file;  ///< opened with O_DIRECT
  std::uint64_t bytes = 0;
  std::vector<std::uint32_t> page_sums;
};

/// Random bytes: some disks answer pages of zeros without reading anything. Whole 8-byte words.
void fill(std::span<std::byte> bytes, RandomKey key);

/// @param path an existing file, or empty for a scratch file in `dir`. Its name is removed as soon
/// as it is open, so that not even a kill leaves it behind. Throws Error; kUsage where the file
/// system has no O_DIRECT.
TestFile open_test_file(const std::string& path,
                        const std::string& dir,
                        std::uint64_t scratch_bytes);

}  // namespace sluice::bench
