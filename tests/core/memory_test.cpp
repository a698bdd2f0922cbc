#include "core/cgroup.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/array.h>
#include <sluice/memory.h>
#include <sluice/units.h>

#include <cstdlib>
#include <string>
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
  CHECK(refused.error().hint() == "raise [memory] host to at least 1MiB");
  {
    const Charge moved = std::move(first).value();
    CHECK(ledger.used() == 600);
  }
  CHECK(ledger.used() == 0);
  CHECK(ledger.peak() == 600);
  CHECK(ledger.charge("topology", 1000).ok());
}

TEST_CASE("a budget of what a refusal asks for has room for what was refused") {
  // 1.004 MiB would be 1 MiB in two decimals; 1.5 GiB and a byte would be 1.5 GiB.
  for (const std::uint64_t wanted : {kMiB, kMiB + kMiB / 250, kGiB + kGiB / 2 + 1, 5 * kGiB}) {
    CAPTURE(wanted);
    MemoryLedger poor(kMiB / 2, "--memory");
    const Charge held = poor.charge("held", 1000).or_throw();
    const auto refused = poor.charge("edges", wanted);
    REQUIRE_FALSE(refused.ok());
    const std::string before = "raise --memory to at least ", hint = refused.error().hint();
    REQUIRE(hint.find(before) == 0);
    const std::uint64_t least = parse_bytes(hint.substr(before.size())).or_throw().bytes;
    CHECK(least >= wanted + 1000);
    CHECK(least < wanted + 1000 + kMiB);
    MemoryLedger enough(least, "--memory");
    const Charge again = enough.charge("held", 1000).or_throw();
    CHECK(enough.charge("edges", wanted).ok());
  }
  MemoryLedger ledger(kMiB, "--memory");
  const Charge held = ledger.charge("held", 1000).or_throw();
  const auto absurd = ledger.charge("edges", ~std::uint64_t{0});
  REQUIRE_FALSE(absurd.ok());
  CHECK(absurd.error().hint() == "raise --memory to at least 17592186044416MiB");
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

TEST_CASE("a charge by another name has as many bytes, in a full ledger too") {
  MemoryLedger ledger(100);
  Charge one = ledger.charge("one", 60).or_throw();
  const Charge other = ledger.charge("other", 40).or_throw();
  one.rename("other");
  CHECK(one.bytes() == 60);
  for (const MemoryLedger::Entry& entry : ledger.entries())
    CHECK(entry.bytes == (entry.name == "other" ? 100u : 0u));
  CHECK(ledger.used() == 100);
  one.release();
  CHECK(ledger.used() == 40);
  Charge none;
  none.rename("none");
  CHECK(none.bytes() == 0);
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
  MemoryLedger ledger(32 * kMiB);
  const std::uint64_t bytes = MemoryLedger::block_bytes(4 * kMiB + 1);
  CHECK(bytes > 4 * kMiB);
  CHECK(bytes <= 4 * kMiB + kMiB / 2);
  CHECK(MemoryLedger::block_bytes(bytes) == bytes);
  CHECK(MemoryLedger::block_bytes(0) == 64);
  CHECK(MemoryLedger::block_bytes(65) == 128);

  const std::uint64_t other_bytes = MemoryLedger::block_bytes(6 * kMiB);
  Charge one = ledger.charge("one", 0).or_throw();
  const MemoryBlock first = ledger.take_block(bytes, one).or_throw();
  CHECK(one.bytes() == bytes);
  CHECK(ledger.used() == bytes);
  CHECK(reinterpret_cast<std::uintptr_t>(first.data) % 64 == 0);
  ledger.give_block(first, one);
  CHECK(one.bytes() == 0);
  CHECK(ledger.used() == 0);
  CHECK(ledger.peak() == bytes);
  CHECK(ledger.available() == 32 * kMiB);
  Charge both = ledger.charge("both", 0).or_throw();
  const MemoryBlock other = ledger.take_block(other_bytes, both).or_throw();
  CHECK(other.data != first.data);
  const MemoryBlock again = ledger.take_block(bytes, both).or_throw();
  CHECK(again.data == first.data);
  ledger.give_block(other, both);
  CHECK(both.bytes() == bytes);
  CHECK(ledger.used() == bytes);
  ledger.give_block(again, both);
  CHECK(ledger.used() == 0);

  // Beside this charge there is no room for both: the one that was freed last is kept.
  REQUIRE(bytes + other_bytes > 8 * kMiB);
  { const Charge most = ledger.charge("most", 24 * kMiB).or_throw(); }
  CHECK(ledger.peak() == 24 * kMiB + bytes);

  // All of the budget can be charged, whatever is kept.
  { const Charge all = ledger.charge("all", 32 * kMiB).or_throw(); }
  CHECK(ledger.peak() == 32 * kMiB);
}

TEST_CASE("a kept block serves where the budget has room for no other") {
  const std::uint64_t bytes = MemoryLedger::block_bytes(4 * kMiB);
  MemoryLedger ledger(64 * kMiB + bytes);
  const Charge all_else = ledger.charge("all else", 64 * kMiB).or_throw();
  Charge charge = ledger.charge("block", 0).or_throw();
  const MemoryBlock first = ledger.take_block(bytes, charge).or_throw();
  ledger.give_block(first, charge);
  CHECK(ledger.take_block(bytes, charge).or_throw().data == first.data);
  const auto refused = ledger.take_block(bytes, charge);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kResource);
  CHECK(charge.bytes() == bytes);
  CHECK(ledger.peak() == ledger.limit());
  std::free(first.data);
}

