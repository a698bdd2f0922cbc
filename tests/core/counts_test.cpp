#include "core/counts.h"

#include "pipeline/plan/table_plan.h"
#include "pipeline/stage/row_fetcher.h"
#include "storage/io/block_reader.h"

#include <doctest/doctest.h>
#include <sluice/feature_store.h>
#include <sluice/loader_stats.h>
#include <sluice/snapshot.h>
#include <sluice/topology.h>

#include <array>
#include <bit>
#include <cstdint>

using namespace sluice;

namespace {

// Structs of counters of 64 bits, whatever they are called.
template <class T>
using Words = std::array<std::uint64_t, sizeof(T) / sizeof(std::uint64_t)>;

template <class T>
T numbered(std::uint64_t factor) {
  Words<T> words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = factor * (i + 1);
  return std::bit_cast<T>(words);
}

}  // namespace

TEST_CASE_TEMPLATE("counts: every field is added and taken away",
                   T,
                   RequestLatency,
                   FeatureStats,
                   TopologyStats,
                   CacheCounts,
                   IoStats,
                   PlanTraffic,
                   FetchCounts) {
  T sum = numbered<T>(3);
  add_counts(sum, numbered<T>(4));
  CHECK(std::bit_cast<Words<T>>(sum) == std::bit_cast<Words<T>>(numbered<T>(7)));
  const T since = counts_since(numbered<T>(3), numbered<T>(10));
  CHECK(std::bit_cast<Words<T>>(since) == std::bit_cast<Words<T>>(numbered<T>(7)));
}

TEST_CASE("counts: of a snapshot cache, sizes and ages are those of now") {
  SnapshotStats before{.records = 5, .ram_bytes = 6, .hits = 7, .age_sum = 1.5, .oldest = 9};
  SnapshotStats now{.records = 8, .ram_bytes = 6, .hits = 17, .age_sum = 4, .oldest = 11};
  const SnapshotStats since = now - before;
  CHECK(since.records == 8);
  CHECK(since.ram_bytes == 6);
  CHECK(since.hits == 10);
  CHECK(since.age_sum == 2.5);
  CHECK(since.oldest == 11);
  before += now;
  CHECK(before.records == 13);
  CHECK(before.ram_bytes == 12);
  CHECK(before.hits == 24);
  CHECK(before.age_sum == 5.5);
  CHECK(before.oldest == 11);
}
