// ScratchFiles: files without a name that serve one after the other, epoch after epoch. What is
// written over has its room on the disk already: on ext4 over a thin device that is 1.6 to 2.4
// times as fast as writing a new file, and no room that was just freed is discarded while others
// read.
#pragma once

#include "storage/io/file_closer.h"

#include <sluice/mutex.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace sluice {

/// Thread-safe. What is kept for later goes with the object.
class ScratchFiles {
 public:
  /// A direct file in `folder`, buffered where that is refused, with room for `bytes` from its
  /// start: one that was given back, whatever is in it, or a new one. What was kept makes way where
  /// the disk has no room else. Throws Error, as File::scratch() and File::reserve().
  std::shared_ptr<File> take(const std::filesystem::path& folder, std::uint64_t bytes);

  /// Keeps the file for take(), if no one else has it, and while twice as much as is kept stays
  /// free on its disk (take() looks again, for others may have filled it); else it is closed soon,
  /// on another thread.
  void give_back(std::shared_ptr<File> file) noexcept;

  /// Closes what is kept, and waits until its room on the disk is free: for who has found none.
  void drop();

 private:
  struct Spare {
    std::shared_ptr<File> file;
    std::uint64_t bytes = 0;
  };

  std::shared_ptr<File> take_spare(const std::filesystem::path& folder, std::uint64_t bytes);
  bool may_keep(const std::filesystem::path& folder, std::uint64_t more) const
      SLUICE_REQUIRES(mutex_);

  Mutex mutex_;
  std::vector<Spare> spare_ SLUICE_GUARDED_BY(mutex_);
  FileCloser closer_;
};

}  // namespace sluice
