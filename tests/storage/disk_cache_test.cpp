// What is remembered of a disk, and everything that must not be believed.
#include "storage/io/disk_cache.h"
#include "support/file_size_limit.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <ios>
#include <optional>

using namespace sluice;
using sluice::test::read_all;
using sluice::test::TempDir;
namespace fs = std::filesystem;

namespace {

constexpr std::chrono::sys_seconds kNow{std::chrono::seconds(1'800'000'000)};

DiskKey some_key(std::string disk = "254:0") {
  return {std::move(disk), "ext4", "io_uring", 128, "6.1.0"};
}

DiskProfile some_profile(double scale = 1, std::chrono::sys_seconds measured = kNow) {
  DiskRates rates;
  rates.read_seconds = {6.1e-6 * scale, 10e-6 * scale, 26e-6 * scale, 110e-6 * scale, 1.0 / 3};
  rates.sequential_read = 2.4e9 / scale;
  rates.sequential_write = 1.9e9 / scale;
  return DiskProfile(rates, {"io_uring", 128, true, measured, "", 64 << 20, ""});
}

void check_same(const std::optional<DiskProfile>& found, const DiskProfile& expected) {
  REQUIRE(found.has_value());
  CHECK(found->rates() == expected.rates());
  CHECK(found->origin() == expected.origin());
}

/// Sets a variable of the environment while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

void replace(const fs::path& file, const std::string& from, const std::string& to) {
  std::string text = read_all(file);
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  std::ofstream(file, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("a profile comes back as it was, and for its own key only") {
  const TempDir dir;
  DiskCache cache(dir / "new/folder/disks.json");
  CHECK_FALSE(cache.find(some_key(), kNow));
  DiskProfile without_write = some_profile(2);
  {
    DiskRates rates = without_write.rates();
    rates.sequential_write = 0;
    without_write = DiskProfile(rates, {"io_uring", 128, false, kNow, "read-only \"disk\"", 0, ""});
  }
  cache.store(some_key(), some_profile()).or_throw();
  cache.store(some_key("8:1"), without_write).or_throw();
  check_same(cache.find(some_key(), kNow), some_profile());
  check_same(cache.find(some_key("8:1"), kNow), without_write);

  DiskKey other = some_key();
  other.kernel = "6.2.0";
  CHECK_FALSE(cache.find(other, kNow));
  other = some_key();
  other.engine = "pread";
  CHECK_FALSE(cache.find(other, kNow));
  other = some_key();
  other.file_system = "xfs";
  CHECK_FALSE(cache.find(other, kNow));
  other = some_key();
  other.depth = 32;
  CHECK_FALSE(cache.find(other, kNow));

  cache.store(some_key(), some_profile(3)).or_throw();  // replaces
  check_same(cache.find(some_key(), kNow), some_profile(3));
  check_same(cache.find(some_key("8:1"), kNow), without_write);
}

TEST_CASE("a profile is believed for 30 days, and not before its time") {
  using std::chrono::days;
  const TempDir dir;
  DiskCache cache(dir / "disks.json");
  cache.store(some_key(), some_profile()).or_throw();
  CHECK(cache.find(some_key(), kNow + days(30)));
  CHECK_FALSE(cache.find(some_key(), kNow + days(30) + std::chrono::seconds(1)));
  CHECK(cache.find(some_key(), kNow - std::chrono::hours(1)));
  CHECK_FALSE(cache.find(some_key(), kNow - days(2)));  // the clock was set back

  // What has aged goes with the next write.
  cache.store(some_key("8:1"), some_profile(1, kNow + days(31))).or_throw();
  CHECK(read_all(dir / "disks.json").find("254:0") == std::string::npos);
}

TEST_CASE("a cache cut off anywhere is empty or right, and is made anew") {
  const TempDir dir;
  const fs::path file = dir / "disks.json";
  DiskCache cache(file);
  cache.store(some_key("8:1"), some_profile(2)).or_throw();
  cache.store(some_key(), some_profile()).or_throw();
  const std::string whole = read_all(file);
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    CAPTURE(length);
    dir.write("disks.json", whole.substr(0, length));
    if (const auto found = cache.find(some_key(), kNow)) check_same(found, some_profile());
    if (length + 2 < whole.size()) CHECK_FALSE(cache.find(some_key(), kNow));
  }
  dir.write("disks.json", "\xff\xfe{{{");
  cache.store(some_key(), some_profile()).or_throw();
  check_same(cache.find(some_key(), kNow), some_profile());
}

TEST_CASE("another version, and an entry that is damaged, are as if they were not there") {
  const TempDir dir;
  const fs::path file = dir / "disks.json";
  DiskCache cache(file);
  cache.store(some_key("8:1"), some_profile(2)).or_throw();
  cache.store(some_key(), some_profile()).or_throw();
  const std::string whole = read_all(file);

  replace(file, "\"version\": 2", "\"version\": 1");
  CHECK_FALSE(cache.find(some_key(), kNow));
  CHECK_FALSE(cache.find(some_key("8:1"), kNow));

  // The entries have the same time, so the first of the file is that written first.
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"sequential_read\": ", "\"x\": "},
           {"\"sequential_read\": ", "\"sequential_read\": -"},
           {"\"depth\": 128", "\"depth\": \"deep\""},
           {"\"direct\": true", "\"direct\": 3"},
           {"\"buffer_bytes\": ", "\"buffer\": "},
           {"4096", "4095"}}) {
    CAPTURE(to);
    dir.write("disks.json", whole);
    replace(file, from, to);
    CHECK_FALSE(cache.find(some_key("8:1"), kNow));
    check_same(cache.find(some_key(), kNow), some_profile());
  }
}

TEST_CASE("the cache stays small: the oldest entries go") {
  const TempDir dir;
  DiskCache cache(dir / "disks.json");
  const auto disk = [](std::size_t i) { return some_key(std::to_string(i)); };
  for (std::size_t i = 0; i < DiskCache::kMaxEntries + 3; ++i)
    cache.store(disk(i), some_profile(1, kNow + std::chrono::seconds(i))).or_throw();
  for (std::size_t i = 0; i < DiskCache::kMaxEntries + 3; ++i) {
    CAPTURE(i);
    CHECK(cache.find(disk(i), kNow).has_value() == (i >= 3));
  }
}

TEST_CASE("a disk is measured once; where it cannot be remembered a warning says so") {
  const TempDir dir;
  DiskProbeOptions options;
  options.per_point = std::chrono::milliseconds(5);
  options.scratch_bytes = 16 << 20;
  options.buffer_bytes = 2 << 20;
  const fs::path file = dir / "cache/disks.json";
  // Points so short may be in doubt; what is not is remembered.
  auto first = find_disk_profile(dir.path(), options, nullptr, file).or_throw();
  for (int i = 0; i < 100 && !first.profile.origin().doubt.empty(); ++i) {
    CHECK(first.warning.find("in doubt and not remembered: ") != std::string::npos);
    CHECK_FALSE(fs::exists(file));
    first = find_disk_profile(dir.path(), options, nullptr, file).or_throw();
  }
  CHECK_FALSE(first.from_cache);
  CHECK(first.warning.empty());
  const auto second = find_disk_profile(dir.path(), options, nullptr, file).or_throw();
  CHECK(second.from_cache);
  check_same(second.profile, first.profile);
  options.buffer_bytes = 1 << 20;  // less in flight is no better
  CHECK(find_disk_profile(dir.path(), options, nullptr, file).or_throw().from_cache);
  options.buffer_bytes = 3 << 20;  // more is nearer to what the disk does
  CHECK_FALSE(find_disk_profile(dir.path(), options, nullptr, file).or_throw().from_cache);
  options.engine.depth = 16;  // another queue, another speed
  CHECK_FALSE(find_disk_profile(dir.path(), options, nullptr, file).or_throw().from_cache);

  dir.write("a_file", "");
  const auto measure_unremembered = [&] {
    return find_disk_profile(dir.path(), options, nullptr, dir / "a_file/disks.json").or_throw();
  };
  auto unremembered = measure_unremembered();
  for (int i = 0; i < 100 && !unremembered.profile.origin().doubt.empty(); ++i)
    unremembered = measure_unremembered();
  CHECK_FALSE(unremembered.from_cache);
  CHECK(unremembered.warning.find("cannot be remembered") != std::string::npos);
  CHECK(unremembered.warning.find("a_file") != std::string::npos);
  CHECK_FALSE(find_disk_profile(dir.path(), options, nullptr, {}).or_throw().from_cache);
}

TEST_CASE("figures of a bad moment are told from those of a disk") {
  DiskRates good;
  good.read_seconds = {6.1e-6, 10e-6, 26e-6, 110e-6, 430e-6};
  good.sequential_read = 2.4e9;
  good.sequential_write = 1.9e9;
  CHECK(good.doubt().empty());
  DiskRates slow_disk;  // one that turns
  slow_disk.read_seconds = {8e-3, 8e-3, 8.5e-3, 10e-3, 15e-3};
  slow_disk.sequential_read = 180e6;
  slow_disk.sequential_write = 150e6;
  CHECK(slow_disk.doubt().empty());
  DiskRates memory;  // tmpfs
  memory.read_seconds = {0.5e-6, 2e-6, 8e-6, 32e-6, 128e-6};
  memory.sequential_read = 9e9;
  memory.sequential_write = 3e9;
  CHECK(memory.doubt().empty());

  const auto doubt = [&](auto change) {
    DiskRates rates = good;
    change(rates);
    return rates.doubt();
  };
  CHECK(doubt([](DiskRates& r) { r.read_seconds.back() = 1.5; }) ==
        "a random read of 1 MiB took 1.5 s");
  CHECK(doubt([](DiskRates& r) { r.read_seconds.front() = 1e-8; }) ==
        "a random read of 4 KiB was faster than memory");
  CHECK(doubt([](DiskRates& r) { r.read_seconds.front() = 0.1; }) ==
        "a random read of 16 KiB was much faster than a smaller one");
  CHECK(doubt([](DiskRates& r) { r.sequential_read = 20e6; }).find("sequential reads are") == 0);
  CHECK(doubt([](DiskRates& r) { r.sequential_write = 1e6; }).find("writes are out") == 0);
  CHECK(doubt([](DiskRates& r) { r.sequential_write = 1e12; }).find("faster than memory") !=
        std::string::npos);
  CHECK(doubt([](DiskRates& r) { r.sequential_write = 0; }).empty());  // not measured
}

TEST_CASE("figures without those of writing are measured again next time") {
  const TempDir dir, cache;
  const fs::path table = dir.write("large.bin", "");
  fs::resize_file(table, 256 << 20);  // takes no space
  DiskProbeOptions options;
  options.per_point = std::chrono::milliseconds(5);
  options.buffer_bytes = 2 << 20;
  for (int i = 0; i < 2; ++i) {
    const test::FileSizeLimit limit(64 << 10);  // the cache's own file has room
    const auto found = find_disk_profile(table, options, nullptr, cache / "disks.json").or_throw();
    CHECK_FALSE(found.from_cache);
    CHECK(found.warning.find("not remembered") != std::string::npos);
    CHECK_FALSE(found.profile.origin().why_no_write.empty());
  }
  CHECK_FALSE(fs::exists(cache / "disks.json"));
}

TEST_CASE("the cache is in the user's cache folder") {
  {
    const Variable cache("XDG_CACHE_HOME", "/c");
    CHECK(default_disk_cache() == "/c/sluice/disks.json");
  }
  const Variable home("HOME", "/home/u");
  {
    const Variable cache("XDG_CACHE_HOME", nullptr);
    CHECK(default_disk_cache() == "/home/u/.cache/sluice/disks.json");
  }
  const Variable cache("XDG_CACHE_HOME", "relative");
  CHECK(default_disk_cache() == "/home/u/.cache/sluice/disks.json");
  const Variable nobody("HOME", nullptr);
  CHECK(default_disk_cache().empty());
}

TEST_CASE("a key names the disk of the place") {
  const TempDir dir;
  const DiskKey key = disk_key(dir.path(), "pread", 32).or_throw();
  dir.write("x", "x");
  CHECK(disk_key(dir / "x", "pread", 32).or_throw() == key);
  CHECK(key.disk.find(':') != std::string::npos);
  CHECK_FALSE(key.kernel.empty());
  CHECK_FALSE(disk_key("/proc", "pread", 32).or_throw() == key);
  CHECK_FALSE(disk_key(dir / "missing", "pread", 32).ok());
}
