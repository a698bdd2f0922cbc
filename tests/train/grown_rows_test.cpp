// Learned rows that could not grow with their dataset: nothing goes on with the short ones.
#include "core/threads.h"
#include "support/expect_error.h"
#include "train/row_tables.h"
#include "train/support.h"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::test;

TEST_CASE("a growth of learned rows that failed is told again by all that goes on with them") {
  const RunOptions options = options_of(
      "dataset.path = \"unused\"\nmodel.type = \"graphsage\"\nembedding = { dim = 8 }\n");
  GraphSchema schema;
  schema.nodes.resize(2);
  schema.nodes[0].name = "small";
  schema.nodes[0].count = 100;
  schema.nodes[1].name = "large";
  schema.nodes[1].count = 100;
  MemoryLedger ledger(32 * kMiB, "--memory");
  ThreadArena threads(1);
  RowTables tables(options, schema, Placement::kMemory, RowsMode::kExact, &ledger, &threads);
  schema.nodes[0].count = 200;
  schema.nodes[1].count = 10'000'000;
  const Error first = expect_error([&] { tables.grow(schema); });
  CHECK(first.code() == ErrorCode::kResource);
  const TempDir dir;
  const auto again = [&](const auto& action) {
    const Error error = expect_error(action);
    CHECK(error.code() == first.code());
    CHECK(error.message() == first.message());
  };
  again([&] { tables.grow(schema); });
  again([&] { tables.set_rate(0.1); });
  again([&] { (void)tables.commit(); });
  again([&] { tables.share_cache(0, 1); });
  again([&] { tables.open(dir / "rows", {}); });
  again([&] { tables.reopen(dir / "rows", {}); });
}
