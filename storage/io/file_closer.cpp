#include "storage/io/file_closer.h"

#include <exception>
#include <utility>

namespace sluice {

FileCloser::~FileCloser() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void FileCloser::close(std::shared_ptr<const File> file) noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { close_files(); });
    files_.push_back(std::move(file));
    changed_.notify_all();
  } catch (const std::exception&) {
    // No memory or no thread: the file closes as it goes out of scope.
  }
}

void FileCloser::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return files_.empty(); });
}

void FileCloser::close_files() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !files_.empty(); });
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
