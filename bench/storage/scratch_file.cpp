#include "bench/storage/scratch_file.h"

#include "core/hash.h"
#include "storage/io/aligned_buffer.h"

#include <sluice/random.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

namespace sluice::bench {
namespace {

constexpr std::uint64_t kChunkBytes = 8 * 1024 * 1024;

void write_scratch(const std::filesystem::path& path, std::uint64_t bytes) {
  File file = File::create(path).or_throw();
  AlignedBuffer buffer = AlignedBuffer::make(kChunkBytes, nullptr, "benchmark").or_throw();
  for (std::uint64_t at = 0; at < bytes; at += kChunkBytes) {
    const auto chunk = buffer.bytes().first(std::min(kChunkBytes, bytes - at));
    fill(chunk, RandomKey(1).with(at));
    file.write_at(at, chunk).or_throw();
  }
  file.sync().or_throw();
  file.close().or_throw();
}

std::vector<std::uint32_t> page_sums_of(const File& file, std::uint64_t bytes) {
  std::vector<std::uint32_t> sums;
  sums.reserve(bytes / kPageBytes);
  AlignedBuffer buffer = AlignedBuffer::make(kChunkBytes, nullptr, "benchmark").or_throw();
  for (std::uint64_t at = 0; at < bytes; at += kChunkBytes) {
    const auto chunk = buffer.bytes().first(std::min(kChunkBytes, bytes - at));
    file.read_at(at, chunk).or_throw();
    for (std::size_t i = 0; i < chunk.size(); i += kPageBytes)
      sums.push_back(xxh3_32(chunk.subspan(i, kPageBytes)));
  }
  return sums;
}

}  // namespace

void fill(std::span<std::byte> bytes, RandomKey key) {
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = key.draw(at / 8);
    std::memcpy(bytes.data() + at, &word, 8);
  }
}

TestFile open_test_file(const std::string& path,
                        const std::string& dir,
                        std::uint64_t scratch_bytes) {
  const std::filesystem::path place =
      path.empty() ? std::filesystem::path(dir) / fmt::format("sluice-bench-{}.tmp", ::getpid())
                   : std::filesystem::path(path);
  if (path.empty()) write_scratch(place, scratch_bytes);
  auto opened = File::open_read(place, Direct::kAuto);
  if (path.empty()) std::filesystem::remove(place);

  TestFile test;
  test.file = std::make_shared<const File>(std::move(opened).or_throw());
  test.bytes = test.file->size().or_throw();
  if (!test.file->direct()) {
    throw Error(ErrorCode::kUsage,
                "this file system has no O_DIRECT: the page cache would be measured, not the disk",
                "choose another place with --dir or --file",
                Place{place.string(), -1, -1, -1});
  }
  if (test.bytes % kPageBytes != 0 || test.bytes < kChunkBytes) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format(
            "the file has {} bytes; a whole number of {}-byte pages and at least {} are needed",
            test.bytes,
            kPageBytes,
            kChunkBytes),
        "choose another one with --file",
        Place{place.string(), -1, -1, -1});
  }
  test.page_sums = page_sums_of(*test.file, test.bytes);
  return test;
}

}  // namespace sluice::bench
