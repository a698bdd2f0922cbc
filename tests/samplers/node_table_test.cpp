#include <sluice/random.h>
#include <sluice/samplers/node_table.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

namespace sluice {
namespace {

TEST_CASE("rows come in order of first appearance, batch after batch") {
  MemoryLedger ledger;
  NodeTable table;
  for (std::uint64_t batch = 0; batch < 20; ++batch) {
    table.clear();
    CHECK(table.size() == 0);
    std::map<std::uint64_t, std::int32_t> reference;
    const RandomKey key = RandomKey(3).with(batch);
    const std::uint64_t spread = batch % 2 == 0 ? 1000 : ~std::uint64_t{0};
    for (std::uint64_t i = 0; i < 100 * batch; ++i) {
      REQUIRE(table.reserve(1, &ledger));
      const std::uint64_t id = key.below(spread, i);
      const auto [at, is_new] = reference.emplace(id, static_cast<std::int32_t>(reference.size()));
      CHECK(table.insert(id) == at->second);
    }
    CHECK(table.size() == reference.size());
    for (const auto& [id, row] : reference) CHECK(table.ids()[static_cast<std::size_t>(row)] == id);
  }
  CHECK(ledger.used() > 0);
  CHECK(ledger.entries().at(0).name == "sampler workspace");
}

TEST_CASE("slots of their own give ids the same rows as hashing does") {
  MemoryLedger ledger;
  NodeTable own, hashed;
  own.set_range(500);
  for (std::uint64_t batch = 0; batch < 50; ++batch) {
    own.clear();
    hashed.clear();
    for (std::uint64_t i = 0; i < 20 * batch; ++i) {
      const std::uint64_t id = RandomKey(4).with(batch).below(500, i);
      REQUIRE(own.reserve(1, &ledger));
      REQUIRE(hashed.reserve(1, nullptr));
      own.prefetch(id);
      CHECK(own.insert(id) == hashed.insert(id));
    }
    CHECK(std::equal(own.ids().begin(), own.ids().end(), hashed.ids().begin(), hashed.ids().end()));
  }
  CHECK(ledger.used() >= NodeTable::range_bytes(500));
}

TEST_CASE("where memory does not let every id have a slot, a hash table does") {
  MemoryLedger ledger(64 * 1024);
  NodeTable table;
  table.set_range(100'000);
  REQUIRE(table.reserve(100, &ledger));
  CHECK(table.insert(99'999) == 0);
  CHECK(table.insert(7) == 1);
  CHECK(table.insert(99'999) == 0);
  CHECK(ledger.peak() < NodeTable::range_bytes(100'000));
}

TEST_CASE("a table beyond 32-bit rows is refused by name") {
  NodeTable table;
  const auto reserved = table.reserve(NodeTable::kMaxRows + 1, nullptr);
  REQUIRE(!reserved);
  CHECK(reserved.error().code() == ErrorCode::kResource);
  CHECK(reserved.error().message().find("nodes of one type") != std::string::npos);
}

TEST_CASE("a refused table works again once there is room") {
  MemoryLedger ledger(128 * 1024);
  NodeTable table;
  REQUIRE(table.reserve(100, &ledger));
  for (std::uint64_t id = 0; id < 100; ++id) table.insert(id * id);
  {
    const Charge other = ledger.charge("other", 110000).or_throw();
    CHECK(!table.reserve(1000, &ledger));
  }
  REQUIRE(table.reserve(1000, &ledger));
  for (std::uint64_t id = 0; id < 200; ++id)
    CHECK(table.insert(id * id) == static_cast<std::int32_t>(id));
}

}  // namespace
}  // namespace sluice
