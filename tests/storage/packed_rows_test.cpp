#include "storage/feature/packed_rows.h"
#include "storage/feature/run_writer.h"
#include "storage/io/scratch_list.h"
#include "storage/io/staging_ring.h"
#include "support/expect_error.h"
#include "support/sample_dataset.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/dataset.h>

#include <algorithm>
#include <fstream>
#include <ios>
#include <iterator>
#include <map>
#include <optional>
#include <set>

using namespace sluice;
using sluice::test::SampleOptions;
using sluice::test::TempDir;

namespace {

class ListedIds final : public RunIds {
 public:
  explicit ListedIds(std::vector<std::vector<std::uint64_t>> runs)
      : lists(std::move(runs)), taken_(lists.size(), 0) {}
  std::size_t runs() const override { return lists.size(); }
  std::uint64_t size(std::size_t run) const override { return lists[run].size(); }
  std::size_t take(std::size_t run, std::span<std::uint64_t> out) override {
    const std::size_t count = std::min(out.size(), lists[run].size() - taken_[run]);
    std::copy_n(lists[run].begin() + static_cast<std::ptrdiff_t>(taken_[run]), count, out.begin());
    taken_[run] += count;
    return count;
  }

  std::vector<std::vector<std::uint64_t>> lists;

 private:
  std::vector<std::size_t> taken_;
};

struct Table {
  TempDir dir;
  SampleOptions sample;
  std::optional<Dataset> dataset;
  std::unique_ptr<FeatureStore> features;

  explicit Table(std::uint32_t dim, std::uint64_t nodes = 3000) {
    sample.nodes = nodes;
    sample.dim = dim;
    test::write_sample(dir / "x", sample);
    dataset = Dataset::open((dir / "x").string());
    features = dataset->features("node", {Placement::kDisk, IoChoice::kAuto, 1 << 20});
  }
  DiskFeatureStore& store() { return dynamic_cast<DiskFeatureStore&>(*features); }
};

std::uint64_t held(const MemoryLedger& ledger, std::string_view name) {
  for (const MemoryLedger::Entry& entry : ledger.entries()) {
    if (entry.name == name) return entry.bytes;
  }
  return 0;
}

NeededParts needed_of(const ListedIds& ids, const FeatureLayout& layout) {
  NeededParts needed(layout, nullptr);
  for (const auto& list : ids.lists) {
    for (const std::uint64_t id : list) needed.add(id);
  }
  return needed;
}

ListedIds random_ids(RandomKey key, std::size_t runs, std::uint64_t nodes, std::uint64_t most) {
  std::vector<std::vector<std::uint64_t>> lists(runs);
  for (std::size_t r = 0; r < runs; ++r) {
    std::set<std::uint64_t> ids;
    for (std::uint64_t i = key.below(most, r); i > 0; --i) ids.insert(key.with(r).below(nodes, i));
    lists[r].assign(ids.begin(), ids.end());
  }
  return ListedIds(std::move(lists));
}

}  // namespace

TEST_CASE("repacked rows are the table's, run by run, for every width of row and any buffers") {
  const auto dims =
      test::sanitized<std::vector<std::uint32_t>>({1, 25, 128, 700, 1433, 5000}, {25, 700, 1433});
  for (const std::uint32_t dim : dims) {
    Table table(dim, dim > 1000 ? 300u : test::sanitized(3000u, 1000u));
    const std::size_t row_bytes = table.store().row_bytes();
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      CAPTURE(dim);
      CAPTURE(seed);
      ListedIds ids = random_ids(RandomKey(seed), 1 + 7 * seed, table.sample.nodes, 900);
      const NeededParts needed = needed_of(ids, table.store().layout());
      MemoryLedger ledger;
      PackedRowsOptions options;
      options.folder = table.dir.path();
      options.read_bytes = 1 << 20;
      options.read_at_once = seed == 2;
      options.buffer_bytes =
          PackingBuffers::least_bytes(ids.runs(), table.store().layout()) + seed * (4 << 20);
      if (seed == 1)  // made before it was known that they are wanted
        options.buffers = std::make_shared<PackingBuffers>(
            ids.runs(), table.store().layout(), options.buffer_bytes, &ledger);
      {
        PackedRows packed(table.store(), ids, needed, options, &ledger);
        // By memory of packing, as much as was asked for.
        const std::uint64_t reading = options.read_at_once ? options.read_bytes : 0;
        CHECK(packed.read_buffer_bytes() == reading);
        CHECK(held(ledger, "feature staging") == reading);
        if (!options.buffers) CHECK(held(ledger, "packing buffers") == 0);
        for (std::size_t run = 0; run < ids.runs(); ++run) {
          const auto& list = ids.lists[run];
          std::vector<std::uint32_t> places(list.size());
          std::vector<WantedRow> rows(list.size());
          for (std::size_t i = 0; i < list.size(); ++i) {
            places[i] = static_cast<std::uint32_t>(list.size() - 1 - i);
            rows[i] = {list[i], places[i]};
          }
          std::vector<std::byte> got(list.size() * row_bytes), wanted(got.size());
          packed.read(run, rows, got).or_throw();
          table.features->gather(GatherRequest{list, places, wanted}).or_throw();
          CHECK(got == wanted);
        }
      }
      options.buffers.reset();
      CHECK(ledger.used() == 0);
    }
  }
}

