// Which relations stay in memory: against all choices there are, and by hand.
#include "budget/relation_places.h"

#include "budget/placements.h"
#include "support/expect_error.h"

#include <sluice/units.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr Placement kMemory = Placement::kMemory, kDisk = Placement::kDisk;

std::uint64_t bytes_of(const std::vector<RelationWorth>& all, std::uint64_t chosen) {
  std::uint64_t sum = 0;
  for (std::size_t r = 0; r < all.size(); ++r) sum += (chosen >> r & 1) != 0 ? all[r].bytes : 0;
  return sum;
}

double reads_of(const std::vector<RelationWorth>& all, std::uint64_t chosen) {
  double sum = 0;
  for (std::size_t r = 0; r < all.size(); ++r) sum += (chosen >> r & 1) != 0 ? all[r].reads : 0;
  return sum;
}

std::uint64_t bits(const std::vector<bool>& kept) {
  std::uint64_t chosen = 0;
  for (std::size_t r = 0; r < kept.size(); ++r) chosen |= std::uint64_t{kept[r]} << r;
  return chosen;
}

// Papers, of which 100 are trained on, cite papers; authors write them and work somewhere.
GraphSchema papers() {
  GraphSchema schema;
  schema.nodes = {{.name = "paper", .count = 1000},
                  {.name = "author", .count = 500},
                  {.name = "place", .count = 10}};
  schema.relations = {{.source = "paper", .name = "cites", .target = "paper", .edges = 10'000},
                      {.source = "author", .name = "writes", .target = "paper", .edges = 2000},
                      {.source = "paper", .name = "wrote", .target = "author", .edges = 2000},
                      {.source = "author", .name = "at", .target = "place", .edges = 500}};
  schema.splits = {{.name = "default", .node_type = "paper", .train = 100}};
  return schema;
}

// Where edges may be, best first; no features are in memory.
std::vector<Places> edge_choices(const GraphSchema& schema,
                                 std::uint64_t budget,
                                 StorageSection storage = {}) {
  storage.features = Keep::kDisk;
  std::vector<Places> all;
  for (const PlaceChoice& choice : place_choices(storage, schema, {}, budget, Turns::kNever))
    all.push_back(choice.places);
  return all;
}

std::uint64_t bytes_of(const GraphSchema& schema, const std::string& name) {
  const std::vector<bool> named = relations_named(schema, std::vector{name});
  return bytes_of(worth_of_relations(schema), bits(named));
}

}  // namespace

TEST_CASE("relations that are kept fit, save half of what is possible, and leave no room unused") {
  std::mt19937_64 draw(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<RelationWorth> all(1 + draw() % 8);
    std::vector<bool> must(all.size(), false);
    for (std::size_t r = 0; r < all.size(); ++r) {
      all[r] = {draw() % 100, static_cast<double>(draw() % 50)};
      must[r] = draw() % 10 == 0;
    }
    const std::uint64_t room = draw() % 300;
    const std::uint64_t kept = bits(relations_to_keep(all, room, must));
    if (bytes_of(all, bits(must)) > room) {
      CHECK(kept == 0);
      continue;
    }
    CHECK((kept & bits(must)) == bits(must));
    REQUIRE(bytes_of(all, kept) <= room);
    double best = 0;
    for (std::uint64_t other = 0; other < std::uint64_t{1} << all.size(); ++other) {
      const bool may_be = (other & bits(must)) == bits(must) && bytes_of(all, other) <= room;
      if (may_be) best = std::max(best, reads_of(all, other) - reads_of(all, bits(must)));
    }
    CHECK(2 * (reads_of(all, kept) - reads_of(all, bits(must))) >= best);
    for (std::size_t r = 0; r < all.size(); ++r) {
      if ((kept >> r & 1) == 0) CHECK(bytes_of(all, kept) + all[r].bytes > room);
    }
  }
}

