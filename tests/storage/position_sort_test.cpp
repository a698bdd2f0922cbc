#include "storage/topology/position_sort.h"

#include "support/sanitized.h"

#include <sluice/random.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

using namespace sluice;

namespace {

// Takes all pieces; checks order and bounds; returns how many pieces each page was in.
std::map<std::uint64_t, int> take_all(PositionSort& sort,
                                      const std::vector<std::uint64_t>& positions,
                                      unsigned page_log2,
                                      std::size_t most) {
  std::vector<int> seen(positions.size());
  std::map<std::uint64_t, int> pieces_of;
  std::size_t wrong = 0;
  sort.start(positions, page_log2).or_throw();
  for (PositionPiece piece = sort.next(); !piece.wanted.empty(); piece = sort.next()) {
    REQUIRE(piece.wanted.size() <= most);
    REQUIRE(piece.first % (std::uint64_t{1} << page_log2) == 0);
    std::uint64_t last_page = 0;
    for (std::size_t i = 0; i < piece.wanted.size(); ++i) {
      const auto [offset, index] = piece.wanted[i];
      const std::uint64_t page = (piece.first + offset) >> page_log2;
      wrong += positions.at(index) == piece.first + offset && page >= last_page ? 0u : 1u;
      ++seen[index];
      if (i == 0 || page != last_page) ++pieces_of[page];
      last_page = page;
    }
  }
  REQUIRE(wrong == 0);
  CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
  return pieces_of;
}

}  // namespace

TEST_CASE("each position comes once, by page, in pieces of bounded size") {
  for (std::uint64_t seed = 0; seed < test::sanitized(60u, 15u); ++seed) {
    CAPTURE(seed);
    const RandomKey key = RandomKey(seed).with("positions");
    const std::uint64_t edges = 1 + key.below(std::uint64_t{1} << (4 + seed % 45), 0);
    const std::size_t most = 1 + key.below(seed % 3 == 0 ? 100 : 30'000, 1);
    const auto page_log2 = static_cast<unsigned>(9 + seed % 2);
    PositionSort sort(edges, most, nullptr);
    for (const std::uint64_t count : {0u, 1u, 300u, 20'000u}) {
      std::vector<std::uint64_t> positions(count);
      for (std::uint64_t i = 0; i < count; ++i)
        positions[i] = i % 3 == 0 ? i % edges : key.with(count).below(edges, i);
      (void)take_all(sort, positions, page_log2, most);
    }
  }
}

TEST_CASE("a page lies in one piece, unless its bin alone is too much for a piece") {
  const std::uint64_t edges = 1 << 24;
  const RandomKey key = RandomKey(7).with("positions");
  std::vector<std::uint64_t> positions(200'000);
  for (std::uint64_t i = 0; i < positions.size(); ++i) positions[i] = key.below(edges, i);
  PositionSort sort(edges, 10'000, nullptr);
  for (const auto& [page, pieces] : take_all(sort, positions, 10, 10'000)) REQUIRE(pieces == 1);
  // 30,000 positions of one page.
  positions.assign(30'000, 12'345);
  CHECK(take_all(sort, positions, 10, 10'000).at(12'345 >> 10) == 3);
}

TEST_CASE("files of more than 2^32 positions are cut where an offset would not fit") {
  const std::uint64_t edges = std::uint64_t{1} << 45;
  const std::vector<std::uint64_t> positions{
      edges - 1, 0, edges / 2, 0xffffffff, 0x100000000, 0x1ffffffff, 5};
  PositionSort sort(edges, 1000, nullptr);
  CHECK(take_all(sort, positions, 10, 1000).size() == 6);
}

TEST_CASE("scratch is charged, bounded, and kept for the next call") {
  MemoryLedger ledger;
  {
    PositionSort sort(1 << 20, 1000, &ledger);
    CHECK(ledger.used() == 0);
    sort.start(std::vector<std::uint64_t>(128, 3), 10).or_throw();
    CHECK(ledger.used() == 160 * 16);
    sort.start(std::vector<std::uint64_t>(100'000, 3), 10).or_throw();
    CHECK(ledger.used() == 1000 * 16);
  }
  CHECK(ledger.used() == 0);
}
