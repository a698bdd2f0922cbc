// Relations whose few targets with edges are listed, beside the same with an offset a target.
#include "storage/format/list_cursor.h"
#include "storage/topology/compressed_offsets.h"
#include "storage/topology/node_list.h"
#include "support/expect_error.h"
#include "support/graph_dataset.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/dataset.h>
#include <sluice/random.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

using namespace sluice;
using sluice::test::CscArrays;
using sluice::test::expect_error;
using sluice::test::TempDir;

namespace {

using Ids = std::vector<std::uint64_t>;

constexpr std::uint64_t kSources = 50;

// In-edges of the targets in `with`, one to five each.
CscArrays csc_of(std::uint64_t targets, const Ids& with, RandomKey key) {
  CscArrays csc{{0}, {}, {}};
  std::size_t next = 0;
  for (std::uint64_t target = 0; target < targets; ++target) {
    const bool has = next < with.size() && with[next] == target;
    const std::uint64_t degree = has ? 1 + key.below(5, target) : 0;
    next += has ? 1 : 0;
    csc.offsets.push_back(csc.offsets.back() + degree);
  }
  for (std::uint64_t e = 0; e < csc.offsets.back(); ++e) {
    csc.neighbours.push_back(key.with("sources").below(kSources, e));
    csc.edge_ids.push_back(key.with("ids").below(1 << 20, e));
  }
  return csc;
}

// Relations "s__plain__t" and "s__listed__t" of the same edges. @param listed what stands in the
// file, where that is not `with`
void write_both(const std::filesystem::path& path,
                const CscArrays& csc,
                const Ids& with,
                const Ids* listed = nullptr) {
  DatasetWriter writer(path, Overwrite::kRefuse, nullptr);
  writer.schema().nodes.push_back({.name = "s", .count = kSources});
  writer.schema().nodes.push_back({.name = "t", .count = csc.offsets.size() - 1});
  test::add_csc(writer, {.source = "s", .name = "plain", .target = "t"}, csc);
  CscArrays few = csc;
  few.offsets = {0};
  for (const std::uint64_t target : with) few.offsets.push_back(csc.offsets[target + 1]);
  RelationSchema relation{.source = "s", .name = "listed", .target = "t"};
  relation.listed_targets = with.size();
  test::add_csc(writer, relation, few);
  test::write_ids(writer,
                  relation_path(relation, "listed.bin"),
                  DType::kU32,
                  listed == nullptr ? with : *listed);
  writer.commit("test");
}

void check_same(Topology& listed, const CscArrays& csc) {
  Ids targets(csc.offsets.size() - 1);
  std::iota(targets.rbegin(), targets.rend(), 0);
  REQUIRE(listed.num_targets() == targets.size());
  REQUIRE(listed.num_edges() == csc.offsets.back());
  std::vector<EdgeRange> ranges(targets.size());
  listed.ranges(targets, ranges).or_throw();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < targets.size(); ++i)
    wrong +=
        ranges[i].begin != csc.offsets[targets[i]] || ranges[i].end != csc.offsets[targets[i] + 1]
            ? 1u
            : 0u;
  REQUIRE(wrong == 0);
  Ids positions(csc.offsets.back()), neighbours(positions.size()), ids(positions.size());
  std::iota(positions.begin(), positions.end(), 0);
  listed.neighbours(positions, neighbours).or_throw();
  listed.edge_ids(positions, ids).or_throw();
  REQUIRE((neighbours == csc.neighbours));
  REQUIRE((ids == csc.edge_ids));
}

