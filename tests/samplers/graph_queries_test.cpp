// Queries of whole graphs: each once an epoch, with just its nodes.
#include "samplers/graph_queries.h"
#include "temporal_support.h"

#include <doctest/doctest.h>
#include <sluice/error.h>

#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kGraphs = 40;

// Graph g has g % 5 nodes: some have none.
GraphQueryOptions some_graphs(std::int64_t batch_size) {
  std::vector<std::uint64_t> offsets{0}, asked;
  for (std::uint64_t g = 0; g < kGraphs; ++g) {
    offsets.push_back(offsets.back() + g % 5);
    if (g % 3 != 0) asked.push_back(g);
  }
  return {.graphs = test::make_array(asked),
          .offsets = test::make_array(offsets),
          .type = 1,
          .batch_size = batch_size,
          .shuffle = Shuffle::kEveryEpoch};
}

}  // namespace

TEST_CASE("graph queries: over an epoch each graph once, with rows for all of its nodes") {
  for (const std::int64_t size : {1, 4, 100}) {
    const GraphQueryOptions options = some_graphs(size);
    const auto starts = options.offsets.as<std::uint64_t>();
    const GraphQueries queries(options, 3);
    std::vector<std::uint64_t> seen;
    for (std::uint64_t index = 0; index < queries.num_batches(); ++index) {
      const QueryBatch batch = queries.batch(2, index, nullptr).or_throw();
      const Queries& asked = batch.queries;
      CHECK(asked.kind == QueryKind::kGraphs);
      CHECK(asked.size() == asked.ids.numel());
      CHECK(batch.seeds[0].empty());
      const auto seeds = batch.seeds[1].as<std::uint64_t>();
      for (std::size_t i = 0; i < static_cast<std::size_t>(asked.size()); ++i) {
        const std::uint64_t graph = asked.ids.as<std::uint64_t>()[i];
        seen.push_back(graph);
        std::vector<std::uint64_t> wanted, nodes;
        for (std::uint64_t n = starts[graph]; n < starts[graph + 1]; ++n) wanted.push_back(n);
        const auto offsets = asked.offsets.as<std::int64_t>();
        for (std::int64_t at = offsets[i]; at < offsets[i + 1]; ++at)
          nodes.push_back(seeds[static_cast<std::size_t>(
              asked.nodes.as<std::int64_t>()[static_cast<std::size_t>(at)])]);
        CHECK(nodes == wanted);
      }
    }
    std::ranges::sort(seen);
    const auto all = options.graphs.as<std::uint64_t>();
    CHECK(seen == std::vector<std::uint64_t>(all.begin(), all.end()));
    CHECK(queries.num_queries() == seen.size());
  }
}

TEST_CASE("graph queries: graphs that are not there, and mini-batches of none, are refused") {
  GraphQueryOptions options = some_graphs(4);
  options.graphs = test::make_array(std::vector<std::uint64_t>{1, kGraphs});
  CHECK_THROWS_WITH_AS(GraphQueries(options, 2), doctest::Contains("no graph 40"), Error);
  CHECK_THROWS_AS(GraphQueries(some_graphs(0), 2), Error);
}

}  // namespace sluice
