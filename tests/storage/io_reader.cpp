// BlockReader's own promises: errors that name the place, stalls that end, damage that is found,
// requests refused.
#include "io_support.h"
#include "storage/io/block_reader.h"
#include "support/temp_dir.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace sluice::test {
namespace {

constexpr std::size_t kReaderPages = 64;

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

struct Fixture {
  TempDir dir;
  KnownFile file{dir / "f.bin", kReaderPages* kPageBytes};
  std::shared_ptr<AlignedBuffer> buffer = make_buffer(kReaderPages * kPageBytes);

  /// The whole file in reads of `pages` pages.
  static std::vector<BlockRead> sweep(std::uint32_t pages = 1) {
    std::vector<BlockRead> reads;
    for (std::uint64_t at = 0; at < kReaderPages * kPageBytes; at += pages * kPageBytes) {
      reads.push_back(
          {FileSlot{0}, BufferSlot{0}, static_cast<std::uint32_t>(pages * kPageBytes), at, at});
    }
    return reads;
  }

  Result<void> read(BlockReader& reader, std::span<const BlockRead> reads) {
    reader.attach(file.open(), file.page_sums).or_throw();
    reader.attach(buffer).or_throw();
    return reader.read(reads);
  }

  Result<void> read_with(const EngineFactory& factory,
                         const FaultPlan& plan,
                         BlockReaderOptions options = {}) {
    BlockReader reader(make_fault_engine(factory.make(), plan), options);
    return read(reader, sweep(4));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a reader fills the queue, verifies and counts") {
  for (const EngineFactory& factory : engine_factories()) {
    INFO(factory.name);
    BlockReader reader(factory.make());
    std::memset(buffer->data(), 0, buffer->size());
    REQUIRE(read(reader, sweep()).ok());
    CHECK(std::ranges::equal(buffer->bytes(), file.bytes));
    CHECK(reader.read({}).ok());
    const IoStats& stats = reader.stats();
    CHECK(stats.requests == kReaderPages);
    CHECK(stats.bytes == kReaderPages * kPageBytes);
    CHECK(stats.retries == 0);
    CHECK(stats.busy_ns > 0);
    CHECK(stats.latency.quantile(0.5) <= stats.latency.quantile(0.99));
    CHECK(stats.latency.quantile(0.5).count() > 0);
    CHECK(stats.latency.requests() == stats.requests);
  }
}

TEST_CASE_FIXTURE(
    Fixture,
    "a stalled disk ends in an error soon after the timeout, and the reader stays broken") {
  FaultPlan plan;
  plan.stall = 0.2;
  BlockReaderOptions options;
  options.timeout = std::chrono::milliseconds(200);
  for (const EngineFactory& factory : plain_factories()) {
    INFO(factory.name);
    const auto begin = Clock::now();
    {
      BlockReader reader(make_fault_engine(factory.make(), plan), options);
      const auto result = read(reader, sweep());
      REQUIRE_FALSE(result.ok());
      CHECK(result.error().code() == ErrorCode::kIo);
      CHECK(contains(result.error().message(),
                     "the disk has stalled: no read has completed for 200 ms"));
      CHECK(result.error().place().file == file.path.string());
      CHECK(contains(reader.read({}).error().message(), "broken"));
    }
    CHECK(Clock::now() - begin < std::chrono::seconds(20));
  }
}

TEST_CASE_FIXTURE(Fixture, "an engine that takes nothing counts as stalled") {
  FaultPlan plan;
  plan.refuse = 1;
  BlockReaderOptions options;
  options.timeout = std::chrono::milliseconds(100);
  const auto result = read_with(plain_factories().back(), plan, options);
  REQUIRE_FALSE(result.ok());
  CHECK(contains(result.error().message(), "stalled"));
}

TEST_CASE_FIXTURE(Fixture,
                  "a page that is always wrong is named; one that was wrong once is read again") {
  for (const EngineFactory& factory : plain_factories()) {
    INFO(factory.name);
    FaultPlan plan;
    plan.bad_page = 37;
    const auto result = read_with(factory, plan);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code() == ErrorCode::kData);
    CHECK(result.error().message() == "the page does not match its checksum");
    CHECK(result.error().place().describe() ==
          file.path.string() + " at byte " + std::to_string(37 * kPageBytes));
    CHECK(contains(result.error().hint(), "sluice-prep verify"));

    FaultPlan once;
    once.corrupt = 0.3;
    std::memset(buffer->data(), 0, buffer->size());
    BlockReaderOptions patient;
    patient.max_retries = 50;
    REQUIRE(read_with(factory, once, patient).ok());
    CHECK(std::ranges::equal(buffer->bytes(), file.bytes));
  }
}

TEST_CASE_FIXTURE(Fixture, "EIO names the file and the page, after the retries it is allowed") {
  for (const EngineFactory& factory : plain_factories()) {
    INFO(factory.name);
    FaultPlan plan;
    plan.eio_page = 10;
    BlockReader reader(make_fault_engine(factory.make(), plan));
    const auto result = read(reader, sweep());
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code() == ErrorCode::kIo);
    CHECK(result.error().message() == "cannot read 4096 bytes: Input/output error");
    CHECK(result.error().place().offset == 10 * kPageBytes);
    CHECK(contains(result.error().hint(), "dmesg"));
    CHECK(reader.stats().retries == 4);
    // Not a stall: the reader is as good as before.
    const std::vector<BlockRead> other{{FileSlot{0}, BufferSlot{0}, kPageBytes, 0, 0}};
    CHECK(reader.read(other).ok());
  }
}

