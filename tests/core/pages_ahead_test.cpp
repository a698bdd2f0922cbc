#include "core/pages_ahead.h"

#include <doctest/doctest.h>
#include <sluice/units.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace sluice {
namespace {

constexpr std::size_t kBytes = 64 * kMiB;
constexpr std::size_t kMany = 640 * kMiB;  // several threads make them

// Fresh memory, given back at the end.
class Mapping {
 public:
  explicit Mapping(std::size_t size = kBytes)
      : size_(size),
        data_(::mmap(nullptr,
                     size,
                     PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     -1,
                     0)) {
    REQUIRE(data_ != MAP_FAILED);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { ::munmap(data_, size_); }

  std::span<std::byte> bytes() { return {static_cast<std::byte*>(data_), size_}; }

  // Bytes that are there, of the first `bytes`.
  std::size_t resident(std::size_t bytes) const {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::vector<unsigned char> pages(bytes / page);
    REQUIRE(::mincore(data_, bytes, pages.data()) == 0);
    return page * static_cast<std::size_t>(
                      std::ranges::count_if(pages, [](unsigned char flags) { return flags & 1; }));
  }

 private:
  std::size_t size_;
  void* data_;
};

bool system_can() {
#if defined(MADV_POPULATE_WRITE)
  Mapping probe;
  return ::madvise(probe.bytes().data(), 4096, MADV_POPULATE_WRITE) == 0;
#else
  return false;
#endif
}

// By one thread, or by as many as large memory gets, a piece of 8 MiB each.
void check_wanted(std::size_t size, std::size_t most) {
  Mapping memory(size);
  {
    PagesAhead pages(memory.bytes());
    CHECK(memory.resident(size) == 0);
    for (const std::size_t wanted : {kMiB, 9 * kMiB, 5 * kMiB, 20 * kMiB}) pages.want(wanted);
    // What others write stays.
    memory.bytes()[3 * kMiB] = std::byte{42};
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (memory.resident(20 * kMiB) < 20 * kMiB && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(memory.resident(20 * kMiB) == 20 * kMiB);
  CHECK(memory.resident(size) <= most);
  CHECK(memory.bytes()[3 * kMiB] == std::byte{42});
  CHECK(memory.bytes()[4 * kMiB] == std::byte{0});
}

TEST_CASE("pages that are wanted are made, and others are not") {
  if (!system_can()) {
    MESSAGE("skipped: this system does not make pages ahead");
    return;
  }
  check_wanted(kBytes, 24 * kMiB);
  check_wanted(kMany, 24 * kMiB);
}

TEST_CASE("making pages ends at once when nobody waits for it any more") {
  Mapping memory;
  Mapping large(kMany);
  for (int i = 0; i < 50; ++i) {
    PagesAhead pages(memory.bytes());
    pages.want(kBytes + 1);  // more than there is
    PagesAhead more(large.bytes());
    if (i % 2 == 0) more.want(kMiB);
  }
  const PagesAhead none(memory.bytes().first(0));
}

}  // namespace
}  // namespace sluice
