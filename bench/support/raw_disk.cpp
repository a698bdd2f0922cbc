#include "bench/support/raw_disk.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sluice::bench {
namespace {

void check(int status, const char* what) {
  if (status >= 0) return;
  throw Error(ErrorCode::kResource,
              fmt::format("{}: {}", what, std::strerror(-status)),
              "the benchmark needs io_uring");
}

}  // namespace

RawDisk::RawDisk(std::span<const int> files, std::span<std::byte> buffer, unsigned depth)
    : buffer_(buffer), depth_(depth) {
  int status =
      io_uring_queue_init(depth, &ring_, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
  if (status == -EINVAL) status = io_uring_queue_init(depth, &ring_, 0);
  check(status, "cannot make a ring");
  check(io_uring_register_files(&ring_, files.data(), static_cast<unsigned>(files.size())),
        "cannot register the files");
  const iovec whole{buffer_.data(), buffer_.size()};
  fixed_buffer_ = io_uring_register_buffers(&ring_, &whole, 1) == 0;
}

RawDisk::~RawDisk() {
  io_uring_queue_exit(&ring_);
}

void RawDisk::queue(const Transfer& transfer) {
  const BlockRead& piece = transfer.piece;
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  std::byte* at = buffer_.data() + piece.buffer_offset;
  const int file = static_cast<int>(piece.file);
  const bool reads = transfer.direction == Direction::kRead;
  if (fixed_buffer_) {
    reads ? io_uring_prep_read_fixed(sqe, file, at, piece.length, piece.file_offset, 0)
          : io_uring_prep_write_fixed(sqe, file, at, piece.length, piece.file_offset, 0);
  } else {
    reads ? io_uring_prep_read(sqe, file, at, piece.length, piece.file_offset)
          : io_uring_prep_write(sqe, file, at, piece.length, piece.file_offset);
  }
  sqe->flags |= IOSQE_FIXED_FILE;
  sqe->user_data = piece.length;
}

void RawDisk::run(std::size_t count, const std::function<Transfer(std::size_t)>& transfer) {
  std::size_t started = 0;
  std::size_t done = 0;
  while (done < count) {
    while (started < count && started - done < depth_) queue(transfer(started++));
    check(io_uring_submit_and_wait(&ring_, 1), "cannot submit");
    unsigned head = 0;
    unsigned arrived = 0;
    io_uring_cqe* cqe = nullptr;
    io_uring_for_each_cqe(&ring_, head, cqe) {
      if (cqe->res != static_cast<int>(cqe->user_data))
        check(std::min(cqe->res, -EIO), "cannot read or write");
      ++arrived;
    }
    io_uring_cq_advance(&ring_, arrived);
    done += arrived;
  }
}

}  // namespace sluice::bench
