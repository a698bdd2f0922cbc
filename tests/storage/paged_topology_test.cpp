// A topology on disk beside the same one in RAM.
#include "storage/topology/paged_topology.h"

#include "support/expect_error.h"
#include "support/graph_dataset.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"

#include <sluice/dataset.h>
#include <sluice/random.h>

#include <doctest/doctest.h>

#include <fstream>
#include <ios>
#include <numeric>
#include <thread>

using namespace sluice;
using sluice::test::CscArrays;
using sluice::test::expect_error;
using sluice::test::TempDir;

namespace {

constexpr const char* kRelation = "s__r__t";

// Random in-edges; node 5 has half of them.
CscArrays random_csc(std::uint64_t seed,
                     std::uint64_t sources,
                     std::uint64_t targets,
                     std::uint64_t edges) {
  const RandomKey key = RandomKey(seed).with("csc");
  std::vector<std::uint64_t> degrees(targets);
  for (std::uint64_t e = 0; e < edges; ++e)
    ++degrees[e % 2 == 0 ? 5 % targets : key.below(targets, e)];
  CscArrays csc;
  csc.offsets.push_back(0);
  for (const std::uint64_t degree : degrees) csc.offsets.push_back(csc.offsets.back() + degree);
  for (std::uint64_t e = 0; e < edges; ++e) {
    csc.neighbours.push_back(key.with("sources").below(sources, e));
    csc.edge_ids.push_back(key.with("ids").below(std::uint64_t{1} << 29, e));
  }
  return csc;
}

std::vector<std::uint64_t> random_positions(std::uint64_t edges, std::size_t count, RandomKey key) {
  std::vector<std::uint64_t> positions(count);
  for (std::size_t i = 0; i < count; ++i)
    positions[i] = i % 5 == 4 ? positions[i - 1] : key.below(edges, i);
  return positions;
}

// What the topology says against the arrays it was written from.
void check_positions(Topology& topology,
                     const CscArrays& csc,
                     const std::vector<std::uint64_t>& positions) {
  std::vector<std::uint64_t> neighbours(positions.size(), ~0ull), ids(positions.size(), ~0ull);
  topology.neighbours(positions, neighbours).or_throw();
  topology.edge_ids(positions, ids).or_throw();
  std::vector<std::uint64_t> expected, expected_ids;
  for (const std::uint64_t position : positions) {
    expected.push_back(csc.neighbours[position]);
    expected_ids.push_back(csc.edge_ids.empty() ? position : csc.edge_ids[position]);
  }
  REQUIRE((neighbours == expected));
  REQUIRE((ids == expected_ids));
}

void check_ranges(Topology& topology, const CscArrays& csc) {
  std::vector<std::uint64_t> targets(csc.offsets.size() - 1);
  std::iota(targets.rbegin(), targets.rend(), 0);
  std::vector<EdgeRange> ranges(targets.size());
  topology.ranges(targets, ranges).or_throw();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    wrong +=
        ranges[i].begin == csc.offsets[targets[i]] && ranges[i].end == csc.offsets[targets[i] + 1]
            ? 0u
            : 1u;
  }
  REQUIRE(wrong == 0);
}

TopologyOptions on_disk(IoChoice io = IoChoice::kAuto,
                        std::uint64_t staging_bytes = 1 << 20,
                        std::uint64_t cache_bytes = 0) {
  return {Placement::kDisk, io, staging_bytes, cache_bytes};
}

std::uint64_t num_pages(std::uint64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes;
}

}  // namespace

