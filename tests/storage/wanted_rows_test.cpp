#include "storage/feature/wanted_rows.h"

#include "storage/feature/read_plan_cost.h"
#include "storage/feature/read_shape.h"
#include "support/shape_of_all.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace sluice;
using sluice::test::shape_of_all;

namespace {

// Each row of the table with a chance of `share`.
std::vector<WantedRow> draw_rows(RandomKey key, std::uint64_t table_rows, double share) {
  std::vector<WantedRow> rows;
  for (std::uint64_t row = 0; row < table_rows; ++row) {
    if (key.uniform(row) < share) rows.push_back({row, rows.size()});
  }
  return rows;
}

DiskProfile typical_disk() {
  DiskRates rates;
  for (std::size_t i = 0; i < rates.read_seconds.size(); ++i)
    rates.read_seconds[i] = 5e-6 + static_cast<double>(DiskRates::kRequestBytes[i]) / 2.5e9;
  rates.sequential_read = 2.5e9;
  rates.sequential_write = 2e9;
  return DiskProfile(rates);
}

}  // namespace

TEST_CASE("rows picked by number are those that a list of them names") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const RandomKey key(seed);
    std::vector<std::uint64_t> ids(key.below(200, 0));
    std::vector<std::uint32_t> places(ids.size()), picked;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i] = key.draw(2 * i + 1);
      places[i] = static_cast<std::uint32_t>(key.below(1000, 2 * i + 2));
      if (key.below(2, 5000 + i) != 0) picked.push_back(static_cast<std::uint32_t>(i));
    }
    std::ranges::sort(picked, {}, [&](std::uint32_t i) { return ids[i]; });
    std::vector<WantedRow> listed;
    for (const std::uint32_t i : picked) listed.push_back({ids[i], places[i]});
    const WantedRows by_list(listed);
    const WantedRows by_number(picked, ids, places);
    REQUIRE(by_list.size() == by_number.size());
    for (std::size_t i = 0; i < by_list.size(); ++i) {
      by_number.prefetch(i + 3);  // may lie beyond the end
      CHECK(by_list.row(i) == by_number.row(i));
      CHECK(by_list.place(i) == by_number.place(i));
    }
  }
}

TEST_CASE("of many rows stretches choose the plan that all of them would") {
  const DiskProfile disk = typical_disk();
  const FeatureLayout layout = FeatureLayout::make(DType::kF32, 32, 4'000'000);
  for (const double share : {0.1, 0.2, 0.5, 1.0}) {
    CAPTURE(share);
    const std::vector<WantedRow> rows = draw_rows(RandomKey(3), layout.rows, share);
    REQUIRE(rows.size() > kLookedAt);
    ReadShapeBuilder all(layout);
    for (const WantedRow& row : rows) all.add(row.row);
    const ReadShape whole = all.finish();
    const ReadShape part = read_shape_of_many(rows, layout);
    CHECK(part.rows == kLookedAt);
    const PlanEstimate wanted = choose_window_plan(disk, whole);
    const PlanEstimate chosen = choose_window_plan(disk, part);
    CHECK(chosen.plan == wanted.plan);
    // Reading all of them that way takes about as long as it takes at best.
    const auto sweep = std::ranges::find(
        ReadShape::kSweeps, chosen.gap_pages, [](const MergeRule& rule) { return rule.gap_pages; });
    REQUIRE(sweep != ReadShape::kSweeps.end());
    const auto index = static_cast<std::size_t>(sweep - ReadShape::kSweeps.begin());
    CHECK(whole.sweeps[index].seconds(disk) <= 1.02 * wanted.seconds);
    // And what it costs a row is what that costs a row of them.
    const double rows_each = static_cast<double>(whole.rows) / static_cast<double>(part.rows);
    CHECK(rows_each * chosen.seconds == doctest::Approx(wanted.seconds).epsilon(0.03));
    const auto bytes = static_cast<double>(wanted.bytes_read);
    CHECK(rows_each * static_cast<double>(chosen.bytes_read) ==
          doctest::Approx(bytes).epsilon(0.03));
  }
}

TEST_CASE("of few rows all are looked at") {
  const FeatureLayout layout = FeatureLayout::make(DType::kF32, 128, 100'000);
  const std::vector<WantedRow> rows = draw_rows(RandomKey(4), layout.rows, 0.1);
  REQUIRE(rows.size() <= kLookedAt);
  std::vector<std::uint64_t> ids;
  for (const WantedRow& row : rows) ids.push_back(row.row);
  const ReadShape all = shape_of_all(ids, layout);
  const ReadShape same = read_shape_of_many(rows, layout);
  CHECK(same.rows == all.rows);
  CHECK(same.pages == all.pages);
  for (std::size_t i = 0; i < all.sweeps.size(); ++i) {
    CHECK(same.sweeps[i].requests() == all.sweeps[i].requests());
    CHECK(same.sweeps[i].bytes() == all.sweeps[i].bytes());
  }
  CHECK(read_shape_of_many(std::vector<WantedRow>(), layout).rows == 0);
}
