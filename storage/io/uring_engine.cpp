#include "storage/io/engines.h"
#include "storage/io/ring_memory.h"

#include <fmt/format.h>
#include <liburing.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr unsigned kFileTable = 256;    ///< registered files; more are read by plain descriptors
constexpr unsigned kBufferTable = 256;  ///< registered buffers, each of at most kChunkBytes
constexpr unsigned kChunkShift = 30;    ///< the kernel registers at most 1 GiB at a time
constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << kChunkShift;
constexpr std::chrono::milliseconds kResubmitEvery{10};

struct AttachedFile {
  std::shared_ptr<const File> file;
  bool registered = false;  ///< the slot is its index in the ring's table
};

struct AttachedBuffer {
  std::shared_ptr<AlignedBuffer> buffer;
  unsigned first_chunk = 0;  ///< index of its first GiB in the ring's table
  unsigned num_chunks = 0;   ///< registered GiBs; those past them are read into by plain address
};

/// The ring and what the kernel may hold of ours, in one object that can be abandoned whole.
struct Ring {
  io_uring ring{};
  bool open = false;
  bool file_table = false;
  bool buffer_table = false;
  unsigned used_chunks = 0;
  std::vector<AttachedFile> files;
  std::vector<AttachedBuffer> buffers;

  Ring() = default;
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    if (!open) return;
    ring_closes(ring);
    io_uring_queue_exit(&ring);
  }
};

/// Opens the ring with the first set of flags that this kernel knows; returns 0 or -errno.
int open_ring(io_uring& ring, unsigned entries, unsigned& features) {
  // COOP_TASKRUN (5.19) spares an interrupt a completion, SUBMIT_ALL (5.18) a system call after a
  // bad request. SINGLE_ISSUER and DEFER_TASKRUN would tie the ring to one thread for ever, and
  // readers do change threads.
  const unsigned flag_sets[] = {
      IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SUBMIT_ALL, IORING_SETUP_SUBMIT_ALL, 0};
  int status = -EINVAL;
  for (const unsigned flags : flag_sets) {
    io_uring_params params{};
    params.flags = flags;
    status = io_uring_queue_init_params(entries, &ring, &params);
    features = params.features;
    if (status != -EINVAL) break;
  }
  return status;
}

Error refused(int error_number) {
  const char* hint = "use `[storage] io = \"auto\"` or \"pread\"";
  if (error_number == EPERM || error_number == EACCES) {
    hint =
        "the kernel (sysctl kernel.io_uring_disabled) or the container's seccomp profile denies "
        "it: allow it, or use "
        "`[storage] io = \"auto\"` or \"pread\"";
  } else if (error_number == ENOMEM) {
    hint = "raise `ulimit -l`, or use `[storage] io = \"auto\"` or \"pread\"";
  } else if (error_number == EMFILE || error_number == ENFILE) {
    hint = "raise `ulimit -n`, or use `[storage] io = \"auto\"` or \"pread\"";
  }
  return Error(
      ErrorCode::kResource, fmt::format("io_uring refused: {}", std::strerror(error_number)), hint);
}

/// True for refusals that pass by themselves: the request stays queued and is offered again.
bool transient(int status) {
  return status == -EINTR || status == -EAGAIN || status == -EBUSY || status == -ENOMEM;
}

class UringEngine final : public IoEngine {
 public:
  UringEngine(std::shared_ptr<Ring> ring, std::size_t depth)
      : ring_(std::move(ring)), depth_(depth) {}

  ~UringEngine() override {
    const auto deadline = Clock::now() + kDrainGrace;
    std::vector<IoCompletion> dropped(depth_);
    while (in_flight_ > 0) {
      const auto reaped = reap(dropped, deadline);
      if (!reaped || reaped.value() == 0) break;
    }
    if (in_flight_ > 0) abandon(ring_);
  }

  std::string_view name() const override { return "io_uring"; }
  std::size_t depth() const override { return depth_; }
  std::size_t in_flight() const override { return in_flight_; }