TEST_CASE("reads of relations are those of two layers from the training nodes on") {
  const std::vector<RelationWorth> worth = worth_of_relations(papers());
  // 100 papers draw 10 of cites and 2 of writes each; then 1000 papers do, and 200 authors draw 4.
  const auto pages = [](double edges) { return 1 + (edges - 1) * 4 / 4096; };
  CHECK(worth[0].reads == doctest::Approx(1100 * pages(10)));
  CHECK(worth[1].reads == doctest::Approx(1100 * pages(2)));
  CHECK(worth[2].reads == doctest::Approx(200 * pages(4)));
  CHECK(worth[3].reads == 0);  // nobody asks about a place
  CHECK(worth[0].bytes >= 40'000);
  CHECK(worth[1].bytes < worth[0].bytes);

  GraphSchema long_lists = papers();
  long_lists.relations[0].edges =
      1'000'000'000;  // a million each: 16 are drawn, each of another page
  CHECK(worth_of_relations(long_lists)[0].reads == doctest::Approx(1700 * 16));
  GraphSchema listed = papers();
  listed.relations[0].listed_targets = 100;  // one of ten has a list, ten times as long
  CHECK(worth_of_relations(listed)[0].reads == doctest::Approx((10 + 16) * pages(100)));
  GraphSchema without = papers();
  without.splits.clear();  // then all may be asked about
  CHECK(worth_of_relations(without)[3].reads > 0);
}

TEST_CASE("where not all edges fit into half of the budget, some relations' are in memory") {
  const GraphSchema schema = papers();
  const std::uint64_t writes = bytes_of(schema, "writes"), wrote = bytes_of(schema, "wrote");
  const std::uint64_t cites = bytes_of(schema, "cites"), at = bytes_of(schema, "at");
  const std::uint64_t everything = writes + wrote + cites + at;

  // All fit in half; as far as nothing else needs the room. A quarter has none for cites.
  const std::vector<Places> roomy = edge_choices(schema, 2 * everything);
  REQUIRE(roomy.size() == 3);
  CHECK(roomy[0].topology.where == kMemory);
  CHECK(roomy[0].relations.empty());
  CHECK(roomy[1].topology.where == kDisk);
  CHECK(roomy[1].relations == RelationPlaces{kDisk, kMemory, kMemory, kMemory});
  CHECK(roomy[2].topology.where == kDisk);
  CHECK(roomy[2].relations.empty());

  // Half holds writes, whose reads are most a byte, and what fits beside it.
  const std::vector<Places> tight = edge_choices(schema, 2 * (writes + at));
  REQUIRE(tight.size() >= 2);
  CHECK(tight[0].relations == RelationPlaces{kDisk, kMemory, kDisk, kMemory});
  CHECK(tight[0].topology.why.find("in memory: author__writes__paper, author__at__place; on disk: "
                                   "paper__cites__paper, paper__wrote__author") !=
        std::string::npos);
  CHECK(tight.back().relations.empty());
  CHECK(tight.back().topology.where == kDisk);

  GraphSchema alone = papers();
  alone.relations.resize(1);
  const std::vector<Places> one = edge_choices(alone, 2 * cites - 2);
  REQUIRE(one.size() == 1);
  CHECK(one[0].relations.empty());
  CHECK(one[0].topology.where == kDisk);
}

TEST_CASE("relations that are named are in memory wherever the others are") {
  const GraphSchema schema = papers();
  StorageSection storage;
  storage.topology_in_memory = {"cites", "author__at__place"};
  storage.topology = Keep::kDisk;
  const RelationPlaces named{kMemory, kDisk, kDisk, kMemory};
  const std::vector<Places> disk = edge_choices(schema, kMiB, storage);
  REQUIRE(disk.size() == 1);
  CHECK(disk[0].relations == named);
  CHECK(disk[0].topology.where == kDisk);
  storage.topology = Keep::kMemory;
  CHECK(edge_choices(schema, kMiB, storage).at(0).relations.empty());
  storage.topology = Keep::kAuto;
  for (const std::uint64_t budget : {std::uint64_t{1}, kKiB * 50, kKiB * 200, kMiB}) {
    for (const Places& places : edge_choices(schema, budget, storage)) {
      if (places.topology.where == kMemory) continue;
      REQUIRE(places.relations.size() == 4);
      CHECK(places.relations[0] == kMemory);
      CHECK(places.relations[3] == kMemory);
    }
    CHECK(edge_choices(schema, budget, storage).back().relations == named);
  }
  storage.topology_in_memory = {"cites", "writes", "wrote", "at"};
  storage.topology = Keep::kDisk;
  CHECK(edge_choices(schema, kMiB, storage).at(0).topology.where == kMemory);

  storage.topology_in_memory = {"reads"};
  const Error error = expect_error([&] { (void)edge_choices(schema, kMiB, storage); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(error.message() == "'storage.topology_in_memory' names 'reads', which is no relation");
  CHECK(error.hint() ==
        "it has: paper__cites__paper, author__writes__paper, paper__wrote__author, "
        "author__at__place");
}

TEST_CASE("a relation with appended edges, which cannot be read from disk, is kept first") {
  GraphSchema schema = papers();
  schema.relations[2].appended = 5;
  const std::uint64_t wrote = bytes_of(schema, "wrote");
  const std::vector<Places> some = edge_choices(schema, 2 * wrote);
  CHECK(some.at(0).relations == RelationPlaces{kDisk, kDisk, kMemory, kDisk});

  // Nowhere is it on disk, where it would be refused, whatever the budget has room for.
  const RelationPlaces least{kDisk, kDisk, kMemory, kDisk};
  for (const std::uint64_t budget : {std::uint64_t{1}, wrote, kKiB * 200, kMiB}) {
    CAPTURE(budget);
    const std::vector<Places> all = edge_choices(schema, budget);
    CHECK(all.back().relations == least);
    for (const Places& places : all)
      if (places.topology.where == kDisk) CHECK(places.relations.at(2) == kMemory);
  }
  StorageSection storage;
  storage.topology_in_memory = {"at"};
  CHECK(edge_choices(schema, 1, storage).back().relations ==
        RelationPlaces{kDisk, kDisk, kMemory, kMemory});
  // Who asks for the disk is told.
  storage = {};
  storage.topology = Keep::kDisk;
  CHECK(edge_choices(schema, kMiB, storage).at(0).relations.empty());
  schema.relations.erase(schema.relations.begin(), schema.relations.begin() + 2);
  schema.relations.resize(1);
  const std::vector<Places> alone = edge_choices(schema, 1);
  REQUIRE(alone.size() == 1);
  CHECK(alone[0].topology.where == kMemory);
}

TEST_CASE("where relations are is told by key, of many by a few") {
  GraphSchema schema = papers();
  const RelationPlaces places{kDisk, kMemory, kMemory, kDisk};
  CHECK(relations_text(schema, places) ==
        "in memory: author__writes__paper, paper__wrote__author; on disk: paper__cites__paper, "
        "author__at__place");
  CHECK(relations_text(schema, {}).empty());
  CHECK(places_by_key(schema, places).at("paper__wrote__author") == "memory");
  CHECK(loaded_note("labels", "x") == "loaded");
  CHECK(loaded_note("topology", "") == "loaded");
  CHECK(loaded_note("topology", "x") == "loaded, x");
  CHECK(topology_name(kDisk, places) == "mixed");
  CHECK(topology_name(kDisk, {}) == "disk");
  CHECK(topology_name(kMemory, {}) == "memory");
  schema.relations.resize(1);
  for (int r = 1; r < 20; ++r) {
    schema.relations.push_back(schema.relations[0]);
    schema.relations.back().name = "r" + std::to_string(r);
  }
  RelationPlaces many(20, kMemory);
  many[0] = kDisk;
  CHECK(relations_text(schema, many) ==
        "in memory: paper__r1__paper, paper__r2__paper, paper__r3__paper, paper__r4__paper, "
        "paper__r5__paper, paper__r6__paper, paper__r7__paper, paper__r8__paper and 11 more; on "
        "disk: paper__cites__paper");
}