TEST_CASE("a block has just the bytes that are wanted where there is no room for its usual size") {
  const std::uint64_t wanted = 4 * kMiB + 4096;
  const std::uint64_t usual = MemoryLedger::block_bytes(wanted);
  REQUIRE(usual > wanted);
  MemoryLedger ledger(2 * usual - 64);
  Charge charge = ledger.charge("block", 0).or_throw();
  const MemoryBlock first = ledger.take_block(wanted, charge).or_throw();
  CHECK(first.bytes == usual);
  const MemoryBlock second = ledger.take_block(wanted, charge).or_throw();
  CHECK(second.bytes == wanted);
  CHECK(charge.bytes() == usual + wanted);
  const auto refused = ledger.take_block(wanted, charge);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message().find("4 MiB more for 'block' do not fit") == 0);
  ledger.give_block(first, charge);
  ledger.give_block(second, charge);
  CHECK(charge.bytes() == 0);
  CHECK(ledger.used() == 0);
}

TEST_CASE("a kept block serves requests that are up to an eighth smaller, the smallest first") {
  MemoryLedger ledger(1024 * kMiB);
  Charge charge = ledger.charge("blocks", 0).or_throw();
  const auto size = [](std::uint64_t mib) { return MemoryLedger::block_bytes(mib * kMiB); };
  const auto take = [&](std::uint64_t mib) {
    return ledger.take_block(size(mib), charge).or_throw();
  };
  const MemoryBlock of_9 = take(9), of_10 = take(10), of_12 = take(12);
  for (const MemoryBlock& block : {of_12, of_9, of_10}) ledger.give_block(block, charge);
  const MemoryBlock first = take(9), second = take(9), third = take(9);
  CHECK(first.data == of_9.data);
  CHECK(second.data == of_10.data);
  CHECK(second.bytes == size(10));
  CHECK(third.data != of_12.data);
  CHECK(third.bytes == size(9));
  CHECK(charge.bytes() == 2 * size(9) + size(10));
  CHECK(ledger.used() == charge.bytes());
  for (const MemoryBlock& block : {first, second, third}) ledger.give_block(block, charge);
  CHECK(ledger.used() == 0);
}