  Result<FileSlot> attach_file(std::shared_ptr<const File> file) override;
  Result<BufferSlot> attach_buffer(std::shared_ptr<AlignedBuffer> buffer) override;
  Result<std::size_t> submit(std::span<const IoRequest> requests) override;
  Result<std::size_t> reap(std::span<IoCompletion> out, Clock::time_point deadline) override;

 private:
  void prepare(io_uring_sqe* sqe, const IoRequest& request) const;
  Result<void> flush();
  std::size_t take(std::span<IoCompletion> out);
  int wait(Clock::time_point deadline);

  std::shared_ptr<Ring> ring_;
  std::size_t depth_;
  std::size_t in_flight_ =
      0;  // prepared and not yet reaped, whether the kernel has taken them or not
};

Result<FileSlot> UringEngine::attach_file(std::shared_ptr<const File> file) {
  AttachedFile attached{std::move(file), false};
  const auto index = static_cast<unsigned>(ring_->files.size());
  if (ring_->file_table && index < kFileTable) {
    const int fd = attached.file->fd();
    attached.registered = io_uring_register_files_update(&ring_->ring, index, &fd, 1) == 1;
  }
  ring_->files.push_back(std::move(attached));
  return FileSlot(index);
}

Result<BufferSlot> UringEngine::attach_buffer(std::shared_ptr<AlignedBuffer> buffer) {
  AttachedBuffer attached{std::move(buffer), ring_->used_chunks, 0};
  const std::size_t bytes = attached.buffer->size();
  for (std::uint64_t at = 0; ring_->buffer_table && at < bytes && ring_->used_chunks < kBufferTable;
       at += kChunkBytes) {
    const iovec chunk{attached.buffer->data() + at, std::min<std::size_t>(kChunkBytes, bytes - at)};
    const __u64 no_tag = 0;
    // Fails past the memlock limit (8 MiB for many users): the rest is then read into by plain
    // address.
    if (io_uring_register_buffers_update_tag(
            &ring_->ring, ring_->used_chunks, &chunk, &no_tag, 1) != 1)
      break;
    ++ring_->used_chunks;
    ++attached.num_chunks;
  }
  ring_->buffers.push_back(std::move(attached));
  return BufferSlot(ring_->buffers.size() - 1);
}

void UringEngine::prepare(io_uring_sqe* sqe, const IoRequest& request) const {
  const auto file_index = static_cast<std::size_t>(request.file);
  const AttachedFile& file = ring_->files[file_index];
  const AttachedBuffer& buffer = ring_->buffers[static_cast<std::size_t>(request.buffer)];
  const int fd = file.registered ? static_cast<int>(file_index) : file.file->fd();
  std::byte* memory = buffer.buffer->data() + request.buffer_offset;
  const bool writes = request.op == IoOp::kWrite;

  const std::uint64_t chunk = request.buffer_offset >> kChunkShift;
  const std::uint64_t last_chunk = (request.buffer_offset + request.length - 1) >> kChunkShift;
  if (chunk == last_chunk && chunk < buffer.num_chunks) {
    const int index = static_cast<int>(buffer.first_chunk + chunk);
    if (writes) {
      io_uring_prep_write_fixed(sqe, fd, memory, request.length, request.file_offset, index);
    } else {
      io_uring_prep_read_fixed(sqe, fd, memory, request.length, request.file_offset, index);
    }
  } else if (writes) {
    io_uring_prep_write(sqe, fd, memory, request.length, request.file_offset);
  } else {
    io_uring_prep_read(sqe, fd, memory, request.length, request.file_offset);
  }
  if (file.registered) sqe->flags |= IOSQE_FIXED_FILE;
  sqe->user_data = request.tag;
}

Result<std::size_t> UringEngine::submit(std::span<const IoRequest> requests) {
  const std::size_t room = std::min(requests.size(), depth_ - in_flight_);
  std::size_t accepted = 0;
  while (accepted < room) {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_->ring);
    if (sqe == nullptr) break;  // never: the ring holds `depth` and more
    prepare(sqe, requests[accepted++]);
  }
  in_flight_ += accepted;
  if (auto flushed = flush(); !flushed) return std::move(flushed).error();
  return accepted;
}

