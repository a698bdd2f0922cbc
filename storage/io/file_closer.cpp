#include "storage/io/file_closer.h"

#include <exception>
#include <utility>

namespace sluice {

FileCloser::~FileCloser() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void FileCloser::close(std::shared_ptr<const File> file) noexcept {
  try {
    const MutexLock lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { close_files(); });
    files_.push_back(std::move(file));
    changed_.notify_all();
  } catch (const std::exception&) {
    // No memory or no thread: the file closes as it goes out of scope.
  }
}

void FileCloser::wait() {
  MutexLock lock(mutex_);
  while (!files_.empty()) changed_.wait(lock);
}

void FileCloser::close_files() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!stopping_ && files_.empty()) changed_.wait(lock);
    if (files_.empty()) return;
    std::shared_ptr<const File> file = std::move(files_.front());
    lock.unlock();
    file.reset();
    lock.lock();
    files_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace sluice
