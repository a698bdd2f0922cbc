#include "prep/convert/spill_file.h"

#include "storage/io/block_reader.h"

#include <sys/types.h>
#include <sys/uio.h>
#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr std::size_t kWriteBytes = std::size_t{4} << 20;  // one write
constexpr std::size_t kReadDepth = 64;

// All of `pieces` at `offset`, continuing short writes.
void write_all(const File& file, std::uint64_t offset, std::vector<iovec> pieces) {
  std::size_t first = 0;
  while (first < pieces.size()) {
    ssize_t put = ::pwritev(file.fd(),
                            pieces.data() + first,
                            static_cast<int>(pieces.size() - first),
                            static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    // Direct writes go on from a page; all pieces are whole pages.
    if (put > 0) put = put / static_cast<ssize_t>(kPageBytes) * static_cast<ssize_t>(kPageBytes);
    if (put <= 0) {
      std::uint64_t end = offset;
      for (std::size_t i = first; i < pieces.size(); ++i) end += pieces[i].iov_len;
      throw system_error(put < 0 ? write_problem(errno, end) : ENOSPC,
                         "cannot write edges that memory has no room for",
                         file.path());
    }
    offset += static_cast<std::uint64_t>(put);
    auto left = static_cast<std::size_t>(put);
    while (first < pieces.size() && left >= pieces[first].iov_len) left -= pieces[first++].iov_len;
    if (left != 0) {
      pieces[first].iov_base = static_cast<std::byte*>(pieces[first].iov_base) + left;
      pieces[first].iov_len -= left;
    }
  }
}

}  // namespace

struct SpillFile::Reading {
  explicit Reading(const std::shared_ptr<File>& file) : reader(engine()) {
    slot = reader.attach(file).or_throw();
  }

  void read(std::span<const std::uint64_t> slots,
            std::uint64_t segment_bytes,
            const std::shared_ptr<AlignedBuffer>& to) {
    const BufferSlot buffer = slot_of(to);
    std::vector<BlockRead> reads;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      // Slots that follow each other are one read.
      BlockRead* const last = reads.empty() ? nullptr : &reads.back();
      if (last != nullptr && last->file_offset + last->length == slots[i] * segment_bytes &&
          last->length < (1u << 20)) {
        last->length += static_cast<std::uint32_t>(segment_bytes);
        continue;
      }
      reads.push_back({slot,
                       buffer,
                       static_cast<std::uint32_t>(segment_bytes),
                       slots[i] * segment_bytes,
                       i * segment_bytes});
    }
    reader.read(reads).or_throw();
  }

  static std::unique_ptr<IoEngine> engine() {
    IoEngineOptions options;
    options.depth = kReadDepth;
    return make_io_engine(options).or_throw().engine;
  }

  BufferSlot slot_of(const std::shared_ptr<AlignedBuffer>& to) {
    for (const auto& [buffer, at] : buffers)
      if (buffer == to) return at;
    buffers.emplace_back(to, reader.attach(to).or_throw());
    return buffers.back().second;
  }

  BlockReader reader;
  FileSlot slot;
  std::vector<std::pair<std::shared_ptr<AlignedBuffer>, BufferSlot>> buffers;
};

SpillFile::SpillFile(const std::filesystem::path& folder,
                     std::uint64_t segment_bytes,
                     Release release)
    : file_(std::make_shared<File>(File::scratch(folder, Direct::kAuto).or_throw())),
      segment_bytes_(segment_bytes),
      release_(std::move(release)),
      writer_([this] { write_loop(); }) {}

SpillFile::~SpillFile() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  writer_.join();
}

void SpillFile::rethrow_locked() {
  if (problem_) std::rethrow_exception(problem_);
}

std::uint64_t SpillFile::write(std::byte* segment) {
  {
    const MutexLock lock(mutex_);
    rethrow_locked();
    waiting_.push_back({segment, slots_});
    ++left_;
  }
  changed_.notify_all();
  return slots_++;
}

bool SpillFile::wait_for_one() {
  MutexLock lock(mutex_);
  rethrow_locked();
  const std::uint64_t before = left_;
  if (before == 0) return false;
  while (left_ >= before && !problem_) changed_.wait(lock);
  rethrow_locked();
  return true;
}

void SpillFile::wait_for_all() {
  while (wait_for_one()) {
  }
}

void SpillFile::write_loop() {
  const std::size_t most = std::max<std::size_t>(1, kWriteBytes / segment_bytes_);
  std::vector<Waiting> batch;
  for (;;) {
    {
      MutexLock lock(mutex_);
      while (waiting_.empty() && !stop_) changed_.wait(lock);
      if (stop_) return;  // what is still waiting is of no use to anybody
      const auto end =
          waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(most, waiting_.size()));
      batch.assign(waiting_.begin(), end);
      waiting_.erase(waiting_.begin(), end);
    }
    try {
      std::vector<iovec> pieces;
      pieces.reserve(batch.size());
      for (const Waiting& each : batch) pieces.push_back({each.segment, segment_bytes_});
      write_all(*file_, batch.front().slot * segment_bytes_, std::move(pieces));
      for (const Waiting& each : batch) release_(each.segment);
    } catch (...) {
      const MutexLock lock(mutex_);
      problem_ = std::current_exception();
    }
    {
      const MutexLock lock(mutex_);
      left_ -= batch.size();
    }
    changed_.notify_all();
  }
}

void SpillFile::read(std::span<const std::uint64_t> slots,
                     const std::shared_ptr<AlignedBuffer>& to) {
  if (!slots.empty()) Reading(file_).read(slots, segment_bytes_, to);
}

void SpillFile::read_again(std::span<const std::uint64_t> slots,
                           const std::shared_ptr<AlignedBuffer>& to) {
  if (!reading_) reading_ = std::make_unique<Reading>(file_);
  reading_->read(slots, segment_bytes_, to);
}

}  // namespace sluice
