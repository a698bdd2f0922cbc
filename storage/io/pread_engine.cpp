#include "core/condition_variable.h"
#include "storage/io/engines.h"

#include <sluice/mutex.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace sluice {
namespace {

struct Job {
  IoOp op;
  int fd;
  std::byte* memory;
  std::uint32_t length;
  std::uint64_t offset;
  std::uint64_t tag;
};

/// What the threads work on. They share its ownership, so a thread that is stuck in the kernel
/// never dangles.
struct Pool {
  Pool(PreadCall pread, PwriteCall pwrite) : read(std::move(pread)), write(std::move(pwrite)) {}

  const PreadCall read;
  const PwriteCall write;
  Mutex mutex;
  ConditionVariable work_there;
  ConditionVariable done_there;
  std::deque<Job> waiting SLUICE_GUARDED_BY(mutex);
  std::vector<IoCompletion> finished SLUICE_GUARDED_BY(mutex);
  std::size_t running SLUICE_GUARDED_BY(mutex) = 0;  // jobs inside pread or pwrite
  bool stop SLUICE_GUARDED_BY(mutex) = false;
  // Only the engine's user touches these; they live here so that they outlive the engine under a
  // stuck thread.
  std::vector<std::shared_ptr<const File>> files;
  std::vector<std::shared_ptr<AlignedBuffer>> buffers;
};

void work(const std::shared_ptr<Pool>& pool) {
  MutexLock lock(pool->mutex);
  while (true) {
    while (!pool->stop && pool->waiting.empty()) pool->work_there.wait(lock);
    if (pool->stop) return;
    const Job job = pool->waiting.front();
    pool->waiting.pop_front();
    ++pool->running;
    lock.unlock();
    const auto offset = static_cast<off_t>(job.offset);
    const ssize_t moved = job.op == IoOp::kWrite
                              ? pool->write(job.fd, job.memory, job.length, offset)
                              : pool->read(job.fd, job.memory, job.length, offset);
    const std::int64_t result = moved < 0 ? -errno : moved;
    lock.lock();
    --pool->running;
    pool->finished.push_back({job.tag, result});
    pool->done_there.notify_one();
  }
}

class PreadEngine final : public IoEngine {
 public:
  PreadEngine(std::shared_ptr<Pool> pool, std::vector<std::thread> threads, std::size_t depth)
      : pool_(std::move(pool)), threads_(std::move(threads)), depth_(depth) {
    pool_->finished.reserve(depth_);
  }

  ~PreadEngine() override {
    MutexLock lock(pool_->mutex);
    pool_->stop = true;
    pool_->waiting.clear();
    pool_->work_there.notify_all();
    const auto until = Clock::now() + kDrainGrace;
    while (pool_->running != 0 && pool_->done_there.wait_until(lock, until)) {
    }
    const bool idle = pool_->running == 0;
    lock.unlock();
    for (std::thread& thread : threads_) idle ? thread.join() : thread.detach();
    if (!idle) abandon(pool_);
  }

  std::string_view name() const override { return "pread"; }
  std::size_t depth() const override { return depth_; }
  std::size_t in_flight() const override { return in_flight_; }

  Result<FileSlot> attach_file(std::shared_ptr<const File> file) override {
    pool_->files.push_back(std::move(file));
    return FileSlot(pool_->files.size() - 1);
  }

  Result<BufferSlot> attach_buffer(std::shared_ptr<AlignedBuffer> buffer) override {
    pool_->buffers.push_back(std::move(buffer));
    return BufferSlot(pool_->buffers.size() - 1);
  }

  Result<std::size_t> submit(std::span<const IoRequest> requests) override {
    const std::size_t accepted = std::min(requests.size(), depth_ - in_flight_);
    {
      const MutexLock lock(pool_->mutex);
      for (const IoRequest& request : requests.first(accepted))
        pool_->waiting.push_back(job_of(request));
    }
    in_flight_ += accepted;
    for (std::size_t i = std::min(accepted, threads_.size()); i > 0; --i)
      pool_->work_there.notify_one();
    return accepted;
  }

  Result<std::size_t> reap(std::span<IoCompletion> out, Clock::time_point deadline) override {
    if (in_flight_ == 0 || out.empty()) return std::size_t{0};
    MutexLock lock(pool_->mutex);
    std::vector<IoCompletion>& finished = pool_->finished;
    while (finished.empty() && pool_->done_there.wait_until(lock, deadline)) {
    }
    const std::size_t taken = std::min(out.size(), finished.size());
    const auto end = finished.begin() + static_cast<std::ptrdiff_t>(taken);
    std::copy(finished.begin(), end, out.begin());
    finished.erase(finished.begin(), end);
    in_flight_ -= taken;
    return taken;
  }

 private:
  Job job_of(const IoRequest& request) const {
    return {
        request.op,
        pool_->files[static_cast<std::size_t>(request.file)]->fd(),
        pool_->buffers[static_cast<std::size_t>(request.buffer)]->data() + request.buffer_offset,
        request.length,
        request.file_offset,
        request.tag};
  }

  std::shared_ptr<Pool> pool_;
  std::vector<std::thread>
      threads_;  // not jthread: one stuck in the kernel must be let go, not joined
  std::size_t depth_;
  std::size_t in_flight_ = 0;
};

}  // namespace

Result<std::unique_ptr<IoEngine>> make_pread_engine(const IoEngineOptions& options,
                                                    PreadCall read,
                                                    PwriteCall write) {
  auto pool = std::make_shared<Pool>(std::move(read), std::move(write));
  const std::size_t wanted =
      std::min(static_cast<std::size_t>(options.pread_threads), options.depth);
  std::vector<std::thread> threads;
  threads.reserve(wanted);
  std::string problem;
  try {
    while (threads.size() < wanted) threads.emplace_back(work, pool);
  } catch (const std::system_error& error) {
    problem = error.what();  // fewer threads only read more slowly
  }
  if (threads.empty()) {
    return Error(ErrorCode::kResource,
                 fmt::format("cannot start a thread to read with: {}", problem),
                 "raise `ulimit -u` or the cgroup's pids.max");
  }
  return std::unique_ptr<IoEngine>(
      std::make_unique<PreadEngine>(std::move(pool), std::move(threads), options.depth));
}

Result<std::unique_ptr<IoEngine>> make_pread_engine(const IoEngineOptions& options) {
  return make_pread_engine(options, [](int fd, void* to, std::size_t bytes, off_t offset) {
    return ::pread(fd, to, bytes, offset);
  });
}

}  // namespace sluice
