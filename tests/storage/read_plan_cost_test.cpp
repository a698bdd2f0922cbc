// The cost model against an enumeration of every request, the store's own reads, and the formulas
// of the plans.
#include "storage/feature/read_plan_cost.h"
#include "support/sample_dataset.h"
#include "support/shape_of_all.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/dataset.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace sluice;
using sluice::test::shape_of_all;
using sluice::test::TempDir;

namespace {

constexpr auto& kSizes = DiskRates::kRequestBytes;

DiskProfile linear(double overhead_seconds, double bandwidth, double write_bandwidth) {
  DiskRates rates;
  for (std::size_t i = 0; i < kSizes.size(); ++i)
    rates.read_seconds[i] = overhead_seconds + kSizes[i] / bandwidth;
  rates.sequential_read = bandwidth;
  rates.sequential_write = write_bandwidth;
  return DiskProfile(rates);
}

/// The disk of this project's measurements, roughly.
DiskProfile typical() {
  DiskRates rates;
  rates.read_seconds = {7e-6, 11e-6, 26e-6, 107e-6, 430e-6};
  rates.sequential_read = 2.4e9;
  rates.sequential_write = 1.6e9;
  return DiskProfile(rates);
}

FeatureLayout table(std::uint32_t dim, std::uint64_t rows) {
  return FeatureLayout::make(DType::kF32, dim, rows);
}

/// Distinct, ascending; each row with a chance of its own that varies along the table, so that
/// there are dense and empty stretches.
std::vector<std::uint64_t> random_rows(std::uint64_t rows, double density, RandomKey key) {
  std::vector<std::uint64_t> wanted;
  for (std::uint64_t row = 0; row < rows; ++row) {
    const double wave = std::pow(key.with("wave").uniform(row / 97), 3) * 4;
    if (key.uniform(row) < density * wave) wanted.push_back(row);
  }
  return wanted;
}

struct Pages {
  std::uint64_t first;
  std::uint64_t end;
};

/// The requests of a rule, one by one: from the pages of single rows, joined while they may be.
std::vector<Pages> enumerate(const std::vector<std::uint64_t>& rows,
                             const FeatureLayout& layout,
                             const MergeRule& rule) {
  std::vector<Pages> requests;
  for (const std::uint64_t row : rows) {
    const std::uint64_t first = row * layout.row_bytes / kPageBytes;
    Pages pages{first, (row * layout.row_bytes + layout.row_bytes - 1) / kPageBytes + 1};
    if (layout.rows_per_page != 0)
      pages = {row / layout.rows_per_page, row / layout.rows_per_page + 1};
    if (!requests.empty()) {
      Pages& last = requests.back();
      const bool inside = pages.end <= last.end;
      const bool near = pages.first <= last.end || pages.first - last.end <= rule.gap_pages;
      if (inside || (near && pages.end - last.first <= rule.max_pages)) {
        last.end = std::max(last.end, pages.end);
        continue;
      }
    }
    requests.push_back(pages);
  }
  return requests;
}

void check_mix(const RequestMix& mix, const std::vector<Pages>& requests, const DiskProfile& disk) {
  std::uint64_t bytes = 0;
  double seconds = 0;
  for (const Pages& request : requests) {
    bytes += (request.end - request.first) * kPageBytes;
    seconds += disk.seconds_for(static_cast<double>((request.end - request.first) * kPageBytes));
  }
  CHECK(mix.requests() == requests.size());
  CHECK(mix.bytes() == bytes);
  CHECK(mix.seconds(disk) == doctest::Approx(seconds).epsilon(1e-9));
}

}  // namespace

