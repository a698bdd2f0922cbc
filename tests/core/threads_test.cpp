#include "core/threads.h"

#include "core/plain_threads.h"

#include <doctest/doctest.h>
#include <sluice/error.h>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

using namespace sluice;

TEST_CASE("every index is visited once, for any width and grain") {
  for (const int threads : {1, 2, 16}) {
    ThreadArena arena(threads);
    CHECK(arena.threads() == threads);
    for (const std::size_t grain : {1u, 7u, 1000u}) {
      std::vector<int> visits(1001, 0);
      arena.for_ranges(visits.size(), grain, [&](std::size_t begin, std::size_t end) {
        CHECK(end - begin <= grain);
        for (std::size_t i = begin; i < end; ++i) ++visits[i];
      });
      for (const int count : visits) REQUIRE(count == 1);
    }
  }
  ThreadArena(2).for_each(0, [](std::size_t) { FAIL("nothing to visit"); });
}

TEST_CASE("widths that make no arena are refused") {
  CHECK_THROWS_AS(ThreadArena(-1), Error);
  CHECK_THROWS_AS(ThreadArena(4097), Error);
  CHECK(ThreadArena(0).threads() == available_cores());
}

TEST_CASE("a thread that gives way takes those it starts with it, and no other") {
  const int before = ::getpriority(PRIO_PROCESS, 0);
  int itself = 0, started = 0;
  std::thread([&] {
    give_way_to_others();
    itself = ::getpriority(PRIO_PROCESS, 0);
    std::thread([&] { started = ::getpriority(PRIO_PROCESS, 0); }).join();
  }).join();
  CHECK(itself >= std::max(before, 10));
  CHECK(started == itself);
  CHECK(::getpriority(PRIO_PROCESS, 0) == before);
}

TEST_CASE("an exception in a task reaches the caller") {
  ThreadArena arena(2);
  CHECK_THROWS_AS(arena.for_each(100,
                                 [](std::size_t i) {
                                   if (i == 37) throw Error(ErrorCode::kData, "bad");
                                 }),
                  Error);
}

// Where thread sanitizers look on, an arena has these instead of oneTBB's.
TEST_CASE("plain threads take loops of several callers, and loops within loops") {
  PlainThreads pool(2);
  std::vector<std::atomic<int>> visits(3 * 50 * 20);
  std::vector<std::jthread> callers;
  for (std::size_t caller = 0; caller < 3; ++caller) {
    callers.emplace_back([&, caller] {
      pool.run(50, [&, caller](std::size_t i) {
        pool.run(20, [&, caller, i](std::size_t j) { ++visits[(caller * 50 + i) * 20 + j]; });
      });
    });
  }
  callers.clear();
  for (const auto& count : visits) REQUIRE(count == 1);

  std::atomic<int> begun = 0;
  const auto throwing = [&](std::size_t i) {
    ++begun;
    if (i == 3) throw Error(ErrorCode::kData, "bad");
  };
  CHECK_THROWS_AS(pool.run(1'000'000, throwing), Error);
  CHECK(begun < 1'000'000);
  PlainThreads(0).run(5, [&](std::size_t) { ++begun; });
}
