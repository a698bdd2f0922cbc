#include "core/cgroup.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/array.h>
#include <sluice/memory.h>
#include <sluice/units.h>

#include <thread>
#include <vector>

using namespace sluice;

TEST_CASE("charges add up, are refused beyond the limit, and come back") {
  MemoryLedger ledger(1000, "[memory] host");
  auto first = ledger.charge("features", 600);
  REQUIRE(first.ok());
  CHECK(ledger.used() == 600);
  auto refused = ledger.charge("topology", 500);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kResource);
  CHECK(refused.error().message().find(
            "500 B more for 'topology' do not fit: 600 B of 1000 B are in use") == 0);
  CHECK(refused.error().message().find("features") != std::string::npos);
  CHECK(refused.error().hint() == "raise [memory] host to at least 1.07 KiB");
  {
    const Charge moved = std::move(first).value();
    CHECK(ledger.used() == 600);
  }
  CHECK(ledger.used() == 0);
  CHECK(ledger.peak() == 600);
  CHECK(ledger.charge("topology", 1000).ok());
}

TEST_CASE("a refused resize leaves the charge as it was") {
  MemoryLedger ledger(100);
  Charge charge = ledger.charge("a", 40).or_throw();
  CHECK_FALSE(charge.resize(101).ok());
  CHECK(charge.bytes() == 40);
  CHECK(charge.resize(100).ok());
  CHECK(ledger.available() == 0);
  CHECK(charge.resize(10).ok());
  CHECK(ledger.used() == 10);
}

TEST_CASE("the ledger neither loses nor invents bytes under threads") {
  MemoryLedger ledger(1'000'000);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&ledger, t] {
        for (std::uint64_t i = 0; i < 2000; ++i) {
          auto charge = ledger.charge(t % 2 == 0 ? "even" : "odd", i % 97);
          if (charge.ok()) (void)charge.value().resize(i % 31);
        }
      });
    }
  }
  CHECK(ledger.used() == 0);
  CHECK(ledger.entries().size() == 2);
}

TEST_CASE("arrays are aligned, charged, and shared by their copies") {
  MemoryLedger ledger(1 << 20);
  Array array = Array::make(DType::kF32, {10, 3}, &ledger, "batch").or_throw();
  CHECK(reinterpret_cast<std::uintptr_t>(array.data()) % Array::kAlignment == 0);
  CHECK(array.numel() == 30);
  CHECK(array.bytes() == 120);
  CHECK(ledger.used() == 128);
  array.as<float>()[7] = 4.5f;
  {
    const Array copy = array;
    array = Array();
    CHECK(copy.as<float>()[7] == 4.5f);
    CHECK(ledger.used() == 128);
  }
  CHECK(ledger.used() == 0);
  CHECK_FALSE(Array::make(DType::kI64, {1 << 20}, &ledger).ok());
  CHECK_FALSE(Array::make(DType::kI64, {std::int64_t{1} << 62, 1 << 10}).ok());
  CHECK(Array::make(DType::kI64, {0, 5}, &ledger).or_throw().empty());
}

namespace {

// A fake root with the files that name and limit a memory cgroup.
struct FakeRoot {
  test::TempDir dir;
  FakeRoot(const char* cgroup, const char* mountinfo) {
    dir.write("proc/self/cgroup", cgroup);
    dir.write("proc/self/mountinfo", mountinfo);
    dir.write("proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n");
  }
};

}  // namespace

