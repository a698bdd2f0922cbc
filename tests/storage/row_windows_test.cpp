// RowWindows: windows of one, of few, of many mini-batches and of all, over caches of every size:
// the bits of rows in memory, over random streams of calls. SLUICE_TEST_SEED=N draws the streams of
// an earlier run again.
#include "storage/embedding/row_windows.h"

#include "embedding_support.h"
#include "storage/embedding/table_rows.h"
#include "support/expect_error.h"
#include "support/sanitized.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <random>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint32_t kStreamDim = 20;
constexpr std::uint64_t kMostIds = 40;  // of a mini-batch

std::uint64_t windows_seed() {
  const char* text = std::getenv("SLUICE_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
}

TableRowsOptions stream_options(std::uint64_t rows, Placement placement) {
  TableRowsOptions options;
  options.rows = rows;
  options.dim = kStreamDim;
  options.initial.kind = InitialRows::Kind::kUniform;
  options.initial.scale = 0.5;
  options.initial.seed = 3;
  options.optimizer = builtin_sparse_optimizers().make("adagrad", "");
  options.rate = 0.1;
  options.placement = placement;
  return options;
}

std::uint64_t cache_of(std::uint64_t slots, std::uint64_t rows) {
  return WindowCache::bytes_of(slots, RowLayout::make(rows, kStreamDim, kStreamDim));
}

// Mini-batches by number, some empty, some with few rows again and again.
class Batches {
 public:
  Batches(RandomKey key, std::uint64_t rows) : key_(key), rows_(rows) {}

  std::vector<std::uint64_t> ids(std::uint64_t step) const {
    const RandomKey key = key_.with(step);
    const std::uint64_t count = key.below(8, 0) == 0 ? 0 : 1 + key.below(kMostIds, 1);
    const bool hubs = key.below(3, 2) == 0;
    return random_ids(key.with("ids"), count, hubs ? std::min<std::uint64_t>(rows_, 25) : rows_);
  }
  std::vector<float> gradients(std::uint64_t step) const {
    return random_gradients(key_.with(step).with("g"), ids(step).size() * kStreamDim);
  }
  void set_rows(std::uint64_t rows) { rows_ = rows; }

 private:
  RandomKey key_;
  std::uint64_t rows_;
};

// A table on disk and one in memory, through the same steps; what else is done to the one on disk
// is drawn.
class RowStream {
 public:
  RowStream(RandomKey key, std::uint64_t rows, std::uint64_t slots, std::uint64_t window)
      : key_(key),
        batches_(key.with("batches"), rows),
        window_(window),
        memory_(stream_options(rows, Placement::kMemory)),
        disk_(stream_options(rows, Placement::kDisk)) {
    disk_.set_cache(cache_of(slots, rows));
    disk_.set_window(window);
    memory_.open(dir_ / "memory", 0);
    disk_.open(dir_ / "disk", 0);
  }

  void run(std::uint64_t steps) {
    for (std::uint64_t step = 0; step < steps; ++step) {
      announce(step);
      take(step);
      switch (draw(12)) {
        case 0:
          same_rows();
          break;  // an evaluation reads around the windows
        case 1:
          commit();
          break;
        case 2:
          forget(step);
          break;  // what was announced is announced anew
        case 3:
          if (draw(4) == 0) grow(step);
          break;
        default:
          break;
      }
    }
    disk_.forget();
    commit();
    disk_.close();
    disk_.open(dir_ / "disk", committed_);
    same_rows();
  }

 private:
  std::uint64_t draw(std::uint64_t below) { return key_.below(below, counter_++); }

  // As a run does: the first time as many as are wanted, then a few at a time.
  void announce(std::uint64_t step) {
    for (std::uint64_t few = step == 0 ? 2 * window_ : 2;
         announced_ <= step || (disk_.wants_more() && few > 0);
         --few) {
      disk_.expect(batches_.ids(announced_++));
      CHECK(announced_ - step <= 2 * window_);
    }
  }

  void take(std::uint64_t step) {
    const std::vector<std::uint64_t> ids = batches_.ids(step);
    std::vector<float> of_disk(ids.size() * kStreamDim), of_memory(of_disk.size());
    disk_.begin();
    disk_.gather(ids, of_disk);
    memory_.gather(ids, of_memory);
    REQUIRE(same_bits(of_disk, of_memory));
    const std::vector<float> gradients = batches_.gradients(step);
    disk_.update(ids, gradients);
    memory_.update(ids, gradients);
  }

  void same_rows() {
    std::vector<float> of_disk(disk_.rows() * kStreamDim), of_memory(of_disk.size());
    disk_.read_range(0, of_disk);
    memory_.read_range(0, of_memory);
    REQUIRE(same_bits(of_disk, of_memory));
  }

  void commit() {
    committed_ = disk_.commit();
    disk_.keep(std::span(&committed_, 1));
  }

  void forget(std::uint64_t step) {
    disk_.forget();
    announced_ = step + 1;
  }

  void grow(std::uint64_t step) {
    forget(step);
    const std::uint64_t more = memory_.rows() + draw(100);
    memory_.grow(more);
    disk_.grow(more);
    batches_.set_rows(more);
  }

  TempDir dir_;
  RandomKey key_;
  std::uint64_t counter_ = 0;
  Batches batches_;
  std::uint64_t window_;
  TableRows memory_, disk_;
  std::uint64_t announced_ = 0;  // mini-batches before this one
  std::uint64_t committed_ = 0;
};

}  // namespace