TEST_CASE("a shape holds exactly the requests of an enumeration, for every layout and rule") {
  const DiskProfile disk = typical();
  // 8 rows a page, 3 a page with waste, packed below, across and above a page, a row above 64 KiB,
  // a row above 1 MiB.
  for (const std::uint32_t dim : {128u, 330u, 400u, 1433u, 3000u, 40'000u, 300'000u}) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      CAPTURE(dim);
      CAPTURE(seed);
      const std::uint64_t num_rows = dim > 10'000 ? 300 : 40'000;
      const FeatureLayout layout = table(dim, num_rows);
      const double density = std::pow(10.0, -3 + 0.25 * static_cast<double>(seed));
      const auto rows = random_rows(num_rows, density, RandomKey(seed).with(dim));
      const ReadShape shape = shape_of_all(rows, layout);
      CHECK(shape.rows == rows.size());
      CHECK(shape.row_bytes == 4 * dim);
      CHECK(shape.table_bytes == layout.file_bytes());
      std::set<std::uint64_t> pages;
      for (const std::uint64_t row : rows) {
        for (std::uint64_t p = layout.first_page_of(row); p <= layout.last_page_of(row); ++p)
          pages.insert(p);
      }
      CHECK(shape.pages == pages.size());
      check_mix(shape.direct, enumerate(rows, layout, ReadShape::kDirect), disk);
      for (std::size_t i = 0; i < ReadShape::kSweeps.size(); ++i) {
        CAPTURE(i);
        check_mix(shape.sweeps[i], enumerate(rows, layout, ReadShape::kSweeps[i]), disk);
      }
    }
  }
}

TEST_CASE("of rows without page crossings: counted on a map of pages") {
  // Another way to count: a request begins at a needed page and takes in needed pages while the
  // next is near and it stays short enough.
  const FeatureLayout layout = table(512, 20'000);  // 2 rows a page
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const auto rows = random_rows(layout.rows, 0.02 * static_cast<double>(seed), RandomKey(seed));
    std::vector<char> needed(layout.rows / 2 + 1000, 0);
    for (const std::uint64_t row : rows) needed[row / 2] = 1;
    const ReadShape shape = shape_of_all(rows, layout);
    for (std::size_t rule = 0; rule < ReadShape::kSweeps.size(); ++rule) {
      const MergeRule by = ReadShape::kSweeps[rule];
      std::uint64_t requests = 0, bytes = 0;
      for (std::uint64_t page = 0; page < layout.rows / 2;) {
        if (needed[page] == 0) {
          ++page;
          continue;
        }
        std::uint64_t last = page;
        for (std::uint64_t q = page + 1; q < page + by.max_pages && q - last <= by.gap_pages + 1;
             ++q)
          if (needed[q] != 0) last = q;
        ++requests;
        bytes += (last - page + 1) * kPageBytes;
        page = last + 1;
      }
      CHECK(shape.sweeps[rule].requests() == requests);
      CHECK(shape.sweeps[rule].bytes() == bytes);
    }
  }
}

TEST_CASE("direct is what the store on disk does") {
  for (const std::uint32_t dim : {128u, 300u, 1433u}) {
    CAPTURE(dim);
    const TempDir dir;
    test::SampleOptions options;
    options.dim = dim;
    options.nodes = 6000;
    test::write_sample(dir / "x", options);
    const Dataset dataset = Dataset::open((dir / "x").string());
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const auto store = dataset.features("node", {Placement::kDisk, IoChoice::kAuto, 64 << 20});
      const auto rows =
          random_rows(options.nodes, 0.1 * static_cast<double>(seed), RandomKey(seed));
      std::vector<std::byte> out(rows.size() * 4 * dim);
      store->gather(rows, out).or_throw();
      const ReadShape shape = shape_of_all(rows, table(dim, options.nodes));
      CHECK(shape.direct.requests() == store->stats().requests);
      CHECK(shape.direct.bytes() == store->stats().bytes_read);
    }
  }
}

TEST_CASE("repeated rows count once; nothing is nothing; a builder begins anew") {
  const FeatureLayout layout = table(128, 1000);
  ReadShapeBuilder builder(layout);
  CHECK(builder.finish().rows == 0);
  for (const std::uint64_t row : {0u, 0u, 7u, 7u, 8u, 500u, 500u}) builder.add(row);
  const ReadShape shape = builder.finish();
  CHECK(shape.rows == 4);
  CHECK(shape.pages == 3);
  CHECK(shape.direct.requests() == 2);
  CHECK(shape.useful_bytes() == 4 * 512);
  builder.add(0);
  const ReadShape again = builder.finish();
  CHECK(again.rows == 1);
  CHECK(again.direct.bytes() == kPageBytes);

  const PlanEstimate nothing = choose_window_plan(typical(), shape_of_all({}, layout));
  CHECK(nothing.plan == "direct");
  CHECK(nothing.seconds == 0);
  CHECK(nothing.requests == 0);
}

