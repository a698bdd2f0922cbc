// TableRows: the rows of a run in memory and on disk, bit for bit the same, over generations.
#include "storage/embedding/table_rows.h"

#include "embedding_support.h"
#include "storage/embedding/generation_reader.h"
#include "storage/embedding/window_cache.h"
#include "support/expect_error.h"

#include <doctest/doctest.h>

#include <random>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kTableRows = 1500;
constexpr std::uint32_t kTableDim = 12;

std::uint64_t rows_seed() {
  return std::random_device{}();
}

TableRowsOptions rows_options(const std::string& optimizer, Placement placement) {
  TableRowsOptions options;
  options.rows = kTableRows;
  options.dim = kTableDim;
  options.initial.kind = InitialRows::Kind::kUniform;
  options.initial.scale = 0.5;
  options.initial.seed = 3;
  options.optimizer = builtin_sparse_optimizers().make(optimizer, "");
  options.rate = 0.1;
  options.placement = placement;
  return options;
}

std::vector<float> all_values(TableRows& table) {
  std::vector<float> all(table.rows() * kTableDim);
  table.read_range(0, all);
  return all;
}

std::vector<std::uint64_t> ids_of_step(RandomKey key, std::uint64_t rows) {
  return random_ids(key, 100, rows);
}

enum class Ahead { kNone, kOne, kWanted };

// Steps [first, last), the rows of each announced before its own step, one ahead, or as many as the
// table wants.
void train_rows(
    TableRows& table, RandomKey key, std::uint64_t first, std::uint64_t last, Ahead ahead) {
  const auto ids = [&](std::uint64_t step) {
    return ids_of_step(key.with("ids").with(step), table.rows());
  };
  std::vector<float> got(std::size_t{100} * kTableDim);
  std::uint64_t announced = first;
  const auto announces = [&](std::uint64_t step) {
    if (announced <= step) return true;
    if (ahead == Ahead::kOne) return announced <= step + 1;
    return ahead == Ahead::kWanted && table.wants_more();
  };
  for (std::uint64_t step = first; step < last; ++step) {
    while (announces(step)) table.expect(ids(announced++));
    table.begin();
    table.gather(ids(step), got);
    std::vector<float> gradients = random_gradients(key.with("step").with(step), got.size());
    for (std::size_t i = 0; i < got.size(); ++i) gradients[i] += got[i];
    table.update(ids(step), gradients);
  }
  table.forget();
}

}  // namespace

TEST_CASE("rows on disk are those in memory: caches, look-ahead, generations, growth") {
  const std::uint64_t seed = rows_seed();
  CAPTURE(seed);
  for (const char* optimizer : {"adagrad", "adagrad_row", "adam", "sgd"}) {
    for (const Ahead ahead : {Ahead::kNone, Ahead::kOne, Ahead::kWanted}) {
      CAPTURE(optimizer);
      CAPTURE(static_cast<int>(ahead));
      const RandomKey key = RandomKey(seed).with(optimizer);
      const TempDir dir;
      TableRows memory(rows_options(optimizer, Placement::kMemory));
      TableRows disk(rows_options(optimizer, Placement::kDisk));
      CHECK(same_bits(all_values(memory), all_values(disk)));  // not open yet
      memory.open(dir / "memory", 0);
      const std::uint32_t state =
          builtin_sparse_optimizers().make(optimizer, "")->state_width(kTableDim);
      disk.set_cache(
          WindowCache::bytes_of(kTableRows / 5, RowLayout::make(kTableRows, kTableDim, state)));
      disk.open(dir / "disk", 0);
      for (TableRows* table : {&memory, &disk}) train_rows(*table, key, 0, 20, ahead);
      const std::vector<float> at_20 = all_values(memory);
      CHECK(same_bits(at_20, all_values(disk)));
      const std::uint64_t of_memory = memory.commit(), of_disk = disk.commit();
      for (TableRows* table : {&memory, &disk}) train_rows(*table, key, 20, 30, ahead);
      const std::vector<float> at_30 = all_values(memory);
      CHECK(same_bits(at_30, all_values(disk)));
      CHECK_FALSE(same_bits(at_20, at_30));
      // Back to what was committed, values and state: the same steps lead to the same rows.
      memory.open(dir / "memory", of_memory);
      disk.open(dir / "disk", of_disk);
      CHECK(same_bits(all_values(memory), at_20));
      CHECK(same_bits(all_values(disk), at_20));
      for (TableRows* table : {&memory, &disk}) train_rows(*table, key, 20, 30, ahead);
      CHECK(same_bits(all_values(memory), at_30));
      CHECK(same_bits(all_values(disk), at_30));
      for (TableRows* table : {&memory, &disk}) {
        const std::uint64_t last = table->commit();
        table->keep(std::vector{last});
        table->grow(kTableRows + 700);
      }
      TableRowsOptions larger = rows_options(optimizer, Placement::kMemory);
      larger.rows = kTableRows + 700;
      TableRows fresh(larger);
      std::vector<float> grown = all_values(fresh);
      std::ranges::copy(at_30, grown.begin());
      CHECK(same_bits(all_values(memory), grown));
      CHECK(same_bits(all_values(disk), grown));
      for (TableRows* table : {&memory, &disk}) train_rows(*table, key, 30, 40, ahead);
      CHECK(same_bits(all_values(memory), all_values(disk)));
    }
  }
}