TEST_CASE("windows of any number of mini-batches, over any cache, give the bits of memory") {
  const std::uint64_t seed = windows_seed();
  CAPTURE(seed);
  constexpr std::uint64_t kRows = 700;
  // The least cache, one of some mini-batches, of most rows, of all.
  for (const std::uint64_t slots : {2 * kMostIds, 5 * kMostIds, std::uint64_t{600}, kRows}) {
    for (const std::uint64_t window : {1u, 2u, 6u, 1000u}) {
      CAPTURE(slots);
      CAPTURE(window);
      RowStream(RandomKey(seed).with(slots).with(window), kRows, slots, window)
          .run(sanitized(100, 40));
    }
  }
}

TEST_CASE("what many mini-batches ask for is moved once for all of them") {
  const TempDir dir;
  constexpr std::uint64_t kRows = 6000;
  std::vector<std::uint64_t> written, read;
  for (const std::uint64_t window : {1u, 2u, 8u}) {
    TableRows disk(stream_options(kRows, Placement::kDisk));
    disk.set_cache(cache_of(kRows / 4, kRows));
    disk.set_window(window);
    disk.open(dir / std::to_string(window), 0);
    constexpr std::uint64_t kSteps = 160;
    for (std::uint64_t step = 0, announced = 0; step < kSteps; ++step) {
      if (step == kSteps / 2) (void)disk.take_moved();  // most rows were touched by now
      const auto ids = [](std::uint64_t of) { return random_ids(RandomKey(of), 80, kRows); };
      while (announced <= step || disk.wants_more()) disk.expect(ids(announced++));
      disk.begin();
      disk.update(ids(step), random_gradients(RandomKey(step), std::size_t{80} * kStreamDim));
    }
    const TableRows::Moved moved = disk.take_moved();
    written.push_back(moved.written);
    read.push_back(moved.read);
  }
  // A sweep reads most of the table, whatever it is for; eight mini-batches change four times as
  // many groups as one does.
  CHECK(read[1] < read[0] * 3 / 4);
  CHECK(read[2] < read[0] / 4);
  CHECK(written[2] < written[0] / 2);
}

TEST_CASE("a mini-batch that was not announced cannot begin, and none is after forget()") {
  const TempDir dir;
  TableRows disk(stream_options(500, Placement::kDisk));
  CHECK_FALSE(disk.wants_more());  // not open
  disk.set_cache(cache_of(200, 500));
  disk.set_window(3);
  disk.open(dir / "t", 0);
  CHECK(expect_error([&] { disk.begin(); }).code() == ErrorCode::kInternal);
  const std::vector<std::uint64_t> one{1}, two{2};
  CHECK(disk.wants_more());
  disk.expect(one);
  disk.expect(two);
  disk.begin();
  std::vector<float> row(kStreamDim);
  disk.gather(one, row);
  disk.forget();
  CHECK(expect_error([&] { disk.begin(); }).code() == ErrorCode::kInternal);
  disk.expect(two);
  disk.begin();
  disk.gather(two, row);
  CHECK(expect_error([&] { disk.begin(); }).code() == ErrorCode::kInternal);
}

