#include "storage/feature/run_writer.h"

#include "core/hash.h"
#include "storage/io/aligned_buffer.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace sluice {
namespace {

// A table is read meanwhile, with as much under way as the disk can use, and each write waits
// behind that: with 256 KiB under way who appends waited 2.7 s of 3.7 for a free buffer. A disk
// serves both alike: for so many bytes that may be under way of the table, one of the runs is.
constexpr std::uint64_t kReadForWritten = 5;
constexpr std::size_t kLeastThreads = 8;
constexpr std::size_t kMostThreads = RunWriter::kGoodSpare;

}  // namespace

RunWriter::Chunks RunWriter::chunks_for(std::uint64_t bytes, std::size_t runs) {
  const auto of = [&](std::size_t count) {
    return std::min(bytes / count / kPageBytes * kPageBytes, kMostChunk);
  };
  const Chunks good{of(runs + kGoodSpare), runs + kGoodSpare};
  if (good.bytes >= kGoodChunk) return good;
  const Chunks small{of(runs + kLeastSpare), runs + kLeastSpare};
  return small.bytes < kLeastChunk ? Chunks{} : small;
}

RunWriter::RunWriter(File& file,
                     std::span<const std::uint64_t> begins,
                     std::span<std::uint32_t> sums,
                     std::uint64_t chunk_bytes,
                     std::span<std::byte> chunks,
                     std::uint64_t bytes_read_at_once)
    : file_(file), sums_(sums), chunk_(chunk_bytes), buffers_(chunks) {
  const std::size_t runs = begins.size() - 1;
  const std::size_t spare = chunks.size() / chunk_ - runs;
  assert(chunks.size() >= (runs + kLeastSpare) * chunk_);
  // Runs grow side by side: their first chunks end at different places, so that they do not all ask
  // for a write, and wait for a free buffer, at the same moment.
  for (std::size_t r = 0; r < runs; ++r) {
    const std::size_t pages = std::max<std::size_t>(chunk_ / kPageBytes * (r + 1) / runs, 1);
    runs_.push_back({begins[r], r, 0, pages * kPageBytes});
  }
  for (std::size_t i = 0; i < spare; ++i) free_.push_back(runs + i);
  const std::size_t threads =
      std::clamp(bytes_read_at_once / kReadForWritten / chunk_, kLeastThreads, kMostThreads);
  for (std::size_t i = 0; i < std::min(threads, spare); ++i)
    threads_.emplace_back([this] { write_loop(); });
}

RunWriter::~RunWriter() {
  stop();
}

void RunWriter::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    jobs_there_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

Result<void> RunWriter::append(std::size_t index, std::span<const std::byte> bytes) {
  Run& run = runs_[index];
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), run.full - run.used);
    std::memcpy(buffer(run.buffer).data() + run.used, bytes.data(), part);
    run.used += part;
    bytes = bytes.subspan(part);
    if (run.used < run.full) continue;
    if (auto flushed = flush(run); !flushed) return flushed;
    run.full = chunk_;
    auto next = take_buffer();
    if (!next) return std::move(next).error();
    run.buffer = next.value();
  }
  return {};
}

Result<void> RunWriter::flush(Run& run) {
  const std::size_t bytes = round_up_to_page(run.used);
  std::memset(buffer(run.buffer).data() + run.used, 0, bytes - run.used);
  const MutexLock lock(mutex_);
  if (error_) return *error_;
  jobs_.push_back({run.buffer, run.at, bytes});
  run.at += bytes;
  run.used = 0;
  ++writes_;
  jobs_there_.notify_one();
  return {};
}

Result<std::size_t> RunWriter::take_buffer() {
  MutexLock lock(mutex_);
  while (!error_ && free_.empty()) jobs_done_.wait(lock);
  if (error_) return *error_;
  const std::size_t buffer = free_.back();
  free_.pop_back();
  return buffer;
}

Result<void> RunWriter::finish() {
  for (Run& run : runs_) {
    if (run.used == 0) continue;
    if (auto flushed = flush(run); !flushed) return flushed;
  }
  MutexLock lock(mutex_);
  while (!error_ && (!jobs_.empty() || writing_ != 0)) jobs_done_.wait(lock);
  if (error_) return *error_;
  return {};
}

void RunWriter::write_loop() {
  MutexLock lock(mutex_);
  for (;;) {
    while (!stopping_ && jobs_.empty()) jobs_there_.wait(lock);
    if (jobs_.empty()) return;
    const Job job = jobs_.front();
    jobs_.pop_front();
    ++writing_;
    lock.unlock();
    const std::span<const std::byte> bytes = buffer(job.buffer).first(job.bytes);
    for (std::size_t at = 0; at < job.bytes; at += kPageBytes)
      sums_[(job.at + at) / kPageBytes] = xxh3_32(bytes.subspan(at, kPageBytes));
    auto written = file_.write_at(job.at, bytes);
    lock.lock();
    --writing_;
    if (!written && !error_) error_ = std::move(written).error();
    if (error_) jobs_.clear();
    free_.push_back(job.buffer);
    jobs_done_.notify_one();
  }
}

}  // namespace sluice
