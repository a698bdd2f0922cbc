#include "samplers/node_table.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

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
