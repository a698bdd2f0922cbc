#include "bench/support/disk_rate.h"

#include "bench/support/program.h"
#include "bench/support/raw_disk.h"
#include "storage/io/aligned_buffer.h"
#include "storage/io/file.h"

#include <sluice/random.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace sluice::bench {
namespace {

std::vector<BlockRead> random_reads(const DiskMix& mix,
                                    std::uint64_t file_bytes,
                                    std::uint64_t count,
                                    RandomKey key) {
  std::vector<BlockRead> reads(count);
  const std::uint64_t pages = (file_bytes - mix.request_bytes) / kPageBytes + 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    reads[i] = {FileSlot{0},
                BufferSlot{0},
                static_cast<std::uint32_t>(mix.request_bytes),
                key.below(pages, i) * kPageBytes,
                i * mix.request_bytes};
  }
  return reads;
}

}  // namespace

double disk_rate(const std::filesystem::path& path, const DiskMix& mix) {
  const File file = File::open_read(path, Direct::kAuto).or_throw();
  if (!file.direct()) {
    throw Error(ErrorCode::kUsage,
                "this file system has no O_DIRECT: the page cache would be measured, not the disk",
                "choose another place with --dir",
                Place{path.string(), -1, -1, -1});
  }
  const std::uint64_t file_bytes = file.size().or_throw();
  DiskMix fitting = mix;
  fitting.request_bytes = std::min(mix.request_bytes, file_bytes / kPageBytes * kPageBytes);
  const std::uint64_t count = std::max<std::uint64_t>(1, mix.round_bytes / fitting.request_bytes);
  AlignedBuffer buffer =
      AlignedBuffer::make(count * fitting.request_bytes, nullptr, "benchmark").or_throw();
  RawDisk disk(file.fd(), buffer.bytes(), static_cast<unsigned>(mix.depth));

  std::vector<double> seconds;
  for (std::uint64_t round = 0; round <= mix.rounds; ++round) {
    const auto reads =
        random_reads(fitting, file_bytes, count, RandomKey(11).with("disk rate").with(round));
    const auto begin = std::chrono::steady_clock::now();
    disk.read(reads);
    if (round == 0) continue;  // warms up page tables, clocks and the disk
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return static_cast<double>(count * fitting.request_bytes) / median(std::move(seconds));
}

}  // namespace sluice::bench
