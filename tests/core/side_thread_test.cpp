#include "core/side_thread.h"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

using namespace sluice;

TEST_CASE("a side thread does one piece of work after the other, on one thread of its own") {
  SideThread side;
  side.wait();  // nothing was begun
  std::thread::id first;
  int done = 0;  // guarded by begin() and wait(): a race is for the thread sanitizer to find
  for (int i = 0; i < 100; ++i) {
    side.begin([&, i] {
      if (i == 0) first = std::this_thread::get_id();
      CHECK(std::this_thread::get_id() == first);
      CHECK(done == i);
      ++done;
    });
  }
  side.wait();
  CHECK(done == 100);
  CHECK(first != std::this_thread::get_id());
}

TEST_CASE("what a side thread's work throws comes to who waits for it, once") {
  SideThread side;
  side.begin([] { throw std::runtime_error("first"); });
  CHECK_THROWS_WITH_AS(side.wait(), "first", std::runtime_error);
  side.wait();
  bool begun = false;
  side.begin([] { throw std::runtime_error("second"); });
  CHECK_THROWS_WITH_AS(side.begin([&] { begun = true; }), "second", std::runtime_error);
  side.wait();
  CHECK_FALSE(begun);
  side.begin([&] { begun = true; });
  side.wait();
  CHECK(begun);
}

TEST_CASE("a side thread ends when its work has, whoever waits for it") {
  std::atomic<int> done = 0;
  {
    SideThread side;
    side.begin([&] { ++done; });
  }
  CHECK(done == 1);
  {
    SideThread side;
    side.begin([&] {
      ++done;
      throw std::runtime_error("nobody asks");
    });
  }
  CHECK(done == 2);
}
