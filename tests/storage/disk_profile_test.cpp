// The model of a disk over given figures, and the probe over engines of known speed.
#include "storage/io/disk_profile.h"
#include "storage/io/fault_engine.h"
#include "storage/io/read_probe.h"
#include "storage/io/write_probe.h"
#include "support/expect_error.h"
#include "support/file_size_limit.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <iterator>
#include <set>
#include <thread>

using namespace sluice;
using sluice::test::expect_error;
using sluice::test::TempDir;
namespace fs = std::filesystem;

namespace {

constexpr auto& kSizes = DiskRates::kRequestBytes;

DiskRates linear(double overhead_seconds, double bandwidth) {
  DiskRates rates;
  for (std::size_t i = 0; i < kSizes.size(); ++i)
    rates.read_seconds[i] = overhead_seconds + kSizes[i] / bandwidth;
  rates.sequential_read = rates.sequential_write = bandwidth;
  return rates;
}

/// Answers one request after the other, each `service` after the one before or after it came, and
/// touches no data. Keeps what was asked.
class MeteredEngine final : public IoEngine {
 public:
  MeteredEngine(Clock::duration service, std::vector<IoRequest>& asked)
      : service_(service), asked_(asked) {}

  std::string_view name() const override { return "metered"; }
  std::size_t depth() const override { return 64; }
  Result<FileSlot> attach_file(std::shared_ptr<const File>) override { return FileSlot{0}; }
  Result<BufferSlot> attach_buffer(std::shared_ptr<AlignedBuffer>) override {
    return BufferSlot{0};
  }
  Result<std::size_t> submit(std::span<const IoRequest> requests) override {
    for (const IoRequest& request : requests) {
      last_due_ = std::max(last_due_, Clock::now()) + service_;
      waiting_.push_back({request, last_due_});
      asked_.push_back(request);
    }
    return requests.size();
  }
  Result<std::size_t> reap(std::span<IoCompletion> out, Clock::time_point) override {
    if (waiting_.empty()) return std::size_t{0};
    std::this_thread::sleep_until(waiting_.front().due);
    std::size_t taken = 0;
    const auto now = Clock::now();
    while (taken < out.size() && !waiting_.empty() && waiting_.front().due <= now) {
      out[taken++] = {waiting_.front().request.tag, waiting_.front().request.length};
      waiting_.pop_front();
    }
    return taken;
  }
  std::size_t in_flight() const override { return waiting_.size(); }

 private:
  struct Waiting {
    IoRequest request;
    Clock::time_point due;
  };
  Clock::duration service_;
  std::vector<IoRequest>& asked_;
  std::deque<Waiting> waiting_;
  Clock::time_point last_due_;
};

std::size_t entries_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

DiskProbeOptions brief() {
  DiskProbeOptions options;
  options.per_point = std::chrono::milliseconds(10);
  options.scratch_bytes = 16 << 20;
  options.buffer_bytes = 4 << 20;
  return options;
}

std::shared_ptr<AlignedBuffer> make_buffer(std::size_t bytes) {
  return std::make_shared<AlignedBuffer>(AlignedBuffer::make(bytes, nullptr, "test").or_throw());
}

}  // namespace

TEST_CASE("a profile interpolates its table, and goes on at both ends") {
  DiskRates rates;
  rates.read_seconds = {6e-6, 10e-6, 26e-6, 110e-6, 430e-6};
  rates.sequential_read = 2.4e9;
  const DiskProfile disk(rates);
  for (std::size_t i = 0; i < kSizes.size(); ++i)
    CHECK(disk.seconds_for(kSizes[i]) == doctest::Approx(rates.read_seconds[i]));
  CHECK(disk.seconds_for(512) == 6e-6);  // a smaller read is no faster
  CHECK(disk.seconds_for(8 << 10) == doctest::Approx(6e-6 + 4e-6 / 3));
  CHECK(disk.seconds_for(40 << 10) == doctest::Approx(18e-6));
  CHECK(disk.seconds_for(4 << 20) == doctest::Approx(4 * 430e-6));
  CHECK(disk.describe().find("write not measured") != std::string::npos);
}

TEST_CASE("no request is faster than a smaller one, whatever the noise") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    const RandomKey key(seed);
    DiskRates rates = linear(0, 1e9);
    for (std::size_t i = 0; i < kSizes.size(); ++i)
      rates.read_seconds[i] *= 0.1 + 10 * key.uniform(i);
    const DiskProfile disk(rates);
    double last = 0, bytes = 100;
    while (bytes < 3e6) {
      const double seconds = disk.seconds_for(bytes);
      REQUIRE(seconds >= last);
      last = seconds;
      bytes *= 1.05;
    }
    CHECK(disk.request_overhead_seconds() >= 0);
    CHECK(disk.fitted_bandwidth() > 0);
  }
}