TEST_CASE("rows that need no run go to their places while the table is passed over") {
  for (const std::uint32_t dim : {3u, 128u, 1500u}) {
    CAPTURE(dim);
    Table table(dim);
    const std::size_t row_bytes = table.store().row_bytes();
    const RandomKey key(dim);
    ListedIds ids = random_ids(key, 5, table.sample.nodes, 300);
    NeededParts needed = needed_of(ids, table.store().layout());
    std::vector<WantedRow> straight;
    for (std::uint64_t row = key.below(9, 1); row < table.sample.nodes;
         row += 1 + key.below(40, row)) {
      straight.push_back({row, straight.size()});
      needed.add(row);
    }
    std::reverse(straight.begin(), straight.end());  // their places descend
    for (std::size_t i = 0; i < straight.size(); ++i) straight[i].place = i;
    std::reverse(straight.begin(), straight.end());
    PackedRowsOptions options;
    options.folder = table.dir.path();
    options.buffer_bytes = 8 << 20;
    std::vector<std::byte> got(straight.size() * row_bytes), wanted(got.size());
    PackedRows packed(table.store(), ids, needed, options, nullptr, {}, Prefill{straight, got});
    table.store().gather_sorted(straight, {}, wanted).or_throw();
    CHECK(got == wanted);
    CHECK(packed.bytes_written() >= ids.lists.size() * row_bytes);
  }
}

TEST_CASE("packing works with any bytes from the least on, and takes no more") {
  Table table(128);
  const FeatureLayout& layout = table.store().layout();
  for (const std::size_t runs : {1u, 20u, 187u, 1000u}) {
    CAPTURE(runs);
    const std::uint64_t least = PackingBuffers::least_bytes(runs, layout);
    for (std::uint64_t bytes = least; bytes < 2 * PackingBuffers::good_bytes(runs, layout);
         bytes += 1 + bytes / 20) {
      CAPTURE(bytes);
      MemoryLedger ledger;
      const PackingBuffers buffers(runs, layout, bytes, &ledger);
      CHECK(ledger.used() <= bytes);
      CHECK(buffers.chunk_bytes() > 0);
    }
    test::expect_error([&] { PackingBuffers(runs, layout, least - 1, nullptr); });
  }
}

TEST_CASE("packing takes more than works well where that is little of what is moved") {
  constexpr std::size_t kRuns = 40;
  const auto share = [](std::uint64_t bytes, std::uint64_t table_rows) {
    const FeatureLayout layout = FeatureLayout::make(DType::kF32, 128, table_rows);
    const std::uint64_t good = PackingBuffers::good_bytes(kRuns, layout);
    const std::uint64_t taken = PackingBuffers::share_of(bytes, kRuns, layout);
    CHECK(taken >= good);
    CHECK((taken == good || taken <= bytes / 4));
    CHECK((taken == good || 2 * taken <= layout.file_bytes() / 90));
    MemoryLedger ledger;
    const PackingBuffers buffers(kRuns, layout, taken, &ledger);
    CHECK(ledger.used() <= taken);
    return buffers.chunk_bytes();
  };
  const std::uint64_t small = share(1 << 20, 1'000'000);
  CHECK(small >= RunWriter::kGoodChunk);
  CHECK(share(200 << 20, 4'000'000) == small);  // of a table of 2 GB
  CHECK(share(40 << 20, 16'000'000) == small);  // with little memory
  CHECK(share(200 << 20, 16'000'000) == RunWriter::kMostChunk);
  CHECK(share(std::uint64_t{1} << 40, 160'000'000) == RunWriter::kMostChunk);
}

