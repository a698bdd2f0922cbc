#include "bench/support/write_rate.h"

#include "storage/io/aligned_buffer.h"
#include "storage/io/file.h"

#include <sluice/random.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace sluice::bench {

double write_rate(const std::filesystem::path& folder, const WriteMix& mix) {
  File file = File::scratch(folder, Direct::kAuto).or_throw();
  AlignedBuffer buffer = AlignedBuffer::make(mix.request_bytes, nullptr, "benchmark").or_throw();
  for (std::size_t i = 0; i + 8 <= buffer.size(); i += 8) {
    const std::uint64_t bits = RandomKey(7).draw(i);
    std::memcpy(buffer.data() + i, &bits, sizeof bits);
  }
  const std::uint64_t requests = mix.bytes / mix.request_bytes;
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> failed{false};
  const auto begin = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> writers;
    writers.reserve(static_cast<std::size_t>(mix.depth));
    for (int i = 0; i < mix.depth; ++i) {
      writers.emplace_back([&] {
        for (std::uint64_t at = next++; at < requests; at = next++)
          if (!file.write_at(at * mix.request_bytes, buffer.bytes())) failed = true;
      });
    }
  }
  if (failed) throw Error(ErrorCode::kIo, "the disk's rate of writing could not be measured");
  file.sync().or_throw();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return static_cast<double>(requests * mix.request_bytes) / seconds;
}

}  // namespace sluice::bench