TEST_CASE("the fit finds the fixed cost of a request and the gap that is worth it") {
  for (const double overhead : {0.0, 1e-6, 5e-6, 8e-3}) {
    CAPTURE(overhead);
    const DiskProfile disk(linear(overhead, 2.5e9));
    CHECK(disk.request_overhead_seconds() == doctest::Approx(overhead).epsilon(1e-6));
    CHECK(disk.fitted_bandwidth() == doctest::Approx(2.5e9).epsilon(1e-6));
    const auto gap = static_cast<double>(disk.request_overhead_bytes());
    CHECK(std::abs(gap - overhead * 2.5e9) <= 1 + 1e-6 * gap);
    // What it means: reading the gap through costs as much as one more request.
    CHECK(gap / 2.5e9 == doctest::Approx(overhead).epsilon(1e-3));
  }
}

TEST_CASE("where size does not matter, a gap of any length is worth reading") {
  DiskRates rates = linear(0, 1e9);
  rates.read_seconds.fill(1e-4);
  const DiskProfile disk(rates);
  CHECK(disk.request_overhead_bytes() >= 1 << 20);
  CHECK(disk.request_overhead_seconds() == doctest::Approx(1e-4));
}

TEST_CASE("figures that cannot be are refused") {
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    DiskRates rates = linear(1e-6, 1e9);
    rates.read_seconds[2] = bad;
    CHECK(expect_error([&] { DiskProfile{rates}; }).code() == ErrorCode::kInternal);
    rates = linear(1e-6, 1e9);
    rates.sequential_read = bad;
    CHECK_FALSE(rates.plausible());
    rates = linear(1e-6, 1e9);
    rates.sequential_write = bad;
    CHECK(rates.plausible() == (bad == 0));
  }
}

TEST_CASE("the read probe measures a disk of known speed with its queue full") {
  const TempDir dir;
  const fs::path path = dir.write("f.bin", "x");
  using Order = ReadProbe::Order;
  for (const Order order : {Order::kRandom, Order::kSequential}) {
    std::vector<IoRequest> asked;
    constexpr std::chrono::microseconds kService{500};
    ReadProbe probe(std::make_unique<MeteredEngine>(kService, asked),
                    std::chrono::milliseconds(200));
    auto file = std::make_shared<const File>(File::open_read(path).or_throw());
    probe.attach(file, make_buffer(1 << 20), 1 << 30).or_throw();
    const double seconds = probe.measure(32 << 10, order).or_throw();
    CHECK(seconds > 450e-6);
    CHECK(seconds < 750e-6);  // 32 buffers in flight: 16 ms until the queue would run dry

    std::set<std::uint64_t> places;
    std::size_t in_order = 0;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      REQUIRE(asked[i].length == 32 << 10);
      REQUIRE(asked[i].file_offset % (32 << 10) == 0);
      REQUIRE(asked[i].file_offset + asked[i].length <= 1 << 30);
      REQUIRE(asked[i].buffer_offset + asked[i].length <= 1 << 20);
      places.insert(asked[i].file_offset);
      if (i > 0 && asked[i].file_offset == asked[i - 1].file_offset + asked[i].length) ++in_order;
    }
    REQUIRE(asked.size() > 100);
    CHECK(places.size() > asked.size() * 9 / 10);
    if (order == Order::kRandom) CHECK(in_order < asked.size() / 10);
    if (order == Order::kSequential) CHECK(in_order + 2 >= asked.size());
  }
}

TEST_CASE("the read probe takes refusals and short reads in its stride, and a bad disk's word") {
  const TempDir dir;
  const fs::path path = dir / "f.bin";
  {
    File file = File::create(path).or_throw();
    file.write_at(0, std::vector<std::byte>(1 << 20, std::byte{7})).or_throw();
    file.sync().or_throw();
  }
  const auto measure = [&](const FaultPlan& plan) {
    ReadProbe probe(make_fault_engine(make_io_engine({}).or_throw().engine, plan),
                    std::chrono::milliseconds(20));
    probe
        .attach(std::make_shared<const File>(File::open_read(path, Direct::kAuto).or_throw()),
                make_buffer(1 << 20),
                1 << 20)
        .or_throw();
    return probe.measure(4096, ReadProbe::Order::kRandom);
  };
  FaultPlan annoying;
  annoying.eagain = annoying.eintr = annoying.short_read = annoying.refuse = 0.2;
  const auto measured = measure(annoying);
  REQUIRE(measured.ok());
  CHECK(measured.value() > 0);

  FaultPlan broken;
  broken.eio = 0.5;
  const auto failed = measure(broken);
  REQUIRE_FALSE(failed.ok());
  CHECK(failed.error().code() == ErrorCode::kIo);
  CHECK(failed.error().place().file == path.string());
}