TEST_CASE("packing needs its buffers, says so, and stops when it is told to") {
  Table table(128);
  ListedIds ids = random_ids(RandomKey(1), 40, table.sample.nodes, 500);
  const NeededParts needed = needed_of(ids, table.store().layout());
  PackedRowsOptions options;
  options.folder = table.dir.path();
  options.buffer_bytes = 200'000;
  const Error poor =
      test::expect_error([&] { PackedRows(table.store(), ids, needed, options, nullptr); });
  CHECK(poor.code() == ErrorCode::kResource);
  CHECK(poor.message().find("repacking 40 runs needs ") == 0);
  options.buffer_bytes = 8 << 20;
  const Error stopped = test::expect_error(
      [&] { PackedRows(table.store(), ids, needed, options, nullptr, [] { return true; }); });
  CHECK(stopped.code() == ErrorCode::kInterrupted);
  options.folder = table.dir / "no such folder";
  CHECK(test::expect_error([&] {
          PackedRows(table.store(), ids, needed, options, nullptr);
        }).code() == ErrorCode::kData);
}

TEST_CASE("a damaged page of the table stops packing with its name") {
  Table table(128);
  const std::string file = table.dir / "x/nodes/node/features.bin";
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(20'000).put('\x55');
  ListedIds ids({{0, 39, 40, 2999}});
  const NeededParts needed = needed_of(ids, table.store().layout());
  PackedRowsOptions options;
  options.folder = table.dir.path();
  const Error error =
      test::expect_error([&] { PackedRows(table.store(), ids, needed, options, nullptr); });
  CHECK(error.code() == ErrorCode::kData);
  CHECK(std::string(error.what()).find(file + " at byte 16384") == 0);
}

TEST_CASE("a staging ring never hands out bytes that are taken, and all of them in the end") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const RandomKey key(seed);
    constexpr std::uint64_t kBytes = 1000;
    StagingRing ring(kBytes);
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> taken;  // by number
    std::uint64_t number = 0;
    for (std::uint64_t step = 0; step < 4000; ++step) {
      const std::uint64_t length = 1 + key.below(300, 2 * step);
      if (const auto offset = ring.take(length)) {
        CHECK(*offset + length <= kBytes);
        for (const auto& [other, range] : taken)
          CHECK((*offset + length <= range.first || *offset >= range.second));
        CHECK(ring.offset_of(number) == *offset);
        taken[number++] = {*offset, *offset + length};
      } else {
        REQUIRE_FALSE(taken.empty());
        auto chosen = taken.begin();
        std::advance(chosen, static_cast<std::ptrdiff_t>(key.below(taken.size(), 2 * step + 1)));
        ring.give_back(chosen->first);
        taken.erase(chosen);
      }
    }
    for (const auto& [other, range] : taken) ring.give_back(other);
    CHECK(ring.take(kBytes) == std::optional<std::uint64_t>(0));
  }
}

TEST_CASE("scratch lists give back what was put in, in any width and pieces") {
  const TempDir dir;
  for (const std::size_t width : {2u, 4u, 8u}) {
    ScratchList list(dir.path(), width);
    std::vector<std::uint64_t> numbers(100'000);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = RandomKey(3).below(width == 2 ? 65'536 : 1ull << 32, i);
    list.append(std::span<const std::uint64_t>(numbers).first(30'001));
    list.append(std::span<const std::uint64_t>(numbers).subspan(30'001));
    CHECK(list.size() == numbers.size());
    CHECK(list.bytes_written() == numbers.size() * width);
    std::vector<std::uint64_t> back(50'000);
    list.read(49'999, std::span<std::uint64_t>(back));
    CHECK(std::equal(back.begin(), back.end(), numbers.begin() + 49'999));
    const std::vector<std::uint32_t> other{1, 2, 3};
    list.write(10, other);
    std::vector<std::uint32_t> few(5);
    list.read(9, std::span<std::uint32_t>(few));
    CHECK(few == std::vector<std::uint32_t>{static_cast<std::uint32_t>(numbers[9]),
                                            1,
                                            2,
                                            3,
                                            static_cast<std::uint32_t>(numbers[13])});
  }
  CHECK(std::filesystem::is_empty(dir.path()));
}
