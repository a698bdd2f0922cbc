// FileCloser: closes files on a thread of its own. To free a large file without a name can take a
// file system .15 s a GB (ext4 mounted with `discard`), which none of those who used it need wait
// for.
#pragma once

#include "core/condition_variable.h"
#include "storage/io/file.h"

#include <sluice/mutex.h>

#include <deque>
#include <memory>
#include <thread>

namespace sluice {

/// Thread-safe.
class FileCloser {
 public:
  FileCloser() = default;
  FileCloser(const FileCloser&) = delete;
  FileCloser& operator=(const FileCloser&) = delete;
  ~FileCloser();  ///< when all are closed

  /// Closes the file, if no one else has it, soon: at once where there is no thread to be had.
  void close(std::shared_ptr<const File> file) noexcept;

  /// Until all that came so far are closed and their space on the disk is free.
  void wait();

 private:
  void close_files();

  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<std::shared_ptr<const File>> files_ SLUICE_GUARDED_BY(mutex_);  // first: being closed
  bool stopping_ SLUICE_GUARDED_BY(mutex_) = false;
  std::thread thread_ SLUICE_GUARDED_BY(mutex_);  // from the first file on
};

}  // namespace sluice