TEST_CASE("measuring gives figures, charges its buffer and leaves nothing") {
  for (const IoEngineKind kind : {IoEngineKind::kAuto, IoEngineKind::kPread}) {
    const TempDir dir;
    dir.write("small.bin", "not large enough to be read");
    for (const fs::path& place : {dir.path(), dir / "small.bin"}) {
      MemoryLedger ledger;
      DiskProbeOptions options = brief();
      options.engine.kind = kind;
      const auto measured = DiskProfile::measure(place, options, &ledger);
      REQUIRE(measured.ok());
      const DiskProfile& disk = measured.value();
      CHECK(disk.rates().plausible());
      CHECK(disk.rates().sequential_write > 0);
      CHECK(disk.origin().depth == options.engine.depth);
      if (kind == IoEngineKind::kPread) CHECK(disk.origin().engine == "pread");
      CHECK(ledger.peak() == options.buffer_bytes);
      CHECK(ledger.used() == 0);
      CHECK(entries_in(dir.path()) == 1);
      CHECK(test::read_all(dir / "small.bin") == "not large enough to be read");
    }
  }
}

TEST_CASE("a large file is read itself and left as it is, even where nothing can be written") {
  const TempDir dir;
  const fs::path path = dir.write("large.bin", "");
  fs::resize_file(path, 256 << 20);  // takes no space
  const auto changed = fs::last_write_time(path);
  {
    const test::FileSizeLimit limit(1 << 20);
    auto measured = DiskProfile::measure(path, brief(), nullptr);
    REQUIRE(measured.ok());
    CHECK(measured.value().rates().sequential_write == 0);
    CHECK(measured.value().origin().why_no_write.find("cannot write") != std::string::npos);

    // Without a file to read there is nothing to be measured.
    const auto nothing = DiskProfile::measure(dir.path(), brief(), nullptr);
    REQUIRE_FALSE(nothing.ok());
    CHECK(nothing.error().code() == ErrorCode::kResource);
  }
  CHECK(DiskProfile::measure(path, brief(), nullptr).or_throw().rates().sequential_write > 0);
  CHECK(fs::last_write_time(path) == changed);
  CHECK(entries_in(dir.path()) == 1);
}

TEST_CASE("measuring says what is wrong with its place and its budget") {
  const TempDir dir;
  const auto missing = DiskProfile::measure(dir / "nowhere", brief(), nullptr);
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code() == ErrorCode::kData);
  CHECK(missing.error().place().file == (dir / "nowhere").string());

  MemoryLedger small(1 << 20);
  const auto refused = DiskProfile::measure(dir.path(), brief(), &small);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code() == ErrorCode::kResource);
  CHECK(refused.error().message().find("disk probe") != std::string::npos);
  CHECK(entries_in(dir.path()) == 0);
}

TEST_CASE("a scratch file holds what was written, differs page by page, and has no name") {
  const TempDir dir;
  auto buffer = make_buffer(4 << 20);
  // No time at all: still enough to read from.
  auto written = write_scratch(dir.path(), 64 << 20, Clock::duration::zero(), buffer->bytes());
  REQUIRE(written.ok());
  CHECK(entries_in(dir.path()) == 0);
  CHECK(written.value().bytes >= 16 << 20);
  CHECK(written.value().bytes < 64 << 20);
  CHECK(written.value().bytes_per_second > 0);
  std::set<std::uint64_t> stamps;
  const auto page = make_buffer(kPageBytes);
  for (std::uint64_t at = 0; at < written.value().bytes; at += kPageBytes) {
    written.value().file->read_at(at, page->bytes()).or_throw();
    std::uint64_t stamp = 0;
    std::memcpy(&stamp, page->data(), sizeof stamp);
    stamps.insert(stamp);
  }
  CHECK(stamps.size() == written.value().bytes / kPageBytes);
}