TEST_CASE_FIXTURE(Fixture, "short reads are continued, from whole pages") {
  for (const EngineFactory& factory : plain_factories()) {
    INFO(factory.name);
    FaultPlan plan;
    plan.short_read = 0.9;
    BlockReaderOptions patient;
    patient.max_retries = 200;
    std::memset(buffer->data(), 0, buffer->size());
    BlockReader reader(make_fault_engine(factory.make(), plan), patient);
    REQUIRE(read(reader, sweep(16)).ok());
    CHECK(reader.stats().short_reads > 0);
    CHECK(std::ranges::equal(buffer->bytes(), file.bytes));
  }
}

TEST_CASE_FIXTURE(
    Fixture, "a file cut off under the reader is truncated, one of odd size is refused at once") {
  for (const EngineFactory& factory : plain_factories()) {
    if (factory.name == "memory") continue;  // holds its own copy
    INFO(factory.name);
    const KnownFile victim(dir / "victim", 8 * kPageBytes);
    BlockReader reader(factory.make());
    reader.attach(victim.open(), victim.page_sums).or_throw();
    reader.attach(buffer).or_throw();
    std::filesystem::resize_file(victim.path, 5 * kPageBytes);
    const std::vector<BlockRead> reads{{FileSlot{0}, BufferSlot{0}, 8 * kPageBytes, 0, 0}};
    const auto result = reader.read(reads);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code() == ErrorCode::kData);
    CHECK(contains(result.error().message(),
                   "the file is truncated: it had 32768 bytes when it was opened"));
    CHECK(result.error().place().offset == 5 * kPageBytes);

    std::filesystem::resize_file(victim.path, 5 * kPageBytes + 100);
    const auto odd = reader.attach(victim.open());
    REQUIRE_FALSE(odd.ok());
    CHECK(odd.error().code() == ErrorCode::kData);
    CHECK(odd.error().message() ==
          "the file has 20580 bytes, which is not a whole number of 4096-byte pages");
    std::filesystem::resize_file(victim.path, 5 * kPageBytes);
    const auto sums = reader.attach(victim.open(), victim.page_sums);
    REQUIRE_FALSE(sums.ok());
    CHECK(sums.error().message() == "the file has 5 pages, but 8 checksums belong to it");
  }
}

TEST_CASE_FIXTURE(Fixture, "requests that break the contract are refused before anything is read") {
  BlockReader reader(plain_factories().front().make());
  reader.attach(file.open()).or_throw();
  reader.attach(buffer).or_throw();
  constexpr std::uint64_t kEnd = kReaderPages * kPageBytes;
  const BlockRead good{FileSlot{0}, BufferSlot{0}, kPageBytes, 0, 0};
  const std::vector<std::pair<BlockRead, const char*>> bad{
      {{FileSlot{1}, BufferSlot{0}, kPageBytes, 0, 0}, "not attached"},
      {{FileSlot{0}, BufferSlot{1}, kPageBytes, 0, 0}, "not attached"},
      {{FileSlot{0}, BufferSlot{0}, 0, 0, 0}, "whole pages"},
      {{FileSlot{0}, BufferSlot{0}, 100, 0, 0}, "whole pages"},
      {{FileSlot{0}, BufferSlot{0}, kPageBytes, 512, 0}, "whole pages"},
      {{FileSlot{0}, BufferSlot{0}, kPageBytes, 0, 512}, "whole pages"},
      {{FileSlot{0}, BufferSlot{0}, kPageBytes, kEnd, 0}, "end of the file"},
      {{FileSlot{0}, BufferSlot{0}, kPageBytes, ~std::uint64_t{0} - 4095, 0}, "end of the file"},
      {{FileSlot{0}, BufferSlot{0}, 2 * kPageBytes, 0, kEnd - kPageBytes}, "buffer holds"}};
  for (const auto& [request, problem] : bad) {
    INFO(problem);
    const std::vector<BlockRead> reads{good, request};
    const auto result = reader.read(reads);
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().code() == ErrorCode::kInternal);
    CHECK(contains(result.error().message(), problem));
  }
  CHECK(reader.stats().requests == 0);
}

}  // namespace sluice::test