TEST_CASE("a window that is collected is of as many mini-batches as half of the cache holds") {
  const TempDir dir;
  TableRows disk(stream_options(4000, Placement::kDisk));
  disk.set_cache(cache_of(220, 4000));
  disk.set_window(100);
  disk.open(dir / "t", 0);
  const std::uint64_t half = RowWindows::rows_of(220, 4000);
  CHECK(half <= 110);
  CHECK(half >= 100);
  // Ten rows each, none of them twice: two windows of `half` are admitted, a third is collected,
  // and the next mini-batch ends that.
  std::uint64_t announced = 0;
  const auto ids = [](std::uint64_t batch) {
    std::vector<std::uint64_t> rows(10);
    for (std::uint64_t i = 0; i < 10; ++i) rows[i] = batch * 10 + i;
    return rows;
  };
  for (; disk.wants_more(); ++announced) disk.expect(ids(announced));
  CHECK(announced == 3 * (half / 10) + 1);
  // Windows move on: nothing more is wanted before the first is over.
  for (std::uint64_t step = 0; step < half / 10; ++step) {
    disk.begin();
    CHECK_FALSE(disk.wants_more());
  }
  disk.begin();
  CHECK(disk.wants_more());
}

TEST_CASE("windows whose rows all recur move nothing after the first") {
  const TempDir dir;
  TableRows disk(stream_options(4000, Placement::kDisk));
  disk.set_cache(cache_of(400, 4000));
  disk.set_window(4);
  disk.open(dir / "t", 0);
  std::vector<std::uint64_t> ids(100);
  for (std::uint64_t i = 0; i < ids.size(); ++i) ids[i] = 37 * i;
  for (std::uint64_t step = 0, announced = 0; step < 40; ++step) {
    while (announced <= step || disk.wants_more()) {
      disk.expect(ids);
      ++announced;
    }
    disk.begin();
    disk.update(ids, random_gradients(RandomKey(step), ids.size() * kStreamDim));
  }
  const TableRows::Moved moved = disk.take_moved();
  CHECK(moved.read == 0);  // first values are not on disk
  CHECK(moved.written == 0);
}

TEST_CASE("a disk that fails within a window ends the table, and what was committed stays") {
  constexpr std::uint64_t kIds = 30;
  const auto run =
      [](EmbeddingTable& table, std::uint64_t first, std::uint64_t last, TwinTable* twin) {
        RowWindows windows(table, {RowWindows::rows_of(300, 2000), 10}, nullptr);
        const auto ids = [](std::uint64_t step) { return random_ids(RandomKey(step), kIds, 2000); };
        for (std::uint64_t step = first, announced = first; step < last; ++step) {
          while (announced <= step || windows.wants_more()) windows.expect(ids(announced++));
          windows.begin();
          const auto gradients = random_gradients(RandomKey(step).with("g"), kIds * kStreamDim);
          table.update(ids(step), gradients, 0.1);
          if (twin != nullptr) twin->update(ids(step), gradients, 0.1);
        }
      };
  for (const std::uint64_t at : {0u, 3u, 20u}) {
    CAPTURE(at);
    const TempDir dir;
    auto options = table_options(dir / "t", 2000, kStreamDim);
    keep_on_disk(options, 300);
    TwinTable twin(options);
    {
      const auto table = create_embedding_table(options);
      run(*table, 0, 20, &twin);
      CHECK(table->commit() == 1);
    }
    {
      FaultPlan plan;
      plan.write_fault = WriteFault::kEio;
      plan.from_write = at;
      const auto table = open_embedding_table(options, 1, [&] {
        return make_fault_engine(
            make_io_engine(engine_options(IoEngineKind::kPread)).or_throw().engine, plan);
      });
      const Error error = expect_error([&] { run(*table, 20, 120, nullptr); });
      CHECK(error.code() == ErrorCode::kIo);
      CHECK(std::string(expect_error([&] { table->commit(); }).what()) == error.what());
    }
    CHECK(first_difference(options, twin, 1) == -1);
  }
}
