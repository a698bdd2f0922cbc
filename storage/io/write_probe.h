// The writing half of DiskProfile::measure: a scratch file, written in order by a few threads at
// once, and how fast that went.
#pragma once

#include "storage/io/io_engine.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace sluice {

struct WrittenScratch {
  std::shared_ptr<const File> file;  ///< nameless, gone with its last owner; may be read directly
  std::uint64_t bytes = 0;           ///< written, whole MiB, on the disk
  double bytes_per_second = 0;
};

/// Writes up to `bytes` (whole MiB) to a scratch file in `folder`, in pieces of 1 MiB; after
/// `longest` it stops early, but not before 16 MiB. Leaves 64 MiB of the file system free, else
/// kResource. @param buffer at least 1 MiB; its content is overwritten
Result<WrittenScratch> write_scratch(const std::filesystem::path& folder,
                                     std::uint64_t bytes,
                                     Clock::duration longest,
                                     std::span<std::byte> buffer);

}  // namespace sluice
