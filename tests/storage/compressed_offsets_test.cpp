#include "storage/topology/compressed_offsets.h"

#include "support/expect_error.h"
#include "support/graph_dataset.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

#include <algorithm>
#include <ios>

using namespace sluice;
using sluice::test::expect_error;
using sluice::test::TempDir;

namespace {

using Offsets = std::vector<std::uint64_t>;

Offsets offsets_of(const std::vector<std::uint64_t>& degrees) {
  Offsets offsets{0};
  for (const std::uint64_t degree : degrees) offsets.push_back(offsets.back() + degree);
  return offsets;
}

// Builds from pieces of `piece` offsets.
CompressedOffsets build(const Offsets& offsets,
                        std::size_t piece = 1000,
                        MemoryLedger* ledger = nullptr) {
  CompressedOffsets::Builder builder(offsets.size() - 1, offsets.back(), "offsets.bin", ledger);
  for (std::size_t at = 0; at < offsets.size(); at += piece)
    builder.add(std::span(offsets).subspan(at, std::min(piece, offsets.size() - at))).or_throw();
  return builder.finish().or_throw();
}

void check_same(const CompressedOffsets& built, const Offsets& offsets) {
  REQUIRE(built.num_targets() == offsets.size() - 1);
  REQUIRE(built.num_edges() == offsets.back());
  std::size_t wrong = 0;
  for (std::size_t target = 0; target + 1 < offsets.size(); ++target) {
    const EdgeRange range = built.range(target);
    wrong += range.begin != offsets[target] || range.end != offsets[target + 1] ? 1u : 0u;
  }
  REQUIRE(wrong == 0);
}

// Degrees of one kind a stretch of nodes: none, few, hubs above 2^8, 2^16 and 2^32.
Offsets random_offsets(std::uint64_t seed) {
  const RandomKey key = RandomKey(seed).with("offsets");
  const std::uint64_t nodes = key.below(seed % 10 == 0 ? 200'000 : 700, 0);
  std::vector<std::uint64_t> degrees(nodes);
  for (std::uint64_t n = 0; n < nodes; ++n) {
    const std::uint64_t kind = key.with(n / 97).below(6, 0);
    const std::uint64_t most = kind == 0   ? 1
                               : kind <= 3 ? 20
                               : kind == 4 ? 3'000
                                           : std::uint64_t{1} << (10 + key.below(28, n / 97));
    degrees[n] = key.with("degree").below(most, n);
  }
  return offsets_of(degrees);
}

}  // namespace

TEST_CASE("ranges are those of the plain offsets, whatever the degrees") {
  for (std::uint64_t seed = 0; seed < test::sanitized(120u, 40u); ++seed) {
    CAPTURE(seed);
    const Offsets offsets = random_offsets(seed);
    check_same(build(offsets, 1 + seed * 37 % 5000), offsets);
  }
}

TEST_CASE("edge cases: no nodes, one node, whole blocks and segments, ends at a width's bound") {
  check_same(build({0}), {0});
  for (const std::uint64_t degree : {0ull,
                                     1ull,
                                     255ull,
                                     256ull,
                                     65'535ull,
                                     65'536ull,
                                     0xffffffffull,
                                     0x100000000ull,
                                     1ull << 61})
    check_same(build({0, degree}), {0, degree});
  for (const std::uint64_t nodes : {63u, 64u, 65u, 65'535u, 65'536u, 65'537u, 131'072u}) {
    CAPTURE(nodes);
    const Offsets flat = offsets_of(std::vector<std::uint64_t>(nodes, 3));
    check_same(build(flat), flat);
    Offsets none(nodes + 1, 0);
    check_same(build(none, 64), none);
  }
}

TEST_CASE("a hub costs its block wider ends, and no more") {
  const std::uint64_t nodes = 6400;
  std::vector<std::uint64_t> degrees(nodes, 10);
  const std::uint64_t plain = build(offsets_of(degrees)).bytes();
  CHECK(plain == nodes / 64 * (16 + 64 * 2));  // 640 edges a block: 16 bits
  degrees[777] = 70'000;
  CHECK(build(offsets_of(degrees)).bytes() == plain + 64 * 2);
  degrees[778] = std::uint64_t{5} << 32;
  const Offsets offsets = offsets_of(degrees);
  const CompressedOffsets wide = build(offsets);
  CHECK(wide.bytes() == plain + 64 * 6);
  check_same(wide, offsets);
}

TEST_CASE("memory is charged while it lives") {
  MemoryLedger ledger;
  {
    const CompressedOffsets built =
        build(offsets_of(std::vector<std::uint64_t>(100'000, 7)), 1000, &ledger);
    CHECK(ledger.used() == built.bytes());
  }
  CHECK(ledger.used() == 0);
  MemoryLedger small(100'000);
  const Offsets offsets = offsets_of(std::vector<std::uint64_t>(100'000, 7));
  CHECK(expect_error([&] { build(offsets, 1000, &small); }).code() == ErrorCode::kResource);
  CHECK(small.used() == 0);
}

TEST_CASE("offsets that cannot be are refused by file") {
  const auto refused = [](const Offsets& offsets, std::uint64_t nodes, std::uint64_t edges) {
    const Error error = expect_error([&] {
      CompressedOffsets::Builder builder(nodes, edges, "x/offsets.bin", nullptr);
      builder.add(offsets).or_throw();
      (void)builder.finish().or_throw();
    });
    CHECK(error.code() == ErrorCode::kData);
    return std::string(error.what());
  };
  const std::string text = "x/offsets.bin: the offsets do not ascend from 0 to the edge count, 9";
  CHECK(refused({0, 5, 4, 9}, 3, 9) == text);   // down
  CHECK(refused({1, 5, 6, 9}, 3, 9) == text);   // not from 0
  CHECK(refused({0, 5, 6, 8}, 3, 9) == text);   // not to the end
  CHECK(refused({0, 5, 6, 10}, 3, 9) == text);  // beyond it
  CHECK(refused({0, 5, 9}, 3, 9) == text);      // too few
}

TEST_CASE("a dataset's offsets are read as they were written, each page checked") {
  const TempDir dir;
  constexpr std::uint64_t kNodes = 300'000;  // more than one piece of the file, and one segment
  std::vector<std::uint64_t> degrees(kNodes);
  for (std::uint64_t n = 0; n < kNodes; ++n) degrees[n] = RandomKey(1).below(7, n);
  test::CscArrays csc{offsets_of(degrees), {}, {}};
  csc.neighbours.resize(csc.offsets.back());
  test::write_csc(dir / "x", 1, csc);
  const Manifest manifest = Manifest::load(dir / "x").or_throw();
  const RelationSchema& relation = manifest.schema.relations[0];
  MemoryLedger ledger;
  {
    const auto loaded = CompressedOffsets::load(dir / "x", manifest, relation, {.ledger = &ledger});
    check_same(loaded, csc.offsets);
    CHECK(ledger.used() == loaded.bytes());
    CHECK(loaded.bytes() < kNodes * 2);
  }
  const std::filesystem::path path = dir / "x/edges/s__r__t/offsets.bin";
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(1'500'000).put('\x7f');
  const Error error =
      expect_error([&] { (void)CompressedOffsets::load(dir / "x", manifest, relation, {}); });
  CHECK(error.code() == ErrorCode::kData);
  CHECK(std::string(error.what()) ==
        path.string() + " at byte 1499136: the page does not match its checksum");
}
