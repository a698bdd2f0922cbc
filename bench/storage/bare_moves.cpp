#include "bench/storage/bare_moves.h"

#include "bench/storage/scratch_file.h"
#include "bench/support/raw_disk.h"
#include "bench/support/seconds.h"
#include "core/threads.h"
#include "storage/io/aligned_buffer.h"
#include "storage/io/file.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

namespace sluice::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Transfer = RawDisk::Transfer;

constexpr std::uint64_t kWritePlaces = 16;
constexpr unsigned kDepth = 64;
constexpr FileSlot kTable{0};
constexpr FileSlot kScratch{1};

/// `bytes` of a file of `file_bytes` in order, from its start again where it ends. The writes'
/// places in the buffer come before the reads'.
std::vector<Transfer> reads_of(FileSlot file,
                               std::uint64_t bytes,
                               std::uint64_t file_bytes,
                               const Moves& moves) {
  std::vector<Transfer> reads;
  std::uint64_t at = 0;
  for (std::uint64_t left = bytes / kPageBytes * kPageBytes; left > 0;) {
    if (at == file_bytes) at = 0;
    const std::uint64_t length = std::min({moves.request_bytes, left, file_bytes - at});
    const std::uint64_t place =
        kWritePlaces * moves.write_bytes + reads.size() % kDepth * moves.request_bytes;
    reads.push_back({{file, BufferSlot{0}, static_cast<std::uint32_t>(length), at, place},
                     RawDisk::Direction::kRead});
    at += length;
    left -= length;
  }
  return reads;
}

/// The reads with `count` writes spread evenly among them.
std::vector<Transfer> with_writes(const std::vector<Transfer>& reads,
                                  std::uint64_t count,
                                  std::uint64_t write_bytes) {
  std::vector<Transfer> both;
  std::uint64_t started = 0;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    both.push_back(reads[i]);
    for (; started * reads.size() < count * (i + 1); ++started) {
      const std::uint64_t place = started % kWritePlaces * write_bytes;
      both.push_back({{kScratch,
                       BufferSlot{0},
                       static_cast<std::uint32_t>(write_bytes),
                       started * write_bytes,
                       place},
                      RawDisk::Direction::kWrite});
    }
  }
  return both;
}

}  // namespace

double make_fresh(std::uint64_t bytes) {
  if (bytes == 0) return 0;
  AlignedBuffer buffer = AlignedBuffer::make(bytes, nullptr, "benchmark").or_throw();
  ThreadArena arena;
  const std::uint64_t pages = buffer.size() / kPageBytes;
  const auto threads = static_cast<std::uint64_t>(arena.threads());
  const std::uint64_t part = (pages + threads - 1) / threads;
  const auto begin = SteadyClock::now();
  arena.for_ranges(pages, part, [&](std::size_t low, std::size_t high) {
    for (std::size_t page = low; page < high; ++page) buffer.data()[page * kPageBytes] = {};
  });
  return seconds_since(begin);
}

BareSeconds move_bare(const Moves& moves) {
  const File table = File::open_read(moves.table, Direct::kAuto).or_throw();
  const std::uint64_t writes = moves.written / moves.write_bytes;
  const std::uint64_t back = std::min(writes * moves.write_bytes, moves.read);
  const std::uint64_t table_bytes = table.size().or_throw() / kPageBytes * kPageBytes;
  const std::vector<Transfer> out = with_writes(
      reads_of(kTable, moves.read - back, table_bytes, moves), writes, moves.write_bytes);
  const std::vector<Transfer> in = reads_of(kScratch, back, back, moves);

  AlignedBuffer buffer =
      AlignedBuffer::make(
          kWritePlaces * moves.write_bytes + kDepth * moves.request_bytes, nullptr, "benchmark")
          .or_throw();
  fill(buffer.bytes(), RandomKey(5));  // and its pages are there
  // Into a new file each time, as a gather does.
  const auto move = [&] {
    File scratch = File::scratch(moves.scratch, Direct::kAuto).or_throw();
    if (!table.direct() || !scratch.direct())
      throw Error(
          ErrorCode::kUsage,
          "this file system has no O_DIRECT: the page cache would be measured, not the disk",
          "choose another place with --dir");
    const std::array files{table.fd(), scratch.fd()};
    RawDisk disk(files, buffer.bytes(), kDepth);
    const auto begin = SteadyClock::now();
    // Small writes that make a file longer wait for each other: its room is reserved, as a gather
    // reserves that of its runs.
    if (writes != 0) scratch.reserve(writes * moves.write_bytes).or_throw();
    disk.move(out);
    disk.move(in);
    return seconds_since(begin);
  };
  BareSeconds seconds;
  seconds.moving = move();
  std::this_thread::sleep_for(kUntilFresh);
  const auto begin = SteadyClock::now();
  auto making = std::async(std::launch::async, [&] { return make_fresh(moves.fresh); });
  (void)move();
  (void)making.get();
  seconds.moving_and_fresh = seconds_since(begin);
  std::this_thread::sleep_for(kUntilFresh);
  seconds.fresh = make_fresh(moves.fresh);
  return seconds;
}

}  // namespace sluice::bench