void check_cursors(const std::filesystem::path& path, const CscArrays& csc, const Ids& with) {
  const Manifest manifest = Manifest::load(path).or_throw();
  const auto cursor = [&](const char* key) {
    const RelationSchema& relation = *manifest.schema.relation(key);
    return ListCursor(
        path, manifest, RelationLists::of(manifest.schema, relation, ListsOf::kTargets), nullptr);
  };
  for (const char* const key : {"s__plain__t", "s__listed__t"}) {
    CAPTURE(key);
    ListCursor ends = cursor(key);
    CHECK(ends.end() == 0);
    Ids found{0};
    while (found.size() < csc.offsets.size()) found.push_back(ends.next_end());
    CHECK((found == csc.offsets));
  }
  ListCursor lists = cursor("s__listed__t");
  std::size_t at = 0;
  while (const auto list = lists.next()) {
    REQUIRE(at < with.size());
    REQUIRE(list->node == with[at]);
    REQUIRE(list->begin == csc.offsets[with[at]]);
    REQUIRE(list->end == csc.offsets[with[at] + 1]);
    ++at;
  }
  CHECK(at == with.size());
}

// Targets with edges: each with the chance 1 / `one_in`, only in stretches of 200 every 1000 where
// they are to be `clustered`.
enum class Spread { kEven, kClustered };
Ids draw_targets(std::uint64_t targets, std::uint64_t one_in, Spread spread, RandomKey key) {
  Ids with;
  for (std::uint64_t target = 0; target < targets; ++target)
    if ((spread == Spread::kEven || target % 1000 < 200) && key.below(one_in, target) == 0)
      with.push_back(target);
  return with;
}

}  // namespace

