// Tables against a brute-force twin, over random streams of calls. SLUICE_TEST_SEED=N draws the
// streams of an earlier run again.
#include "embedding_support.h"
#include "io_support.h"
#include "storage/embedding/table.h"
#include "support/expect_error.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"

#include "core/threads.h"

#include <cstdlib>
#include <functional>
#include <iterator>
#include <random>
#include <set>

namespace sluice::test {
namespace {

std::uint64_t stream_seed() {
  const char* text = std::getenv("SLUICE_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
}

// A table, its twin, and the twins of the generations that are kept.
class Stream {
 public:
  Stream(const EmbeddingTableOptions& options, EngineMaker engine, RandomKey key)
      : options_(options), engine_(std::move(engine)), key_(key), twin_(options) {
    table_ = create_embedding_table(options_, engine_);
  }
  virtual ~Stream() = default;

  void run(int steps) {
    for (int i = 0; i < steps && ok_; ++i) {
      const std::uint64_t what = draw(100);
      if (what < 78) {
        train();
      } else if (what < 86) {
        read();
      } else if (options_.folder.empty()) {
        continue;
      } else if (what < 91 && kept_.size() < 6) {
        kept_.insert_or_assign(table_->commit(), twin_);
      } else if (what < 95) {
        keep_some();
      } else if (what < 98) {
        reopen();
      } else {
        grow();
      }
    }
    if (!ok_ || options_.folder.empty()) return;
    settle();
    const std::uint64_t last = table_->commit();
    table_.reset();
    expect(first_difference(options_, twin_, last) == -1);
  }

 protected:
  virtual void train() = 0;
  virtual void settle() {}  // before the table grows
  virtual void forget() {}  // the table was opened anew

  std::uint64_t draw(std::uint64_t below) { return key_.below(below, counter_++); }
  RandomKey next_key() { return key_.with("step").with(counter_++); }
  void expect(bool right) {
    CHECK(right);
    ok_ = ok_ && right;
  }

  // Gathers, compares, updates.
  void use(const std::vector<std::uint64_t>& ids) {
    std::vector<float> values(ids.size() * options_.dim);
    table_->gather(ids, values);
    expect(same_bits(values, twin_.values(ids)));
    if (draw(4) == 0) return;
    const auto gradients = random_gradients(next_key(), values.size());
    const double rate = 0.01 * static_cast<double>(1 + draw(10));
    table_->update(ids, gradients, rate);
    twin_.update(ids, gradients, rate);
  }

  EmbeddingTableOptions options_;
  EngineMaker engine_;
  RandomKey key_;
  std::uint64_t counter_ = 0;
  TwinTable twin_;
  std::unique_ptr<EmbeddingTable> table_;

 private:
  void read() {
    const std::uint64_t first = draw(twin_.rows());
    std::vector<std::uint64_t> ids;
    for (std::uint64_t row = first; row < std::min(first + 1 + draw(60), twin_.rows()); ++row)
      ids.push_back(row);
    std::vector<float> values(ids.size() * options_.dim);
    table_->read(first, values);
    expect(same_bits(values, twin_.values(ids)));
  }

  void keep_some() {
    std::vector<std::uint64_t> stay;
    for (auto kept = kept_.begin(); kept != kept_.end();) {
      const bool stays = stay.size() < 4 && draw(2) == 0;
      if (stays) stay.push_back(kept->first);
      kept = stays ? std::next(kept) : kept_.erase(kept);
    }
    table_->keep(stay);
    expect(embedding_generations(options_.folder) == stay);
  }

  // What was not committed is lost; any generation may be gone on from.
  void reopen() {
    if (kept_.empty()) return;
    auto kept = kept_.begin();
    std::advance(kept, static_cast<std::ptrdiff_t>(draw(kept_.size())));
    table_.reset();
    twin_ = kept->second;
    options_.rows = twin_.rows();
    table_ = open_embedding_table(options_, kept->first, engine_);
    forget();
  }

  void grow() {
    settle();
    options_.rows = twin_.rows() + draw(40);
    table_->grow(options_.rows);
    twin_.grow(options_.rows);
  }

  std::map<std::uint64_t, TwinTable> kept_;
  bool ok_ = true;
};

class WindowStream final : public Stream {
 public:
  WindowStream(const EmbeddingTableOptions& options,
               EngineMaker engine,
               RandomKey key,
               std::size_t window)
      : Stream(options, std::move(engine), key), window_(window) {}

 private:
  void train() override {
    if (draw(2) == 0 || next_.empty()) {
      current_ = std::move(next_);
      // Now from all rows, now from few that follow each other.
      const std::uint64_t range = draw(2) == 0 ? twin_.rows() : std::min(twin_.rows(), 2 * window_);
      const std::uint64_t first = draw(twin_.rows() - range + 1);
      next_ = random_ids(next_key(), 1 + draw(window_), range);
      for (std::uint64_t& id : next_) id += first;
      table_->expect(next_);
    }
    std::vector<std::uint64_t> ids = current_;
    if (draw(2) == 0) ids.insert(ids.end(), next_.begin(), next_.end());
    std::vector<std::uint64_t> chosen;
    for (std::uint64_t i = draw(2 * window_); i > 0 && !ids.empty(); --i)
      chosen.push_back(ids[draw(ids.size())]);
    use(chosen);
  }
  void forget() override {
    current_.clear();
    next_.clear();
  }

  std::uint64_t window_;
  std::vector<std::uint64_t> current_, next_;
};

class PartitionStream final : public Stream {
 public:
  using Stream::Stream;

 private:
  void train() override {
    const std::uint32_t partition = static_cast<std::uint32_t>(draw(options_.partitions));
    if (!resident_.contains(partition) && draw(3) == 0) {
      if (resident_.size() == std::min(options_.partition_slots, options_.partitions)) {
        auto leaving = resident_.begin();
        std::advance(leaving, static_cast<std::ptrdiff_t>(draw(resident_.size())));
        table_->release(*leaving);
        resident_.erase(leaving);
      }
      table_->load(partition);
      resident_.insert(partition);
    }
    std::vector<std::uint64_t> ids;
    for (std::uint64_t tries = draw(60); tries > 0; --tries) {
      const std::uint64_t row = draw(twin_.rows());
      if (resident_.contains(table_->partition_of(row))) ids.push_back(row);
    }
    use(ids);
    if (resident_.empty()) return;
    const PartitionRows rows = table_->partition(*resident_.begin());
    for (std::uint64_t i = 0; i < rows.count; ++i)
      expect(same_bits(rows.data.subspan(i * rows.stride, rows.stride), twin_.row(rows.first + i)));
  }
  void settle() override {
    for (const std::uint32_t partition : resident_) table_->release(partition);
    resident_.clear();
  }
  void forget() override { resident_.clear(); }

  std::set<std::uint32_t> resident_;
};

constexpr std::uint32_t kDims[] = {1, 3, 100, 700};
const char* const kOptimizers[] = {"adagrad", "adagrad_row", "adam", "sgd"};

}  // namespace

TEST_CASE("windows over every engine and tiny caches give a brute-force table's bits") {
  const std::uint64_t seed = stream_seed();
  CAPTURE(seed);
  const int steps = sanitized(100, 40);
  std::uint64_t number = 0;
  for (const EngineFactory& factory : plain_factories()) {
    for (const std::uint32_t dim : kDims) {
      for (const bool on_disk : {true, false}) {
        if (!on_disk && dim != 3) continue;
        INFO(factory.name);
        CAPTURE(dim);
        CAPTURE(on_disk);
        CAPTURE(number);
        const RandomKey key = RandomKey(seed).with(number);
        const TempDir dir;
        auto options = table_options(
            dir / "t", 40 + key.below(600, 0), dim, kOptimizers[number % std::size(kOptimizers)]);
        const std::size_t window = 10 + key.below(30, 1);
        if (on_disk) keep_on_disk(options, 2 * window + key.below(20, 2));
        ThreadArena arena(2);
        options.executor.threads = &arena;
        WindowStream(options, factory.make, key, window).run(steps);
        ++number;
      }
    }
  }
}

TEST_CASE("partitions over every engine give a brute-force table's bits, values and state") {
  const std::uint64_t seed = stream_seed();
  CAPTURE(seed);
  const int steps = sanitized(120, 40);
  std::uint64_t number = 0;
  for (const EngineFactory& factory : plain_factories()) {
    for (const std::uint32_t dim : kDims) {
      INFO(factory.name);
      CAPTURE(dim);
      const RandomKey key = RandomKey(seed).with("partitions").with(number);
      const TempDir dir;
      auto options = table_options(
          dir / "t", 40 + key.below(400, 0), dim, kOptimizers[number % std::size(kOptimizers)]);
      options.partitions = static_cast<std::uint32_t>(1 + key.below(9, 1));
      options.partition_slots = static_cast<std::uint32_t>(1 + key.below(4, 2));
      PartitionStream(options, factory.make, key).run(steps);
      ++number;
    }
  }
}

TEST_CASE("a table without a folder is one in memory, and cannot be committed") {
  const std::uint64_t seed = stream_seed();
  CAPTURE(seed);
  auto options = table_options("", 300, 7);
  WindowStream(options, nullptr, RandomKey(seed), 40).run(60);
  const auto table = create_embedding_table(options);
  CHECK(expect_error([&] { table->commit(); }).code() == ErrorCode::kUsage);
  options.placement = Placement::kDisk;
  CHECK(expect_error([&] { create_embedding_table(options); }).code() == ErrorCode::kUsage);
}

TEST_CASE("nothing is written before it is touched, and what is read is what is missing") {
  const TempDir dir;
  auto options = table_options(dir / "t", 10'000, 100);
  keep_on_disk(options, 200);
  const auto table = create_embedding_table(options);
  std::vector<std::uint64_t> ids(100);
  std::vector<float> values(100 * 100);
  for (std::uint64_t round = 0; round < 20; ++round) {
    for (std::uint64_t i = 0; i < 100; ++i) ids[i] = round * 100 + i;
    table->expect(ids);
    table->gather(ids, values);
  }
  CHECK(table->stats().bytes_read == 0);
  CHECK(table->stats().bytes_written == 0);
  table->update(ids, values, 0.1);
  table->commit();
  const std::uint64_t written = table->stats().bytes_written;
  CHECK(written >= 100 * 800);
  CHECK(table->stats().rows_written == 100);
  // Ids in both windows stay where they are.
  table->expect(ids);
  table->gather(ids, values);
  CHECK(table->stats().bytes_read == 0);
  CHECK(table->stats().updates == 100);
}

TEST_CASE(
    "what does not fit a cache is refused with the smallest that works, and nothing changes") {
  const TempDir dir;
  auto options = table_options(dir / "t", 1000, 16);
  keep_on_disk(options, 100);
  TwinTable twin(options);
  auto table = create_embedding_table(options);
  std::vector<std::uint64_t> first, second;
  for (std::uint64_t i = 0; i < 60; ++i) first.push_back(i);
  for (std::uint64_t i = 30; i < 131; ++i) second.push_back(i);
  table->expect(first);
  const Error error = expect_error([&] { table->expect(second); });
  CHECK(error.code() == ErrorCode::kResource);
  CHECK(error.message().find("need 131 rows") != std::string::npos);
  const std::string needed = format_bytes_exact(WindowCache::bytes_of(131, layout_of(options)));
  CHECK(error.hint().find(needed) != std::string::npos);
  std::vector<float> values(60 * 16);
  table->gather(first, values);
  CHECK(same_bits(values, twin.values(first)));
  table.reset();
  keep_on_disk(options, 131);
  table = create_embedding_table(options);
  table->expect(first);
  table->expect(second);
}

TEST_CASE("rows that were not announced, are not resident or not there are an error") {
  const TempDir dir;
  auto options = table_options(dir / "t", 100, 4);
  const auto windows = create_embedding_table(options);
  std::vector<float> values(4);
  const std::vector<std::uint64_t> one{1}, two{2}, three{3}, beyond{100};
  windows->expect(one);
  windows->expect(two);
  windows->gather(one, values);
  windows->expect(three);
  const Error old = expect_error([&] { windows->gather(one, values); });
  CHECK(old.message().find("row 1 ") != std::string::npos);
  CHECK(expect_error([&] { windows->update(one, values, 1); }).code() == ErrorCode::kInternal);
  CHECK(expect_error([&] { windows->expect(beyond); }).code() == ErrorCode::kInternal);
  CHECK(expect_error([&] { windows->load(0); }).code() == ErrorCode::kInternal);
  const std::span<float> few = std::span(values).first(3);
  for (const auto& call :
       std::vector<std::function<void()>>{[&] { windows->gather(three, few); },
                                          [&] { windows->update(three, few, 1); },
                                          [&] { windows->read_rows(three, few); }})
    CHECK(expect_error(call).message().find("3 numbers for 1 rows") == 0);

  auto parted = table_options(dir / "p", 1000, 100);
  parted.partitions = 4;
  parted.partition_slots = 2;
  const auto partitions = create_embedding_table(parted);
  std::vector<float> row(100);
  CHECK(expect_error([&] { partitions->gather(one, row); }).code() == ErrorCode::kInternal);
  CHECK(expect_error([&] { partitions->expect(one); }).code() == ErrorCode::kInternal);
  partitions->load(0);
  partitions->load(2);
  CHECK(expect_error([&] { partitions->load(0); }).code() == ErrorCode::kInternal);
  CHECK(expect_error([&] { partitions->load(1); }).code() == ErrorCode::kResource);
  CHECK(expect_error([&] { partitions->grow(2000); }).code() == ErrorCode::kUsage);
  partitions->release(0);
  partitions->load(1);
  CHECK(partitions->partition(1).first == 250);
  CHECK(partitions->partition(1).count == 250);
}

TEST_CASE("a partition that is written to by other hands is touched") {
  const TempDir dir;
  auto options = table_options(dir / "t", 1000, 100);
  options.partitions = 4;
  options.partition_slots = 1;
  const auto table = create_embedding_table(options);
  table->load(3);
  const PartitionRows rows = table->partition(3);
  CHECK(rows.stride == 200);
  std::ranges::fill(rows.data, 7.0f);
  table->touch(3);
  table->release(3);
  table->load(0);
  table->partition(0);
  table->release(0);
  table->load(3);
  CHECK(std::ranges::all_of(table->partition(3).data, [](float value) { return value == 7; }));
  CHECK(table->stats().rows_written == 250);
}

TEST_CASE("memory that a table takes is charged, and given back") {
  const TempDir dir;
  MemoryLedger ledger;
  auto options = table_options(dir / "t", 5000, 64);
  options.ledger = &ledger;
  keep_on_disk(options, 1000);
  {
    const auto table = create_embedding_table(options);
    CHECK(ledger.used() >= options.cache_bytes);
    CHECK(ledger.used() < options.cache_bytes + (10 << 20));
    const auto ids = random_ids(RandomKey(1), 400, 5000);
    table->expect(ids);
    table->update(ids, random_gradients(RandomKey(2), 400 * 64), 0.1);
    table->commit();
  }
  CHECK(ledger.used() == 0);
  MemoryLedger small(1 << 20);
  options.ledger = &small;
  CHECK(expect_error([&] { open_embedding_table(options); }).code() == ErrorCode::kResource);
}

TEST_CASE("memory of a call is charged before it is taken: without room nothing happens") {
  const TempDir dir;
  MemoryLedger ledger(64 << 20);
  auto options = table_options(dir / "t", 5000, 64);
  options.ledger = &ledger;
  keep_on_disk(options, 1000);
  const auto table = create_embedding_table(options);
  TwinTable twin(options);
  const auto ids = random_ids(RandomKey(1), 400, 5000);
  const auto gradients = random_gradients(RandomKey(2), 400 * 64);
  std::vector<float> values(400 * 64);
  table->expect(ids);
  {
    const Charge rest = ledger.charge("test", ledger.available()).or_throw();
    const auto refused = [&](auto call) {
      return expect_error(call).code() == ErrorCode::kResource;
    };
    CHECK(refused([&] { table->update(ids, gradients, 0.1); }));
    CHECK(refused([&] { table->gather(ids, values); }));
    CHECK(refused([&] { table->read_rows(ids, values); }));
    CHECK(refused([&] { table->read(0, values); }));
  }
  table->gather(ids, values);
  CHECK(same_bits(values, twin.values(ids)));
  table->update(ids, gradients, 0.1);
  twin.update(ids, gradients, 0.1);
  table->read_rows(ids, values);
  CHECK(same_bits(values, twin.values(ids)));
}

}  // namespace sluice::test
