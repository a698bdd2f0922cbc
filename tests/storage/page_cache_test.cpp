#include "storage/topology/page_cache.h"

#include "support/expect_error.h"

#include <sluice/random.h>

#include <doctest/doctest.h>

#include <array>
#include <cstring>

using namespace sluice;

namespace {

std::array<std::byte, kPageBytes> content_of(std::uint64_t page) {
  std::array<std::byte, kPageBytes> bytes{};
  for (std::size_t at = 0; at < kPageBytes; at += sizeof page)
    std::memcpy(bytes.data() + at, &page, sizeof page);
  return bytes;
}

// Looks a page up as a reader does; whether it was there.
bool use(PageCache& cache, std::uint64_t page) {
  const auto expected = content_of(page);
  if (const std::byte* found = cache.find(page)) {
    REQUIRE(std::memcmp(found, expected.data(), kPageBytes) == 0);
    return true;
  }
  cache.offer(page, expected.data());
  return false;
}

// How many of [first, last) are there; takes none in.
int held(PageCache& cache, std::uint64_t first, std::uint64_t last) {
  int count = 0;
  for (std::uint64_t page = first; page < last; ++page)
    count += cache.find(page) != nullptr ? 1 : 0;
  return count;
}

PageCache make(std::uint64_t pages, std::uint64_t of = 1'000'000) {
  return PageCache::make(pages * (kPageBytes + 64), of, nullptr).or_throw();
}

}  // namespace

TEST_CASE("a page that is found is the one that was offered, through any number of evictions") {
  for (const std::uint64_t capacity : {1u, 2u, 3u, 16u, 100u}) {
    PageCache cache = make(capacity);
    CHECK(cache.capacity() == capacity);
    const RandomKey key = RandomKey(capacity).with("pages");
    std::uint64_t hits = 0;
    for (std::uint64_t i = 0; i < 20'000; ++i) {
      // Skewed, so that pages come and go and some stay.
      const std::uint64_t page = key.below(1 + key.below(4 * capacity, 2 * i), 2 * i + 1) << 7;
      hits += use(cache, page) ? 1u : 0u;
    }
    CAPTURE(capacity);
    CHECK(hits > 2000);
  }
}

TEST_CASE("pages that come once push out none that come often") {
  PageCache cache = make(100);
  for (int round = 0; round < 5; ++round) {
    for (std::uint64_t page = 0; page < 100; ++page) use(cache, page);
  }
  for (std::uint64_t page = 1000; page < 2000; ++page) CHECK_FALSE(use(cache, page));
  CHECK(held(cache, 0, 100) >= 98);
  // What comes often from now on takes the places of what does not.
  for (int round = 0; round < 60; ++round) {
    for (std::uint64_t page = 5000; page < 5050; ++page) use(cache, page);
  }
  CHECK(held(cache, 5000, 5050) >= 45);
}

TEST_CASE("a cache takes no more than it was given, nor more pages than there are") {
  MemoryLedger ledger(1 << 20);
  {
    const PageCache cache = PageCache::make(1 << 20, 1'000'000, &ledger).or_throw();
    CHECK(cache.capacity() == (1 << 20) / (kPageBytes + 64));
    CHECK(ledger.used() <= (1 << 20));
    CHECK(ledger.used() >= cache.capacity() * kPageBytes);
  }
  CHECK(ledger.used() == 0);
  CHECK(PageCache::make(1 << 20, 7, &ledger).or_throw().capacity() == 7);
  CHECK(PageCache::make(2 << 20, 1'000'000, &ledger).error().code() == ErrorCode::kResource);
  CHECK(ledger.used() == 0);
}

TEST_CASE("a cache of nothing finds nothing") {
  PageCache cache = PageCache::make(4096, 100, nullptr).or_throw();
  CHECK(cache.capacity() == 0);
  CHECK_FALSE(use(cache, 3));
  CHECK_FALSE(use(cache, 3));
}
