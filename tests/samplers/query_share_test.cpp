// An epoch's mini-batches shared out among processes by number.
#include "temporal_support.h"

#include <doctest/doctest.h>
#include <sluice/error.h>
#include <sluice/samplers/node_queries.h>
#include <sluice/samplers/query_share.h>

#include <initializer_list>
#include <memory>
#include <numeric>
#include <vector>

namespace sluice {
namespace {

GraphSchema one_type() {
  GraphSchema schema;
  schema.nodes.push_back({"node", 1000});
  return schema;
}

std::shared_ptr<const QuerySource> some_nodes(const GraphSchema& schema, std::uint64_t count) {
  std::vector<std::uint64_t> nodes(count);
  std::iota(nodes.begin(), nodes.end(), std::uint64_t{0});
  NodeQueryOptions options;
  options.nodes = test::make_array(nodes);
  options.batch_size = 10;
  return std::make_shared<NodeQueries>(schema, std::move(options), nullptr);
}

std::vector<std::uint64_t> seeds_of(const QueryBatch& batch) {
  const auto seeds = batch.seeds[0].as<std::uint64_t>();
  return {seeds.begin(), seeds.end()};
}

}  // namespace

TEST_CASE("query share: the ranks' mini-batches are those of one, keyed by their numbers there") {
  const GraphSchema schema = one_type();
  for (const std::uint64_t count : std::initializer_list<std::uint64_t>{0, 5, 100, 237}) {
    const auto all = some_nodes(schema, count);
    for (const std::uint64_t ranks : std::initializer_list<std::uint64_t>{1, 2, 3, 50}) {
      std::uint64_t sum = 0, even = 0;
      for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        const QueryShare share(all, rank, ranks, Remainder::kKept);
        sum += share.num_batches();
        even += QueryShare(all, rank, ranks, Remainder::kDropped).num_batches();
        for (std::uint64_t index = 0; index < share.num_batches(); ++index) {
          const QueryBatch mine = share.batch(3, index, nullptr).or_throw();
          const QueryBatch theirs = all->batch(3, rank + index * ranks, nullptr).or_throw();
          CHECK(mine.index == index);
          CHECK(mine.round == theirs.round);
          CHECK(mine.epoch == 3);
          CHECK(seeds_of(mine) == seeds_of(theirs));
        }
      }
      CHECK(sum == all->num_batches());
      CHECK(even == all->num_batches() / ranks * ranks);
    }
  }
}

TEST_CASE("query share: a rank that is not there") {
  const GraphSchema schema = one_type();
  const auto make = [&] {
    return QueryShare(some_nodes(schema, 5), 2, 2, Remainder::kKept).num_batches();
  };
  CHECK_THROWS_AS((void)make(), Error);
}

}  // namespace sluice
