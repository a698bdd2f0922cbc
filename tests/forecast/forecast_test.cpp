// What a forecast of an epoch stands on. Beside the epoch itself: forecast_epoch.h.
#include "forecast_epoch.h"

#include "forecast/drawn_windows.h"
#include "forecast/row_popularity.h"
#include "forecast/row_sample.h"
#include "pipeline/loader_support.h"
#include "support/temp_dir.h"

#include <sluice/random.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

// Chances of many rows, of several shapes.
std::vector<double> chances(int shape, std::size_t rows) {
  std::vector<double> all(rows);
  const RandomKey key = RandomKey(7).with(static_cast<std::uint64_t>(shape));
  for (std::size_t i = 0; i < rows; ++i) {
    const auto rank = static_cast<double>(i + 1);
    const double normal = std::sqrt(-2 * std::log1p(-key.uniform(2 * i))) *
                          std::cos(6.283185307179586 * key.uniform(2 * i + 1));
    all[i] = shape == 0   ? 0.03
             : shape == 1 ? std::min(1.0, 400 * std::pow(rank, -0.9))
             : shape == 2 ? std::min(1.0, 0.007 * std::exp(1.2 * normal))
                          : (i % 10 == 0 ? 0.1 : 0.001);
  }
  return all;
}

}  // namespace

TEST_CASE("the rows that many mini-batches ask for follow from a few of them") {
  constexpr std::size_t kRows = sanitized(50'000, 20'000);
  for (int shape = 0; shape < 4; ++shape) {
    const std::vector<double> of_rows = chances(shape, kRows);
    for (const std::size_t trials : {16u, 48u}) {
      CAPTURE(shape);
      CAPTURE(trials);
      std::vector<std::uint64_t> asked_by(trials + 1);
      const RandomKey key(11);
      for (std::size_t i = 0; i < kRows; ++i) {
        std::size_t count = 0;
        for (std::size_t t = 0; t < trials; ++t) count += key.with(i).uniform(t) < of_rows[i];
        ++asked_by[count];
      }
      const RowPopularity popularity(asked_by);
      for (const double more : {1.0, 2.0, 4.0, 8.0}) {
        CAPTURE(more);
        const double batches = more * static_cast<double>(trials);
        double expected = 0;
        for (const double chance : of_rows) expected += 1 - std::pow(1 - chance, batches);
        CHECK(factor(popularity.distinct(batches), expected) < (more <= 2 ? 1.05 : 1.25));
      }
      CHECK(popularity.distinct(0) == 0);
      // Rows that all trials asked for are likelier than those that none did.
      double often = 0, never = 0;
      for (std::uint64_t i = 0; i < 1000; ++i) {
        often += popularity.chance(popularity.draw_class(trials, key.uniform(i)));
        never += popularity.chance(popularity.draw_class(0, key.uniform(i)));
      }
      CHECK(often >= never);
    }
  }
}

TEST_CASE("a sample of rows holds whole stretches of the table, spread over all of it") {
  MemoryLedger ledger;
  for (const std::uint64_t rows : {1u, 999u, 100'000u, 1'234'567u}) {
    for (const std::uint64_t most : {1u, 5'000u, 50'000u, 10'000'000u}) {
      CAPTURE(rows);
      CAPTURE(most);
      const RowSample sample(FeatureLayout::make(DType::kF32, 128, rows), most, ledger);
      CHECK(ledger.used() > 0);
      CHECK(sample.size() <= std::max<std::uint64_t>(most, 8));  // a page at least
      if (rows <= most) CHECK(sample.size() == rows);
      CHECK(sample.scale() ==
            doctest::Approx(static_cast<double>(rows) / static_cast<double>(sample.size())));
      std::uint64_t wrong = 0;
      for (std::uint64_t place = 1; place < sample.size(); ++place)
        wrong += sample.row_at(place) > sample.row_at(place - 1) ? 0u : 1u;
      CHECK(wrong == 0);
      CHECK(sample.row_at(sample.size() - 1) < rows);
      if (most >= 5000 && rows > most) {
        CHECK(sample.size() > most / 2);
        CHECK(sample.row_at(0) < rows / 20);
        CHECK(sample.row_at(sample.size() - 1) > rows - rows / 20);
      }
    }
  }
  CHECK(ledger.used() == 0);
}

TEST_CASE("drawn windows ask for each row as often as its chance has it, and know its next use") {
  MemoryLedger ledger;
  RowSample sample(FeatureLayout::make(DType::kF32, 128, 2000), 1 << 20, ledger);
  // A tenth of the rows in every trial, a tenth in every fourth, the rest never.
  for (std::uint64_t trial = 0; trial < 32; ++trial) {
    std::vector<std::uint64_t> rows;
    for (std::uint64_t row = 0; row < 2000; ++row) {
      if (row % 10 == 0 || (row % 10 == 1 && (trial + row / 10) % 4 == 0)) rows.push_back(row);
    }
    sample.begin_trial();
    sample.add(rows);
  }
  const RowPopularity popularity = sample.popularity();
  std::vector<std::uint64_t> ends;
  for (std::uint64_t w = 1; w <= 50; ++w) ends.push_back(2 * w);
  DrawnWindows windows(sample, popularity, ends);
  std::vector<std::uint64_t> places;
  std::vector<std::uint32_t> next_uses;
  std::map<std::uint64_t, std::uint32_t> promised;
  double always = 0, sometimes = 0, never = 0;
  for (std::uint32_t w = 1; w <= 50; ++w) {
    windows.next(places, next_uses);
    REQUIRE(next_uses.size() == places.size());
    std::set<std::uint64_t> distinct(places.begin(), places.end());
    REQUIRE(distinct.size() == places.size());
    for (const auto& [place, window] : promised)
      REQUIRE((window == w) == (distinct.count(place) != 0));
    for (std::size_t i = 0; i < places.size(); ++i) {
      promised[places[i]] = next_uses[i];
      (places[i] % 10 == 0 ? always : places[i] % 10 == 1 ? sometimes : never) += 1;
      CHECK(windows.next_use(places[i]) == (next_uses[i] == w + 1 ? w + 1 : kNeverUsed));
    }
  }
  CHECK(always / (50 * 200) > 0.99);
  CHECK(sometimes / (50 * 200) == doctest::Approx(1 - 0.75 * 0.75).epsilon(0.1));
  CHECK(never / (50 * 1600) < 0.01);
}

TEST_CASE("a forecast reads no features, changes no batch, and says so where nothing is on disk") {
  const TempDir dir;
  write_sample(dir / "x", hundred_columns());
  Setup setup;
  setup.loader = base_options();
  const Run plain = deliver(dir / "x", setup);
  with_loader(dir / "x", setup, [&](Loader& loader) {
    (void)loader.forecast(60);
    CHECK(loader.stats().bytes_read == 0);
    loader.start({});
    (void)loader.next();
    CHECK(loader.stats().batches_xxh3 == plain.chain[0]);
  });
  setup.features = Placement::kMemory;
  with_loader(dir / "x", setup, [&](Loader& loader) {
    const LoaderForecast forecast = loader.forecast(60);
    CHECK(forecast.batches == loader.num_batches());
    CHECK(forecast.bytes_read == 0);
    CHECK(forecast.plans.empty());
  });
}
