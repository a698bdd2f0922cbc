#include "pipeline/data/label_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace sluice;

namespace {

Array classes(const std::vector<std::int32_t>& labels, MemoryLedger& ledger) {
  Array array =
      Array::make(DType::kI32, {static_cast<std::int64_t>(labels.size())}, &ledger, "labels")
          .or_throw();
  std::ranges::copy(labels, array.as<std::int32_t>().begin());
  return array;
}

}  // namespace

TEST_CASE("classes come out as they went in, and few of them take a byte a node") {
  MemoryLedger ledger;
  for (const std::int32_t most : {0, 253, 254, 255, 1 << 20}) {
    CAPTURE(most);
    std::vector<std::int32_t> all(10'000, 3);
    all[0] = -1;
    all[77] = most;
    const std::uint64_t before = ledger.used();
    const LabelTable labels(classes(all, ledger), &ledger);
    const std::uint64_t taken = ledger.used() - before;
    CHECK((taken < 20'000) == (most <= 254));
    const std::vector<std::uint64_t> nodes{77, 0, 5, 77};
    const Array some = labels.gather(nodes, ledger);
    REQUIRE(some.dtype() == DType::kI32);
    const auto values = some.as<std::int32_t>();
    CHECK(std::vector<std::int32_t>(values.begin(), values.end()) ==
          std::vector<std::int32_t>{most, -1, 3, most});
  }
}

TEST_CASE("labels of other kinds stay as they are, and so do classes without room to narrow them") {
  MemoryLedger ledger;
  Array bits = Array::make(DType::kU8, {3, 2}, &ledger, "labels").or_throw();
  for (std::size_t i = 0; i < 6; ++i) bits.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  const LabelTable rows(std::move(bits), &ledger);
  const std::vector<std::uint64_t> nodes{2, 0};
  const Array some = rows.gather(nodes, ledger);
  CHECK(some.shape() == Array::Shape{2, 2});
  const auto values = some.as<std::uint8_t>();
  CHECK(std::vector<int>(values.begin(), values.end()) == std::vector<int>{4, 5, 0, 1});

  MemoryLedger small(50'000);
  const LabelTable wide(classes(std::vector<std::int32_t>(12'000, 1), small), &small);
  CHECK(wide.gather(nodes, ledger).as<std::int32_t>()[0] == 1);
  CHECK(LabelTable().empty());
}

TEST_CASE("the label of an id beyond them is refused, narrow or not") {
  MemoryLedger ledger;
  for (const std::int32_t most : {3, 1 << 20}) {
    const LabelTable labels(classes({0, most}, ledger), &ledger);
    const std::vector<std::uint64_t> beyond{1, 2};
    try {
      (void)labels.gather(beyond, ledger);
      FAIL("nothing was refused");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kUsage);
      CHECK(error.message().find("id 2") != std::string::npos);
    }
    CHECK(labels.gather({}, ledger).numel() == 0);
  }
}