TEST_CASE("wider gaps never make more requests, and the best sweep is none of the slower ones") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    const FeatureLayout layout = table(seed % 2 == 0 ? 128 : 1433, 30'000);
    const double density = std::pow(10.0, -3 + 0.1 * static_cast<double>(seed));
    const ReadShape shape =
        shape_of_all(random_rows(layout.rows, density, RandomKey(seed)), layout);
    for (std::size_t i = 1; i < shape.sweeps.size(); ++i)
      CHECK(shape.sweeps[i].requests() <= shape.sweeps[i - 1].requests());
    std::uint64_t fewest = ~std::uint64_t{0};
    for (const double overhead : {0.0, 1e-6, 4e-6, 2e-5, 1e-4, 8e-3}) {
      const DiskProfile disk = linear(overhead, 2e9, 2e9);
      const PlanEstimate sweep = estimate_sweep(disk, shape);
      for (const RequestMix& mix : shape.sweeps) CHECK(sweep.seconds <= mix.seconds(disk));
      CHECK(sweep.bytes_read >= shape.pages * kPageBytes);
      // The dearer a request, the fewer are made.
      CHECK(sweep.requests <= fewest);
      fewest = sweep.requests;
      // A disk of half the speed takes twice as long, by the same choice.
      const PlanEstimate slow = estimate_sweep(linear(2 * overhead, 1e9, 1e9), shape);
      CHECK(slow.requests == sweep.requests);
      CHECK(slow.seconds == doctest::Approx(2 * sweep.seconds).epsilon(1e-6));
    }
  }
}