TEST_CASE("a step over all rows in place is a step of each") {
  for (const char* optimizer : {"adagrad", "adagrad_row", "adam", "sgd"}) {
    CAPTURE(optimizer);
    TableRows one(rows_options(optimizer, Placement::kMemory));
    TableRows other(rows_options(optimizer, Placement::kMemory));
    std::vector<std::uint64_t> ids(kTableRows);
    for (std::uint64_t row = 0; row < kTableRows; ++row) ids[row] = row;
    for (std::uint64_t step = 0; step < 3; ++step) {
      const auto gradients = random_gradients(RandomKey(step), kTableRows * kTableDim);
      one.update_range(0, gradients);
      other.update(ids, gradients);
    }
    CHECK(same_bits(all_values(one), all_values(other)));
    const RowsInPlace all = one.in_place();
    REQUIRE(all.data != nullptr);
    const std::vector<float> read = all_values(one);
    for (std::uint64_t row = 0; row < kTableRows; ++row)
      CHECK(same_bits({all.data + row * all.stride, kTableDim},
                      {read.data() + row * kTableDim, kTableDim}));
  }
}

TEST_CASE("rows that were not announced can be read, in any order and repeated") {
  const TempDir dir;
  TableRows disk(rows_options("adagrad", Placement::kDisk));
  disk.expect(std::vector<std::uint64_t>(100, 0));
  disk.set_cache(disk.needs().least_cache);
  disk.open(dir / "rows", 0);
  train_rows(disk, RandomKey(4), 0, 5, Ahead::kOne);
  const std::vector<float> all = all_values(disk);
  const std::vector<std::uint64_t> ids{7, 1499, 7, 0, 800, 1499};
  std::vector<float> got(ids.size() * kTableDim);
  disk.read(ids, got);
  for (std::size_t i = 0; i < ids.size(); ++i)
    CHECK(same_bits({got.data() + i * kTableDim, kTableDim},
                    {all.data() + ids[i] * kTableDim, kTableDim}));
}

TEST_CASE("a generation is read by its manifest alone") {
  const TempDir dir;
  std::vector<float> expected;
  std::uint64_t generation = 0;
  {
    TableRows rows(rows_options("adam", Placement::kMemory));
    rows.open(dir / "rows", 0);
    train_rows(rows, RandomKey(9), 0, 6, Ahead::kNone);
    expected = all_values(rows);
    generation = rows.commit();
    train_rows(rows, RandomKey(9), 6, 8, Ahead::kNone);
  }
  GenerationReader reader(dir / "rows", generation);
  CHECK(reader.rows() == kTableRows);
  REQUIRE(reader.dim() == kTableDim);
  std::vector<float> got(std::size_t{300} * kTableDim);
  for (std::uint64_t first = 0; first < kTableRows; first += 300) {
    reader.read(first, got);
    CHECK(same_bits(got, {expected.data() + first * kTableDim, got.size()}));
  }
  // Beyond the last row, from beyond it, and a part of one.
  CHECK(expect_error([&] { reader.read(kTableRows - 299, got); }).code() == ErrorCode::kInternal);
  CHECK(expect_error([&] { reader.read(kTableRows + 1, got); }).code() == ErrorCode::kInternal);
  CHECK(expect_error([&] { reader.read(0, std::span(got).first(kTableDim - 1)); }).code() ==
        ErrorCode::kInternal);
  reader.read(kTableRows, {});
}

TEST_CASE("a cache too small for two mini-batches is refused with the size that works") {
  const TempDir dir;
  TableRows disk(rows_options("adagrad", Placement::kDisk));
  disk.set_cache(WindowCache::bytes_of(120, RowLayout::make(kTableRows, kTableDim, kTableDim)));
  disk.open(dir / "rows", 0);
  std::vector<std::uint64_t> ids(100);
  for (std::uint64_t i = 0; i < 100; ++i) ids[i] = i;
  disk.expect(ids);
  for (std::uint64_t& id : ids) id += 100;
  const Error error = expect_error([&] { disk.expect(ids); });
  CHECK(error.code() == ErrorCode::kResource);
  CHECK(error.hint().find("give the cache at least") == 0);
}