TEST_CASE("listed targets: memory, disk and cursors say what an offset a target says") {
  constexpr std::uint64_t kSeed = 58;
  MESSAGE("seed " << kSeed);
  const RandomKey key(kSeed);
  Ids all(700);
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::pair<std::uint64_t, Ids>> cases{
      {1, {}}, {1, {0}}, {700, {}}, {700, {0}}, {700, {699}}, {700, {0, 699}}, {700, all}};
  for (std::uint64_t round = 0; round < 12; ++round) {
    const std::uint64_t targets = 1 + key.below(12'000, round);
    const Spread spread = round % 2 == 0 ? Spread::kEven : Spread::kClustered;
    cases.emplace_back(
        targets, draw_targets(targets, 2 + round * round * 3, spread, key.with("t").with(round)));
  }
  for (const auto& [targets, with] : cases) {
    CAPTURE(targets);
    CAPTURE(with.size());
    const TempDir dir;
    const CscArrays csc = csc_of(targets, with, key.with(targets).with(with.size()));
    write_both(dir / "x", csc, with);
    CHECK(Manifest::load(dir / "x").or_throw().version == 7);
    const Dataset dataset = Dataset::open((dir / "x").string());
    const auto memory = dataset.topology("s__listed__t");
    check_same(*memory, csc);
    const CscView& view = *memory->resident();
    REQUIRE(view.listed.in_use());
    REQUIRE(view.listed.size() == with.size());
    for (std::size_t list = 0; list < with.size(); ++list)
      REQUIRE(view.target_of(list) == with[list]);
    check_same(*dataset.topology("s__listed__t",
                                 {.placement = Placement::kDisk, .staging_bytes = 1 << 20}),
               csc);
    check_same(*dataset.topology("s__plain__t"), csc);
    check_cursors(dir / "x", csc, with);
  }
}

TEST_CASE("listed nodes: ranks by brute force, in both widths") {
  const RandomKey key(7);
  for (const std::uint64_t nodes : {std::uint64_t{5'000'000'000}, std::uint64_t{1} << 32}) {
    std::set<std::uint64_t> drawn{0, nodes - 1};
    while (drawn.size() < 500) {
      const std::uint64_t i = drawn.size();
      drawn.insert(i % 3 == 0 ? key.below(nodes, i) : nodes / 2 + 2 * i);
    }
    const Ids sorted(drawn.begin(), drawn.end());
    const DType width = node_id_dtype(nodes);
    Array array = Array::make(width, {static_cast<std::int64_t>(sorted.size())}).or_throw();
    if (width == DType::kU32) {
      std::ranges::transform(sorted, array.as<std::uint32_t>().begin(), [](std::uint64_t id) {
        return static_cast<std::uint32_t>(id);
      });
    } else {
      std::ranges::copy(sorted, array.as<std::uint64_t>().begin());
    }
    const NodeList list = NodeList::make(std::move(array), nodes, "listed.bin", nullptr).or_throw();
    CHECK(list.bytes() <= sorted.size() * (size_of(width) + 2) + 32);
    const auto check = [&](std::uint64_t id) {
      const auto below = std::ranges::lower_bound(sorted, id) - sorted.begin();
      REQUIRE(list.view().rank(id) == static_cast<std::size_t>(below));
    };
    for (const std::uint64_t id : sorted) {
      check(id);
      if (id + 1 < nodes) check(id + 1);
      if (id != 0) check(id - 1);
    }
    for (std::uint64_t i = 0; i < 1000; ++i) check(key.with("asked").below(nodes, i));
  }
}

TEST_CASE("listed targets: memory by the edges, wherever these are kept") {
  const TempDir dir;
  constexpr std::uint64_t kTargets = 1'000'000;
  const Ids with = draw_targets(kTargets, 1000, Spread::kEven, RandomKey(3));
  write_both(dir / "x", csc_of(kTargets, with, RandomKey(4)), with);
  MemoryLedger ledger;
  const Manifest manifest = Manifest::load(dir / "x").or_throw();
  const RelationSchema& relation = *manifest.schema.relation("s__listed__t");
  const auto offsets = CompressedOffsets::load(dir / "x", manifest, relation, {.ledger = &ledger});
  CHECK(offsets.num_targets() == kTargets);
  CHECK(offsets.bytes() < with.size() * 16);
  CHECK(ledger.used() < with.size() * 16 + 4096);
  const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
  const std::uint64_t before = ledger.used();
  const auto topology = dataset.topology("s__listed__t");
  // Offsets, targets and their directory, and 8 bytes an edge.
  CHECK(ledger.used() - before < with.size() * 15 + relation.edges * 8 + 4096);
}

TEST_CASE("listed targets that do not ascend, or are none, are refused everywhere") {
  const Ids with{3, 50, 600};
  const CscArrays csc = csc_of(700, with, RandomKey(5));
  for (const Ids& listed : {Ids{3, 3, 600}, Ids{50, 3, 600}, Ids{3, 50, 700}}) {
    CAPTURE(listed.at(2));
    const TempDir dir;
    write_both(dir / "x", csc, with, &listed);
    const Dataset dataset = Dataset::open((dir / "x").string());
    for (const Placement where : {Placement::kMemory, Placement::kDisk}) {
      const Error error =
          expect_error([&] { (void)dataset.topology("s__listed__t", {.placement = where}); });
      CHECK(error.code() == ErrorCode::kData);
      CHECK(
          std::string(error.what()).find("listed.bin: the listed nodes do not ascend below 700") !=
          std::string::npos);
    }
    const Error error = expect_error([&] { check_cursors(dir / "x", csc, with); });
    CHECK(error.code() == ErrorCode::kData);
    CHECK(std::string(error.what()).find("listed.bin") != std::string::npos);
  }
}

TEST_CASE("nodes are listed where that takes fewer bytes") {
  constexpr auto kListed = OffsetLayout::kListedNodes;
  // 8 (n + 1) bytes beside 8 (e + 1) + 4 e: equal at e = 2 n / 3.
  CHECK(choose_offset_layout(30'000, 19'999) == kListed);
  CHECK(choose_offset_layout(30'000, 20'000) == OffsetLayout::kEveryNode);
  CHECK(choose_offset_layout(30'000, 0) == kListed);
  CHECK(choose_offset_layout(8'190, 0) == OffsetLayout::kEveryNode);  // 65,528 bytes
  CHECK(choose_offset_layout(8'191, 0) == kListed);                   // 64 KiB
  // Ids of 8 bytes: equal at e = n / 2.
  CHECK(choose_offset_layout(std::uint64_t{1} << 33, (std::uint64_t{1} << 32) - 1) == kListed);
  CHECK(choose_offset_layout(std::uint64_t{1} << 33, std::uint64_t{1} << 32) ==
        OffsetLayout::kEveryNode);
}