TEST_CASE("rows far apart are read directly, dense ones in a sweep") {
  const FeatureLayout layout = table(128, 8'000'000);
  std::vector<std::uint64_t> far, dense, every_page;
  for (std::uint64_t i = 0; i < 5000; ++i) far.push_back(i * 1600);
  for (std::uint64_t i = 0; i < 100'000; ++i) dense.push_back(i * 16);  // every other page
  for (std::uint64_t i = 0; i < 100'000; ++i) every_page.push_back(i * 8);
  const DiskProfile disk = typical();
  CHECK(choose_window_plan(disk, shape_of_all(far, layout)).plan == "direct");
  const PlanEstimate sweep = choose_window_plan(disk, shape_of_all(dense, layout));
  CHECK(sweep.plan == "sweep");
  CHECK(sweep.gap_pages == 1);
  CHECK(sweep.bytes_read > 199'000 * kPageBytes);
  const PlanEstimate all = estimate_sweep(disk, shape_of_all(every_page, layout));
  CHECK(all.gap_pages == 0);
  CHECK(all.requests == (100'000 + 255) / 256);
  CHECK(all.seconds == doctest::Approx(100'000 * 4096.0 / (1 << 20) * 430e-6).epsilon(0.01));
}

TEST_CASE("repack beats direct where M > T / (amp - 2), on a disk bound by its bandwidth") {
  const DiskProfile disk = linear(0, 2e9, 2e9);
  for (const std::uint32_t dim : {16u, 64u, 128u, 256u}) {
    CAPTURE(dim);
    const FeatureLayout layout = table(dim, 1 << 20);
    const double row_bytes = layout.row_bytes;
    const double amp = kPageBytes / row_bytes;
    const auto table_bytes = static_cast<double>(layout.file_bytes());
    // The ids are the formula's only lack: 8 bytes written and 8 read for each row missed.
    const double crossover = table_bytes / (amp - 2 - 2.0 * kRepackIdBytes / row_bytes);
    CHECK(crossover >= table_bytes / (amp - 2));
    // Windows of a row on every fourth page each, until so much was missed.
    std::vector<std::uint64_t> window;
    for (std::uint64_t row = 0; row < layout.rows; row += std::uint64_t{4} * layout.rows_per_page)
      window.push_back(row);
    const PlanEstimate direct = estimate_direct(disk, shape_of_all(window, layout));
    for (const double share : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0}) {
      CAPTURE(share);
      const double windows = share * crossover / (static_cast<double>(window.size()) * row_bytes);
      RepackWork work;
      work.row_bytes = layout.row_bytes;
      work.table_bytes = layout.file_bytes();
      work.missed_rows = static_cast<std::uint64_t>(windows * static_cast<double>(window.size()));
      const PlanEstimate repack = estimate_repack(disk, work);
      CHECK((repack.seconds < windows * direct.seconds) == (share > 1));
    }
  }
}

TEST_CASE("repack moves T + 2 M and the ids, and reads no more of the table than is needed") {
  const FeatureLayout layout = table(128, 1 << 20);  // 512 MiB
  RepackWork work;
  work.row_bytes = 512;
  work.table_bytes = layout.file_bytes();
  work.missed_rows = 1 << 18;  // 128 MiB
  work.runs = 40;
  const DiskProfile disk = linear(4e-6, 2e9, 1e9);
  const PlanEstimate whole = estimate_repack(disk, work);
  const std::uint64_t moved = (128 << 20) + 20 * 4096 + (2 << 20);
  CHECK(whole.bytes_read == (512 << 20) + moved);
  CHECK(whole.bytes_written == moved);
  CHECK(whole.requests == 512 + 2 * (129 + 2));
  const auto t = static_cast<double>(512 << 20), m = static_cast<double>(moved);
  CHECK(whole.seconds == doctest::Approx((t + m) / 2e9 + m / 1e9));

  std::vector<std::uint64_t> first_eighth(1 << 17);
  for (std::uint64_t i = 0; i < first_eighth.size(); ++i) first_eighth[i] = i;
  const PlanEstimate part = estimate_repack(disk, work, shape_of_all(first_eighth, layout));
  CHECK(part.bytes_read == (64 << 20) + moved);
  CHECK(part.seconds < whole.seconds);
  std::vector<std::uint64_t> spread;
  for (std::uint64_t i = 0; i < layout.rows; i += 8) spread.push_back(i);
  CHECK(estimate_repack(disk, work, shape_of_all(spread, layout)).seconds <= whole.seconds);

  double last = 0;
  for (const std::uint64_t rows : {0u, 1u, 1000u, 100'000u, 1u << 18, 1u << 20}) {
    RepackWork more = work;
    more.missed_rows = rows;
    const PlanEstimate estimate = estimate_repack(disk, more);
    CHECK((rows == 0 ? estimate.seconds == 0 : estimate.seconds > last));
    last = estimate.seconds;
  }
}

TEST_CASE("without a speed of writing repack is never the quickest, and says why") {
  DiskRates rates = typical().rates();
  rates.sequential_write = 0;
  RepackWork work{1 << 18, 40, 512, 512 << 20};
  const PlanEstimate repack = estimate_repack(DiskProfile(rates), work);
  CHECK(std::isinf(repack.seconds));
  CHECK(repack.why.find("could not be measured") != std::string::npos);
  PlanEstimate other;
  other.plan = "direct";
  other.seconds = 1e9;
  CHECK(quickest(std::vector{repack, other}).plan == "direct");
}

TEST_CASE("the reason gives the figures of the choice and of what was not chosen") {
  const FeatureLayout layout = table(128, 100'000);
  std::vector<std::uint64_t> rows;
  for (std::uint64_t i = 0; i < 10'000; ++i) rows.push_back(i * 8);
  const PlanEstimate chosen =
      choose_window_plan(linear(4e-6, 2.4e9, 1.6e9), shape_of_all(rows, layout));
  CHECK(chosen.plan == "sweep");
  for (const char* part : {"sweep: 10,000 rows in 40 requests of 39.06 MiB",
                           "12 % useful",
                           "direct would take",
                           "for 625 requests"}) {
    CAPTURE(part);
    CAPTURE(chosen.why);
    CHECK(chosen.why.find(part) != std::string::npos);
  }
}