TEST_CASE("cgroup v2: the smallest limit on the way up binds") {
  const FakeRoot root("0::/user/app\n", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.dir.write("sys/fs/cgroup/user/memory.max", "4194304\n");
  root.dir.write("sys/fs/cgroup/user/app/memory.max", "max\n");
  root.dir.write("sys/fs/cgroup/user/app/memory.current", "1000\n");
  root.dir.write("sys/fs/cgroup/user/app/memory.stat", "anon 700\nfile 300\n");
  const CgroupMemory memory = read_cgroup_memory(root.dir.path());
  CHECK(memory.version == 2);
  CHECK(memory.limit == 4194304);
  CHECK(memory.usage == 1000);
  CHECK(memory.anonymous == 700);
  CHECK(memory.path == (root.dir / "sys/fs/cgroup/user").string());
  CHECK(memory_granted(root.dir.path()) == 4194304);
}

TEST_CASE("cgroup v1: a container's mount base is stripped, and no limit is no limit") {
  const FakeRoot root("9:name=systemd:/\n4:cpu,memory:/docker/abc\n0::/\n",
                      "40 1 0:30 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  root.dir.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.dir.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "5000\n");
  root.dir.write("sys/fs/cgroup/memory/memory.stat", "cache 1\ntotal_rss 4000\n");
  CgroupMemory memory = read_cgroup_memory(root.dir.path());
  CHECK(memory.version == 1);
  CHECK(memory.limit == 0);
  CHECK(memory.usage == 5000);
  CHECK(memory.anonymous == 4000);
  CHECK(memory_granted(root.dir.path()) == 16384 * 1024);
  root.dir.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "8192\n");
  memory = read_cgroup_memory(root.dir.path());
  CHECK(memory.limit == 8192);
}

TEST_CASE("no cgroup files mean no limit") {
  const test::TempDir empty;
  CHECK(read_cgroup_memory(empty.path()).version == 0);
  CHECK(read_cgroup_memory(empty.path()).limit == 0);
}

TEST_CASE("this process has memory of its own") {
  const ProcessMemory memory = read_process_memory();
  CHECK(memory.rss > 0);
  CHECK(memory.peak_rss >= memory.anonymous);
  CHECK(memory_granted() > 0);
}

TEST_CASE("freed blocks serve again, count in the peak, and go when a charge wants their room") {
  MemoryLedger ledger(64 * kMiB);
  const std::uint64_t bytes = MemoryLedger::block_bytes(4 * kMiB + 1);
  CHECK(bytes > 4 * kMiB);
  CHECK(bytes <= 4 * kMiB + kMiB / 2);
  CHECK(MemoryLedger::block_bytes(bytes) == bytes);
  CHECK(MemoryLedger::block_bytes(0) == 64);
  CHECK(MemoryLedger::block_bytes(65) == 128);

  const std::uint64_t other_bytes = MemoryLedger::block_bytes(6 * kMiB);
  Charge one = ledger.charge("one", bytes).or_throw();
  void* first = ledger.take_block(bytes);
  REQUIRE(first != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
  ledger.give_block(first, bytes, one);
  CHECK(one.bytes() == 0);
  CHECK(ledger.used() == 0);
  CHECK(ledger.peak() == bytes);
  CHECK(ledger.available() == 64 * kMiB);
  Charge both = ledger.charge("both", bytes + other_bytes).or_throw();
  void* other = ledger.take_block(other_bytes);
  CHECK(other != first);
  void* again = ledger.take_block(bytes);
  CHECK(again == first);
  ledger.give_block(other, other_bytes, both);
  CHECK(both.bytes() == bytes);
  CHECK(ledger.used() == bytes);
  ledger.give_block(again, bytes, both);  // the two are more than an eighth of the budget
  CHECK(ledger.used() == 0);
  CHECK(ledger.peak() <= bytes + other_bytes + bytes);

  // All of the budget can be charged, whatever is kept.
  Charge all = ledger.charge("all", 64 * kMiB).or_throw();
  CHECK(ledger.peak() == 64 * kMiB);
  void* last = ledger.take_block(bytes);
  ledger.give_block(last, bytes, all);  // kept in the room that it leaves
  CHECK(ledger.peak() == 64 * kMiB);
  CHECK(ledger.used() == 64 * kMiB - bytes);
  CHECK(ledger.take_block(bytes) == last);
  std::free(last);
}
