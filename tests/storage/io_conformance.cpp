// The contract of IoEngine, tested on every implementation.
#include "io_support.h"
#include "support/temp_dir.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <thread>

namespace sluice::test {
namespace {

constexpr std::size_t kPages = 64;

Clock::time_point soon() {
  return Clock::now() + std::chrono::seconds(20);
}

/// Reaps until nothing is in flight; tag -> result.
std::map<std::uint64_t, std::int64_t> reap_all(IoEngine& engine) {
  std::map<std::uint64_t, std::int64_t> results;
  std::vector<IoCompletion> out(
      7);  // less than what arrives, so that reaping in parts is tested too
  while (engine.in_flight() > 0) {
    const std::size_t reaped = engine.reap(out, soon()).or_throw();
    REQUIRE(reaped > 0);
    for (const IoCompletion& completion : std::span(out).first(reaped)) {
      CHECK(results.emplace(completion.tag, completion.result).second);
    }
  }
  return results;
}

struct Attached {
  std::unique_ptr<IoEngine> engine;
  std::shared_ptr<AlignedBuffer> buffer;
  FileSlot file;
  BufferSlot slot;

  Attached(const EngineFactory& factory, std::shared_ptr<const File> from)
      : engine(factory.make()),
        buffer(make_buffer(kPages * kPageBytes)),
        file(engine->attach_file(std::move(from)).or_throw()),
        slot(engine->attach_buffer(buffer).or_throw()) {}