TEST_CASE("disk says what was written, for any engine, cache, staging buffer and id width") {
  constexpr std::uint64_t kWide = std::uint64_t{1} << 40;
  const auto caches =
      test::sanitized<std::vector<std::uint64_t>>({0, 12'500, 100'000, 4 << 20}, {0, 100'000});
  int width = 0;
  for (const std::uint64_t sources : {std::uint64_t{4000}, kWide}) {
    CscArrays csc = random_csc(1, sources, 3000, 60'001);
    for (const bool with_ids : {true, false}) {
      const TempDir dir;
      if (!with_ids) csc.edge_ids.clear();
      test::write_csc(dir / "x", sources, csc, width++ == 0 ? 1 << 30 : kWide);
      const Dataset dataset = Dataset::open((dir / "x").string());
      for (const IoChoice io : {IoChoice::kAuto, IoChoice::kPread}) {
        for (const std::uint64_t staging : {std::uint64_t{1}, std::uint64_t{1} << 20}) {
          for (const std::uint64_t cache : caches) {
            CAPTURE(sources);
            CAPTURE(staging);
            CAPTURE(cache);
            const auto topology = dataset.topology(kRelation, on_disk(io, staging, cache));
            CHECK(topology->resident() == nullptr);
            CHECK(topology->num_sources() == sources);
            CHECK(topology->num_edges() == 60'001);
            check_ranges(*topology, csc);
            for (const std::size_t count : {0u, 1u, 700u, 30'000u, 700u}) {
              const RandomKey key = RandomKey(count).with(cache);
              check_positions(*topology, csc, random_positions(60'001, count, key));
            }
            check_positions(*topology, csc, {60'000, 0, 60'000});
          }
        }
      }
    }
  }
}

TEST_CASE("graphs without edges, and without nodes") {
  for (const std::size_t targets : {0u, 1u, 100u}) {
    const TempDir dir;
    const CscArrays csc{std::vector<std::uint64_t>(targets + 1, 0), {}, {}};
    test::write_csc(dir / "x", targets, csc);
    const Dataset dataset = Dataset::open((dir / "x").string());
    const auto topology = dataset.topology(kRelation, on_disk());
    CHECK(topology->num_targets() == targets);
    check_ranges(*topology, csc);
    check_positions(*topology, csc, {});
    CHECK(topology->stats().requests == 0);
  }
}

TEST_CASE("each wanted page is read once, with its neighbours and through short gaps") {
  const TempDir dir;
  CscArrays csc = random_csc(2, 1000, 50, 200'000);
  csc.edge_ids.clear();
  test::write_csc(dir / "x", 1000, csc);
  const Dataset dataset = Dataset::open((dir / "x").string());
  const std::uint64_t pages = num_pages(200'000 * 4);
  std::vector<std::uint64_t> all(200'000);
  std::iota(all.rbegin(), all.rend(), 0);
  // 8 pieces and several waves: still once.
  const auto topology = dataset.topology(kRelation, on_disk(IoChoice::kAuto, 400'000));
  check_positions(*topology, csc, all);
  CHECK(topology->stats().bytes_read == pages * kPageBytes);
  CHECK(topology->stats().positions == 200'000);
  CHECK(topology->stats().page_hits == 0);
  // In one piece: requests of 64 pages.
  const auto once = dataset.topology(kRelation, on_disk(IoChoice::kAuto, 4 << 20));
  check_positions(*once, csc, all);
  CHECK(once->stats().bytes_read == pages * kPageBytes);
  CHECK(once->stats().requests == (pages + 63) / 64);
  // Four positions on three pages, two of them neighbours.
  const auto few = dataset.topology(kRelation, on_disk());
  check_positions(*few, csc, {150'000, 10 * 1024, 11 * 1024, 10 * 1024 + 1});
  CHECK(few->stats().bytes_read == 3 * kPageBytes);
  CHECK(few->stats().requests == 2);
  // Four unwanted pages between two are read through, five are not.
  const auto gaps = dataset.topology(kRelation, on_disk());
  check_positions(*gaps, csc, {20 * 1024, 25 * 1024, 31 * 1024});
  CHECK(gaps->stats().bytes_read == 7 * kPageBytes);
  CHECK(gaps->stats().requests == 2);
  // Or as many as the disk is told to be worth: of the last two pages five, then none.
  for (const std::uint64_t worth : {5u, 0u}) {
    const auto told = dataset.topology(kRelation, on_disk());
    dynamic_cast<PagedTopology&>(*told).set_gap(worth * kPageBytes);
    check_positions(*told, csc, {20 * 1024, 25 * 1024, 31 * 1024, 32 * 1024});
    CHECK(told->stats().bytes_read == (worth == 5 ? 13 : 4) * kPageBytes);
    CHECK(told->stats().requests == (worth == 5 ? 1 : 3));
  }
}

TEST_CASE("what the cache has is not read again") {
  const TempDir dir;
  const CscArrays csc = random_csc(3, 1000, 50, 100'000);
  test::write_csc(dir / "x", 1000, csc);
  const Dataset dataset = Dataset::open((dir / "x").string());
  const auto topology = dataset.topology(kRelation, on_disk(IoChoice::kAuto, 1 << 20, 4 << 20));
  const auto positions = random_positions(100'000, 20'000, RandomKey(1));
  check_positions(*topology, csc, positions);
  const TopologyStats first = topology->stats();
  CHECK(first.bytes_read == 2 * num_pages(400'000) * kPageBytes);  // both files whole
  check_positions(*topology, csc, positions);
  CHECK(topology->stats().bytes_read == first.bytes_read);
  CHECK(topology->stats().page_hits == first.page_hits + 2 * num_pages(400'000));
  auto& paged = dynamic_cast<PagedTopology&>(*topology);
  CHECK(paged.io_stats().bytes == first.bytes_read);
  CHECK(paged.io_stats().requests == first.requests);
  CHECK(topology->stats().latency.quantile(0.5).count() > 0);
  CHECK(!paged.engine_reason().empty());
}

TEST_CASE("a damaged page is one error that names it, and the others are still read") {
  const TempDir dir;
  const CscArrays csc = random_csc(4, 1000, 50, 20'000);
  test::write_csc(dir / "x", 1000, csc);
  for (const std::string name : {"neighbours.bin", "edge_ids.bin"}) {
    const std::filesystem::path path = dir / "x/edges/s__r__t" / name;
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(9'000).put('\x55');
  }
  const Dataset dataset = Dataset::open((dir / "x").string());
  const auto topology = dataset.topology(kRelation, on_disk(IoChoice::kAuto, 1 << 20, 1 << 20));
  const std::vector<std::uint64_t> damaged{7, 2100, 9000};
  std::vector<std::uint64_t> out(3);
  for (int time = 0; time < 2; ++time) {
    auto result = topology->neighbours(damaged, out);
    REQUIRE_FALSE(result);
    CHECK(result.error().code() == ErrorCode::kData);
    const std::string where = (dir / "x/edges/s__r__t/neighbours.bin").string() + " at byte 8192: ";
    CHECK(std::string(result.error().what()).find(where) == 0);
    result = topology->edge_ids(damaged, out);
    REQUIRE_FALSE(result);
    CHECK(std::string(result.error().what()).find("edge_ids.bin at byte 8192: ") !=
          std::string::npos);
    check_positions(*topology, csc, {19'000, 7, 9000});
  }
  // Whoever turns checking off gets the bytes that are there.
  const Dataset unchecked = Dataset::open((dir / "x").string(), {.verify = Verify::kOff});
  CHECK(unchecked.topology(kRelation, on_disk())->edge_ids(damaged, out).ok());
}

TEST_CASE("neighbours that are no nodes and offsets that do not ascend are refused as in RAM") {
  const TempDir dir;
  CscArrays csc = random_csc(5, 1000, 50, 20'000);
  csc.neighbours[5000] = 1000;
  test::write_csc(dir / "x", 1000, csc);
  const Dataset dataset = Dataset::open((dir / "x").string());
  const Error in_ram = expect_error([&] { dataset.topology(kRelation); });
  const auto topology = dataset.topology(kRelation, on_disk());
  std::vector<std::uint64_t> out(2);
  const auto result = topology->neighbours(std::vector<std::uint64_t>{4999, 5000}, out);
  REQUIRE_FALSE(result);
  CHECK(std::string(result.error().what()) == in_ram.what());
  CHECK(result.error().code() == in_ram.code());
  CHECK(topology->neighbours(std::vector<std::uint64_t>{4999, 5001}, out).ok());

  std::swap(csc.offsets[20], csc.offsets[40]);
  test::write_csc(dir / "y", 1001, csc);
  const Dataset other = Dataset::open((dir / "y").string());
  const Error offsets = expect_error([&] { other.topology(kRelation); });
  CHECK(std::string(expect_error([&] { other.topology(kRelation, on_disk()); }).what()) ==
        offsets.what());
}

TEST_CASE("memory is charged, does not grow with the positions, and is all given back") {
  const TempDir dir;
  const CscArrays csc = random_csc(6, 1000, 5000, 300'000);
  test::write_csc(dir / "x", 1000, csc);
  MemoryLedger ledger(64 << 20, "[memory] host");
  const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
  {
    const auto topology = dataset.topology(kRelation, on_disk(IoChoice::kAuto, 128 << 10, 1 << 19));
    const std::uint64_t open = ledger.used();
    CHECK(open < (1 << 19) + (128 << 10) + 5000 * 3 + 40'000);
    check_positions(*topology, csc, random_positions(300'000, 50'000, RandomKey(1)));
    const std::uint64_t after = ledger.used();
    CHECK(after - open <= (128 << 10));
    check_positions(*topology, csc, random_positions(300'000, 600'000, RandomKey(2)));
    CHECK(ledger.used() == after);
  }
  CHECK(ledger.used() == 0);
  MemoryLedger small(200'000, "[memory] host");
  const Dataset tight = Dataset::open((dir / "x").string(), {.ledger = &small});
  CHECK(expect_error([&] { tight.topology(kRelation, on_disk()); }).code() == ErrorCode::kResource);
  CHECK(small.used() == 0);
}

TEST_CASE("through lent buffers the same is read, in fewer pieces, and they are given back") {
  const TempDir dir;
  const CscArrays csc = random_csc(8, 1000, 5000, 300'000);
  test::write_csc(dir / "x", 1000, csc);
  MemoryLedger ledger(64 << 20, "[memory] host");
  const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
  for (const IoChoice io : {IoChoice::kAuto, IoChoice::kPread}) {
    const auto topology = dataset.topology(kRelation, on_disk(io, 64 << 10));
    auto& paged = dynamic_cast<PagedTopology&>(*topology);
    CHECK(paged.staging_bytes() == 64 << 10);
    const auto positions = random_positions(300'000, 60'000, RandomKey(1));
    check_positions(*topology, csc, positions);
    const TopologyStats own = topology->stats();
    const std::uint64_t before = ledger.used();

    paged.lend_staging(2 << 20).or_throw();
    CHECK(ledger.used() == before + (2 << 20));
    check_positions(*topology, csc, positions);
    CHECK(ledger.used() > before + (2 << 20));  // what is wanted is sorted
    CHECK(ledger.used() <= before + (4 << 20));
    const TopologyStats lent = topology->stats() - own;
    CHECK(lent.bytes_read == own.bytes_read);
    CHECK(lent.requests < own.requests);

    paged.lend_staging(0).or_throw();
    CHECK(ledger.used() == before);
    check_positions(*topology, csc, positions);
    CHECK((topology->stats() - own - lent).requests == own.requests);
    // Readers that were given back count.
    CHECK(paged.io_stats().requests == topology->stats().requests);
    CHECK(paged.io_stats().bytes == topology->stats().bytes_read);

    const Charge rest = ledger.charge("rest", ledger.available() - (1 << 20)).or_throw();
    const auto refused = paged.lend_staging(2 << 20);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code() == ErrorCode::kResource);
    check_positions(*topology, csc, positions);
  }
  CHECK(ledger.used() == 0);
}

TEST_CASE("any number of threads may ask") {
  const TempDir dir;
  const CscArrays csc = random_csc(7, 1000, 500, 50'000);
  test::write_csc(dir / "x", 1000, csc);
  const Dataset dataset = Dataset::open((dir / "x").string());
  const auto topology = dataset.topology(kRelation, on_disk(IoChoice::kAuto, 1 << 16, 100'000));
  std::vector<int> right(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < right.size(); ++t) {
      threads.emplace_back([&, t] {
        for (std::uint64_t round = 0; round < 10; ++round) {
          const auto positions = random_positions(50'000, 2000, RandomKey(t).with(round));
          std::vector<std::uint64_t> out(positions.size());
          std::vector<EdgeRange> range(1);
          const std::vector<std::uint64_t> target{t};
          bool good = topology->neighbours(positions, out).ok() &&
                      topology->ranges(target, range).ok() && range[0].begin == csc.offsets[t];
          for (std::size_t i = 0; i < out.size(); ++i)
            good = good && out[i] == csc.neighbours[positions[i]];
          right[t] += good ? 1 : 0;
        }
      });
    }
  }
  CHECK(right == std::vector<int>(4, 10));
}
