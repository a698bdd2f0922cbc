#include "pipeline/stream/batch_spool.h"

#include "support/expect_error.h"
#include "support/file_size_limit.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

#include <algorithm>

using namespace sluice;

namespace {

Array random_array(DType dtype, std::int64_t numel, RandomKey key) {
  Array array = Array::make(dtype, {numel}).or_throw();
  for (std::size_t i = 0; i < array.bytes(); ++i)
    array.raw()[i] = static_cast<std::byte>(key.draw(i));
  return array;
}

// Two node types, two layers of two relations, some arrays empty and some never asked for.
Batch random_batch(std::uint64_t index, RandomKey key) {
  const auto some = [&](std::uint64_t n) { return static_cast<std::int64_t>(key.below(5000, n)); };
  Batch batch;
  batch.epoch = 3;
  batch.index = index;
  batch.seeds = {Array(), random_array(DType::kU64, some(0), key.with(0))};
  batch.queries.kind = QueryKind::kLinks;
  batch.queries.relation = 1;
  batch.queries.sources = random_array(DType::kI64, some(0), key.with(8));
  batch.nodes.resize(2);
  for (std::size_t t = 0; t < 2; ++t) {
    batch.nodes[t].ids = random_array(DType::kU64, t == 0 ? 0 : some(1), key.with(1));
    if (t == 1) batch.nodes[t].degrees = random_array(DType::kI64, some(1), key.with(2));
    batch.nodes[t].size_at = {some(2), some(3), -1};
  }
  batch.layers.resize(2);
  for (auto& layer : batch.layers) {
    layer.resize(2);
    for (std::size_t r = 0; r < 2; ++r) {
      Block& block = layer[r];
      block.relation = r;
      block.source_type = 1 - r;
      block.num_sources = some(4);
      block.offsets = random_array(DType::kI64, some(5), key.with(5));
      block.neighbours = random_array(DType::kI32, some(6) | 1, key.with(6));
      if (r == 1) block.edge_ids = random_array(DType::kU64, some(6) | 1, key.with(7));
    }
  }
  return batch;
}

bool same(const Array& a, const Array& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::equal(a.raw().begin(), a.raw().end(), b.raw().begin());
}

}  // namespace

TEST_CASE("mini-batches come back from a spool as they went in, in any order, charged") {
  test::TempDir dir;
  MemoryLedger ledger;
  {
    BatchSpool spool(dir.path(), 10, ledger);
    std::vector<Batch> kept;
    std::vector<std::vector<Array>> numbers;
    for (std::uint64_t i = 0; i < 12; ++i) {
      kept.push_back(random_batch(10 + i, RandomKey(7).with(i)));
      numbers.push_back(
          {random_array(DType::kU32, 1 + static_cast<std::int64_t>(i * 700), RandomKey(i)),
           Array()});
      spool.append(kept.back(), numbers.back());
    }
    spool.finish();
    CHECK(spool.has(10));
    CHECK(spool.has(21));
    CHECK_FALSE(spool.has(22));
    CHECK_FALSE(spool.has(9));
    for (const std::uint64_t i : {0u, 1u, 2u, 3u, 11u, 0u, 5u, 5u, 6u, 7u, 6u}) {
      const BatchSpool::Kept read = spool.read(10 + i);
      const Batch& back = read.batch;
      REQUIRE(read.numbers.size() == 2);
      CHECK(same(read.numbers[0], numbers[i][0]));
      CHECK(read.numbers[1].shape().empty());
      const Batch& wanted = kept[i];
      CHECK(back.epoch == 3);
      CHECK(back.index == 10 + i);
      CHECK(hash_batch(back) == hash_batch(wanted));
      REQUIRE(back.seeds.size() == 2);
      CHECK(same(back.seeds[1], wanted.seeds[1]));
      REQUIRE(back.nodes.size() == 2);
      for (std::size_t t = 0; t < 2; ++t) {
        CHECK(same(back.nodes[t].ids, wanted.nodes[t].ids));
        CHECK(same(back.nodes[t].degrees, wanted.nodes[t].degrees));
        CHECK(back.nodes[t].size_at == wanted.nodes[t].size_at);
      }
      for (std::size_t l = 0; l < 2; ++l) {
        for (std::size_t r = 0; r < 2; ++r) {
          const Block& a = back.layers[l][r];
          const Block& b = wanted.layers[l][r];
          CHECK(a.relation == b.relation);
          CHECK(a.source_type == b.source_type);
          CHECK(a.num_sources == b.num_sources);
          CHECK(same(a.offsets, b.offsets));
          CHECK(same(a.neighbours, b.neighbours));
          CHECK(same(a.edge_ids, b.edge_ids));
        }
      }
    }
    CHECK(spool.bytes_written() % 4096 == 0);
    CHECK(ledger.used() > 0);
  }
  CHECK(ledger.used() == 0);
}

TEST_CASE("where the disk has no room for a batch those before it are there") {
  test::TempDir dir;
  MemoryLedger ledger;
  {
    BatchSpool spool(dir.path(), 10, ledger);
    std::uint64_t appended = 0;
    {
      const test::FileSizeLimit limit(500 * 4096);
      const auto fill = [&] {
        for (; appended < 100; ++appended)
          spool.append(random_batch(10 + appended, RandomKey(8).with(appended)), {});
      };
      const Error error = test::expect_error(fill);
      CHECK(error.code() == ErrorCode::kResource);
      CHECK(error.place().file.find(dir.path().string()) == 0);
    }
    REQUIRE(appended > 3);
    // The last one but one did not arrive; the last was not begun.
    CHECK(spool.has(10 + appended - 2));
    CHECK_FALSE(spool.has(10 + appended - 1));
    for (std::uint64_t i = 0; i + 1 < appended; ++i)
      CHECK(hash_batch(spool.read(10 + i).batch) ==
            hash_batch(random_batch(10 + i, RandomKey(8).with(i))));
  }
  CHECK(ledger.used() == 0);
}