TEST_CASE("what a mini-batch would move on disk is estimated by rows that are all as likely") {
  const std::uint64_t seed = rows_seed();
  CAPTURE(seed);
  for (const std::uint64_t share : {2u, 5u, 10u}) {
    CAPTURE(share);
    const TempDir dir;
    TableRowsOptions options = rows_options("adagrad", Placement::kDisk);
    options.rows = 20 * kTableRows;
    TableRows table(options);
    const RowLayout layout = RowLayout::make(options.rows, kTableDim, kTableDim);
    table.set_cache(WindowCache::bytes_of(options.rows / share, layout));
    const RandomKey key(seed);
    table.expect(ids_of_step(key, options.rows));  // how many a mini-batch asks for
    const TableRowsTraffic traffic = table.traffic();
    table.open(dir / "t", 0);
    std::vector<std::uint64_t> all(options.rows / share / 3);
    for (std::uint64_t first = 0; first < options.rows; first += all.size()) {
      all.resize(std::min<std::uint64_t>(all.size(), options.rows - first));
      for (std::uint64_t i = 0; i < all.size(); ++i) all[i] = first + i;
      table.expect(all);
      table.begin();
      table.update(all, std::vector<float>(all.size() * kTableDim, 0.5f));
    }
    const std::uint64_t committed = table.commit();
    table.keep(std::span(&committed, 1));
    constexpr std::uint64_t kBatches = 400;
    train_rows(table, key, 0, kBatches, Ahead::kOne);
    (void)table.take_moved();
    train_rows(table, key, kBatches, 2 * kBatches, Ahead::kOne);
    const TableRows::Moved moved = table.take_moved();
    const auto near = [&](double groups, std::uint64_t bytes) {
      const double found = static_cast<double>(bytes) / static_cast<double>(kBatches);
      const double estimate = groups * static_cast<double>(traffic.group_bytes);
      CAPTURE(estimate);
      CAPTURE(found);
      CHECK(estimate <= 1.5 * found);
      CHECK(found <= 1.5 * estimate);
    };
    near(traffic.read, moved.read);
    near(traffic.written, moved.written);
  }
  CHECK(TableRows(rows_options("sgd", Placement::kMemory)).traffic().groups == 0);
}

namespace {

// Takes each step on copies of its own, as a device would.
class CopyingBorrower final : public RowBorrower {
 public:
  explicit CopyingBorrower(TableRows& table) : table_(table) { (void)take(); }
  ~CopyingBorrower() override { table_.take_back(*this); }

  bool take() {
    if (!copies_.empty()) return false;
    home_ = table_.lend(*this);
    copies_.assign(home_.data, home_.data + table_.rows() * home_.stride);
    return true;
  }
  void step(std::span<const float> gradients) {
    (void)take();
    std::vector<float*> begins;
    for (std::uint64_t row = 0; row < table_.rows(); ++row)
      begins.push_back(copies_.data() + row * home_.stride);
    table_.step(
        {}, {begins.data(), gradients.data(), static_cast<std::int64_t>(begins.size()), kTableDim});
    stepped_ = true;
  }

  bool give_back() override {
    if (!stepped_) return false;
    std::ranges::copy(copies_, home_.data);
    stepped_ = false;
    return true;
  }
  void forget() override {
    copies_.clear();
    stepped_ = false;
  }

 private:
  TableRows& table_;
  RowsInPlace home_;
  std::vector<float> copies_;
  bool stepped_ = false;
};

}  // namespace

TEST_CASE("rows that were lent come home before they are read, changed or committed") {
  const auto gradients = [](std::uint64_t step) {
    return random_gradients(RandomKey(step), kTableRows * kTableDim);
  };
  for (const char* optimizer : {"adagrad", "adagrad_row", "adam", "sgd"}) {
    CAPTURE(optimizer);
    const TempDir dir;
    TableRows lent(rows_options(optimizer, Placement::kMemory));
    TableRows plain(rows_options(optimizer, Placement::kMemory));
    lent.open(dir / "lent", 0);
    plain.open(dir / "plain", 0);
    CopyingBorrower borrower(lent);
    const auto both = [&](std::uint64_t step) {
      borrower.step(gradients(step));
      plain.update_range(0, gradients(step));
    };
    both(1);
    CHECK(same_bits(all_values(lent), all_values(plain)));
    both(2);
    const std::uint64_t generation = lent.commit(), of_plain = plain.commit();
    const std::vector<float> committed = all_values(plain);
    both(3);
    for (TableRows* table : {&lent, &plain})
      table->update(std::vector<std::uint64_t>{4, 9, 4},
                    random_gradients(RandomKey(8), std::size_t{3} * kTableDim));
    CHECK(borrower.take());  // it was told to forget
    both(4);
    CHECK(same_bits(all_values(lent), all_values(plain)));
    both(5);
    // What was not committed is gone, wherever it was.
    lent.open(dir / "lent", generation);
    plain.open(dir / "plain", of_plain);
    CHECK(same_bits(all_values(lent), committed));
    both(6);
    lent.grow(kTableRows);
    plain.grow(kTableRows);
    CHECK(same_bits(all_values(lent), all_values(plain)));
    both(7);
    CopyingBorrower other(lent);  // the first gives back and forgets
    CHECK(borrower.take());
    CHECK(same_bits(all_values(lent), all_values(plain)));
  }
}