  IoRequest page(std::uint64_t index) const {
    return {file, slot, kPageBytes, index * kPageBytes, index * kPageBytes, 1000 + index};
  }
};

std::vector<IoRequest> all_pages(const Attached& attached) {
  std::vector<IoRequest> requests;
  for (std::uint64_t i = 0; i < kPages; ++i) requests.push_back(attached.page(i));
  return requests;
}

/// Runs `test` on every engine, direct and buffered.
void on_every_engine(const KnownFile& file, const std::function<void(Attached&)>& test) {
  for (const Direct direct : {Direct::kAuto, Direct::kOff}) {
    for (const EngineFactory& factory : engine_factories()) {
      INFO(factory.name, direct == Direct::kOff ? ", buffered" : ", direct");
      Attached attached(factory, file.open(direct));
      test(attached);
    }
  }
}

}  // namespace

TEST_CASE("engines read the right bytes and never take more than their depth") {
  const TempDir dir;
  const KnownFile file(dir / "f", kPages * kPageBytes);
  on_every_engine(file, [&](Attached& attached) {
    IoEngine& engine = *attached.engine;
    CHECK(engine.depth() == 32);
    const std::vector<IoRequest> requests = all_pages(attached);
    std::size_t done = 0;
    while (done < requests.size()) {
      const std::size_t accepted = engine.submit(std::span(requests).subspan(done)).or_throw();
      REQUIRE(accepted > 0);
      CHECK(engine.in_flight() == accepted);
      CHECK(accepted <= engine.depth());
      if (accepted == engine.depth()) CHECK(engine.submit(requests).or_throw() == 0);
      const auto results = reap_all(engine);
      CHECK(results.size() == accepted);
      for (std::size_t i = done; i < done + accepted; ++i)
        CHECK(results.at(requests[i].tag) == kPageBytes);
      done += accepted;
    }
    CHECK(std::ranges::equal(attached.buffer->bytes(), file.bytes));
  });
}

TEST_CASE("engines report the end of the file as a short read, then as nothing") {
  const TempDir dir;
  constexpr std::size_t kTail = 1000;
  const KnownFile file(dir / "f", 3 * kPageBytes + kTail);
  on_every_engine(file, [&](Attached& attached) {
    const std::vector<IoRequest> requests{
        {attached.file, attached.slot, 4 * kPageBytes, 0, 0, 1},
        {attached.file, attached.slot, kPageBytes, 3 * kPageBytes, 4 * kPageBytes, 2},
        {attached.file, attached.slot, kPageBytes, 8 * kPageBytes, 5 * kPageBytes, 3}};
    REQUIRE(attached.engine->submit(requests).or_throw() == 3);
    auto results = reap_all(*attached.engine);
    CHECK(results[1] == 3 * kPageBytes + kTail);
    CHECK(results[2] == kTail);
    CHECK(results[3] == 0);
    CHECK(std::memcmp(attached.buffer->data(), file.bytes.data(), file.bytes.size()) == 0);
  });
}

TEST_CASE("reaping nothing returns at once, and a passed deadline is no error") {
  const TempDir dir;
  const KnownFile file(dir / "f", kPages * kPageBytes);
  on_every_engine(file, [&](Attached& attached) {
    std::vector<IoCompletion> out(4);
    const auto begin = Clock::now();
    CHECK(attached.engine->reap(out, begin + std::chrono::seconds(60)).or_throw() == 0);
    CHECK(Clock::now() - begin < std::chrono::seconds(20));
    const IoRequest request = attached.page(5);
    REQUIRE(attached.engine->submit({&request, 1}).or_throw() == 1);
    std::size_t reaped = 0;
    while (reaped == 0) reaped = attached.engine->reap(out, Clock::now()).or_throw();
    CHECK(reaped == 1);
    CHECK(out[0].tag == request.tag);
  });
}

TEST_CASE("an engine destroyed with requests in flight gives its buffers back and does not hang") {
  const TempDir dir;
  const KnownFile file(dir / "f", kPages * kPageBytes);
  on_every_engine(file, [&](Attached& attached) {
    CHECK(attached.engine->submit(all_pages(attached)).or_throw() > 0);
    const auto begin = Clock::now();
    attached.engine.reset();
    CHECK(Clock::now() - begin < std::chrono::seconds(20));
    CHECK(attached.buffer.use_count() == 1);
  });
}

TEST_CASE("an engine changes threads when nothing is in flight") {
  const TempDir dir;
  const KnownFile file(dir / "f", kPages * kPageBytes);
  on_every_engine(file, [&](Attached& attached) {
    for (int round = 0; round < 3; ++round) {
      std::memset(attached.buffer->data(), 0, attached.buffer->size());
      std::thread([&] {
        const std::vector<IoRequest> requests = all_pages(attached);
        for (std::size_t done = 0; done < requests.size();) {
          done += attached.engine->submit(std::span(requests).subspan(done)).or_throw();
          reap_all(*attached.engine);
        }
      }).join();
      CHECK(std::ranges::equal(attached.buffer->bytes(), file.bytes));
    }
  });
}

// Under ThreadSanitizer: a ring often lies where the one before it was, and nothing here puts one
// thread's ring before the other's but the kernel.
TEST_CASE("engines of threads that know nothing of each other follow one another") {
  const TempDir dir;
  const KnownFile file(dir / "f", kPages * kPageBytes);
  for (const EngineFactory& factory : engine_factories()) {
    std::atomic<int> turn = 0;
    std::atomic<int> right = 0;
    const auto read_all = [&](int number) {
      while (turn.load(std::memory_order_relaxed) != number) std::this_thread::yield();
      {
        Attached attached(factory, file.open());
        std::vector<IoCompletion> out(kPages);
        const std::vector<IoRequest> requests = all_pages(attached);
        for (std::size_t done = 0, reaped = 0; reaped < requests.size();) {
          done += attached.engine->submit(std::span(requests).subspan(done)).or_throw();
          reaped += attached.engine->reap(out, soon()).or_throw();
        }
        if (std::ranges::equal(attached.buffer->bytes(), file.bytes))
          right.fetch_add(1, std::memory_order_relaxed);
      }
      turn.store(number + 1, std::memory_order_relaxed);
    };
    std::vector<std::jthread> threads;
    for (int number = 0; number < 6; ++number) threads.emplace_back(read_all, number);
    threads.clear();
    CHECK(right == 6);
  }
}

TEST_CASE("many files and buffers, more than the kernel's tables hold") {
  const TempDir dir;
  const KnownFile file(dir / "f", 4 * kPageBytes);
  for (const EngineFactory& factory : engine_factories()) {
    INFO(factory.name);
    const auto engine = factory.make();
    const auto opened = file.open();
    std::vector<std::shared_ptr<AlignedBuffer>> buffers;
    for (std::uint64_t i = 0; i < 300; ++i) {
      buffers.push_back(make_buffer(kPageBytes));
      const FileSlot from = engine->attach_file(opened).or_throw();
      const BufferSlot to = engine->attach_buffer(buffers.back()).or_throw();
      const IoRequest request{from, to, kPageBytes, i % 4 * kPageBytes, 0, i};
      REQUIRE(engine->submit({&request, 1}).or_throw() == 1);
      CHECK(reap_all(*engine).at(i) == kPageBytes);
      CHECK(std::memcmp(
                buffers.back()->data(), file.bytes.data() + i % 4 * kPageBytes, kPageBytes) == 0);
    }
  }
}

}  // namespace sluice::test