/// Hands prepared requests to the kernel; what it does not take now stays in the ring for the next
/// call.
Result<void> UringEngine::flush() {
  while (io_uring_sq_ready(&ring_->ring) > 0) {
    const int status = io_uring_submit(&ring_->ring);
    if (status > 0 || status == -EINTR) continue;
    if (status == 0 || transient(status)) break;
    return Error(ErrorCode::kIo,
                 fmt::format("io_uring broke while submitting: {}", std::strerror(-status)),
                 "look at `dmesg`, or use `[storage] io = \"pread\"`");
  }
  return {};
}

std::size_t UringEngine::take(std::span<IoCompletion> out) {
  std::size_t taken = 0;
  unsigned head = 0;
  io_uring_cqe* cqe = nullptr;
  io_uring_for_each_cqe(&ring_->ring, head, cqe) {
    if (taken == out.size()) break;
    out[taken++] = {cqe->user_data, cqe->res};
  }
  io_uring_cq_advance(&ring_->ring, static_cast<unsigned>(taken));
  in_flight_ -= taken;
  return taken;
}

int UringEngine::wait(Clock::time_point deadline) {
  const auto left = std::max(deadline - Clock::now(), Clock::duration::zero());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  __kernel_timespec timeout{};
  timeout.tv_sec = seconds.count();
  timeout.tv_nsec = std::chrono::nanoseconds(left - seconds).count();
  io_uring_cqe* cqe = nullptr;
  return io_uring_wait_cqe_timeout(&ring_->ring, &cqe, &timeout);
}

Result<std::size_t> UringEngine::reap(std::span<IoCompletion> out, Clock::time_point deadline) {
  if (in_flight_ == 0 || out.empty()) return std::size_t{0};
  while (true) {
    if (const std::size_t taken = take(out); taken > 0) return taken;
    if (auto flushed = flush(); !flushed) return std::move(flushed).error();
    // Requests that the kernel would not take yet are offered again soon, not only at the deadline.
    const bool all_started = io_uring_sq_ready(&ring_->ring) == 0;
    const int status =
        wait(all_started ? deadline : std::min(deadline, Clock::now() + kResubmitEvery));
    if ((status == -ETIME || transient(status)) && Clock::now() >= deadline) return take(out);
    if (status < 0 && status != -ETIME && !transient(status)) {
      return Error(ErrorCode::kIo,
                   fmt::format("io_uring broke while waiting: {}", std::strerror(-status)),
                   "look at `dmesg`, or use `[storage] io = \"pread\"`");
    }
  }
}

}  // namespace

Result<std::unique_ptr<IoEngine>> make_uring_engine(const IoEngineOptions& options) {
  auto ring = std::make_shared<Ring>();
  unsigned features = 0;
  if (const int status = open_ring(ring->ring, static_cast<unsigned>(options.depth), features);
      status < 0) {
    return refused(-status);
  }
  ring->open = true;
  ring_opened(ring->ring);
  // Waiting with a deadline without a second request in the ring needs EXT_ARG (5.11), never losing
  // a completion NODROP.
  constexpr unsigned kNeeded = IORING_FEAT_EXT_ARG | IORING_FEAT_NODROP;
  if ((features & kNeeded) != kNeeded) {
    return Error(ErrorCode::kResource,
                 "io_uring refused: the kernel is older than Linux 5.11",
                 "use `[storage] io = \"auto\"` or \"pread\"");
  }
  if (options.register_resources) {
    const std::vector<int> no_files(kFileTable, -1);
    ring->file_table = io_uring_register_files(&ring->ring, no_files.data(), kFileTable) == 0;
    ring->buffer_table = io_uring_register_buffers_sparse(&ring->ring, kBufferTable) == 0;
  }
  return std::unique_ptr<IoEngine>(std::make_unique<UringEngine>(std::move(ring), options.depth));
}

}  // namespace sluice
