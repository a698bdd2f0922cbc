// Columns by edge id in the order of the CSC: the same bytes whatever memory there is, and no more
// moved the less there is.
#include "column_ground.h"
#include "prep/spool/edge_id_buckets.h"
#include "support/expect_error.h"
#include "support/file_size_limit.h"

#include <sluice/units.h>

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kColumnEdges = 1'200'000;
constexpr std::uint64_t kTinyBudget = 9 * kMiB;  // of which the column's spool and files take 6

template <class T>
void check_column(const std::vector<T>& values, std::uint64_t id_bound) {
  for (const std::uint64_t budget : {kTinyBudget, 14 * kMiB, 20 * kMiB, 40 * kMiB, kGiB}) {
    CAPTURE(budget);
    const TempDir out;
    ColumnGround ground(budget, out / "out", ColumnGround::mixed_ids(kColumnEdges), id_bound);
    const EdgeColumnStats stats = ground.write<T>(ground.spool(values));
    CHECK(ground.wrong(values) == 0);
    const bool in_memory = budget >= 40 * kMiB;
    CHECK(stats.scratch_bytes == (in_memory ? 0 : kColumnEdges * (4 + sizeof(T))));
    const std::string ids_path = relation_path(ground.relation, "edge_ids.bin");
    const std::uint64_t ids = ground.writer.entry(ids_path).bytes;
    // Ids twice, values once, and what went through scratch files.
    const std::uint64_t once = ids + values.size() * sizeof(T);
    CHECK(stats.bytes_read - stats.around_bytes ==
          (stats.scratch_bytes == 0 ? once : once + ids + stats.scratch_bytes));
    CHECK(stats.around_bytes <= stats.scratch_bytes / 2);
    CHECK(ground.ledger.peak() <= budget);
  }
}

}  // namespace

TEST_CASE("edge column: times and weights are those of their edges, whatever memory there is") {
  SUBCASE("times") {
    check_column(column_times(), ColumnGround::kValues);
  }
  SUBCASE("weights") {
    check_column(column_weights(), ColumnGround::kValues);
  }
  SUBCASE("edge ids of 8 bytes") {
    check_column(column_times(), std::uint64_t{1} << 33);
  }
}

TEST_CASE("edge column: in a tiny budget a few times the column is read") {
  const TempDir out;
  ColumnGround ground(kTinyBudget, out / "out", ColumnGround::mixed_ids(kColumnEdges));
  const std::vector<std::int64_t> times = column_times();
  const EdgeColumnStats stats = ground.write<std::int64_t>(ground.spool(times));
  CHECK(stats.bytes_read <= 5 * times.size() * sizeof(std::int64_t));
}

TEST_CASE("edge column: few edges of a large table leave most buckets empty") {
  const std::vector<std::int64_t> times = column_times();
  for (const std::uint64_t budget : {kTinyBudget, kGiB}) {
    const TempDir out;
    std::vector<std::uint64_t> ids;
    for (std::uint64_t i = 0; i < 1'000; ++i)
      ids.push_back(i % 3 == 0 ? ColumnGround::kValues - 1 - i : i);
    ColumnGround ground(budget, out / "out", ids);
    const EdgeColumnStats stats = ground.write<std::int64_t>(ground.spool(times));
    CHECK(ground.wrong(times) == 0);
    // The first bucket and the last.
    if (budget == kTinyBudget) CHECK(stats.bytes_read < times.size() * sizeof(std::int64_t) / 2);
  }
}

TEST_CASE("edge column: a disk that is full at any point is one clear error") {
  const std::vector<std::int64_t> times = column_times();
  // The ids are 4.8 MB there, and the values that are found 9.6.
  for (const std::uint64_t limit :
       {0 * kMiB, 1 * kMiB, kMiB + 1024, 4 * kMiB, 6 * kMiB, 9 * kMiB}) {
    CAPTURE(limit);
    const TempDir out;
    ColumnGround ground(kTinyBudget, out / "out", ColumnGround::mixed_ids(kColumnEdges));
    const ScratchBytes values = ground.spool(times);
    const std::uint64_t before = ground.ledger.used();
    const Error error = expect_error([&] {
      const FileSizeLimit full(limit);
      (void)ground.write<std::int64_t>(values);
    });
    CHECK(error.code() == ErrorCode::kResource);
    CHECK(error.place().file.find(".out.partial-") != std::string::npos);
    CHECK(ground.ledger.used() == before);
  }
}

TEST_CASE("edge column: a budget that is too small says what for") {
  const std::vector<std::int64_t> times = column_times();
  const TempDir out;
  ColumnGround ground(7 * kMiB, out / "out", ColumnGround::mixed_ids(kColumnEdges));
  const ScratchBytes values = ground.spool(times);
  const Error error = expect_error([&] { (void)ground.write<std::int64_t>(values); });
  CHECK(error.code() == ErrorCode::kResource);
  CHECK(error.message().find("edge columns") != std::string::npos);
}

TEST_CASE("edge column: plans keep to the memory they are given, or say how much they need") {
  for (const std::uint64_t edges : {0ull, 1ull, 1'000'000ull, 1'000'000'000ull, 20'000'000'000ull})
    for (const std::uint64_t width : {4u, 8u})
      for (std::uint64_t memory = kMiB; memory <= 256 * kGiB; memory *= 2) {
        CAPTURE(edges);
        CAPTURE(width);
        CAPTURE(memory);
        const IdBucketPlan plan = IdBucketPlan::make(edges, edges, width, memory);
        CHECK(plan.bytes >= memory);
        if (memory >= 2 * kMiB && edges <= 1'000'000) CHECK(plan.bytes == memory);
        if (memory >= 64 * kMiB && edges <= 1'000'000'000) CHECK(plan.bytes == memory);
        if (memory >= 256 * kMiB) CHECK(plan.bytes == memory);
        CHECK((edges == 0 || (edges - 1) >> plan.shift < plan.buckets));
        CHECK(plan.shift <= 32);
        // What is known of buckets and runs, and a run's ids and twice the parted ones; or twice
        // its values; or a bucket's values, and twice the ids and values of a chunk.
        const std::uint64_t known = plan.buckets * plan.runs(edges) * 4;
        CHECK(known + plan.run * 8 + ScratchPages::memory_for(plan.run * 4) <= plan.bytes);
        CHECK(known + 2 * plan.run_bytes(width) <= plan.bytes);
        CHECK(known + (width << plan.shift) + 2 * plan.chunk_bytes() +
                  ScratchPages::memory_for(plan.chunk * width) <=
              plan.bytes);
      }
}
