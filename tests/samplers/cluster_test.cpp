// Clusters, their order over an epoch, and batches of whole clusters.
#include "batch_checks.h"

#include "samplers/cluster_sampler.h"
#include "samplers/cluster_seed_order.h"

#include "support/expect_error.h"
#include "support/sanitized.h"

#include <doctest/doctest.h>

#include <map>
#include <numeric>

namespace sluice {
namespace {

using test::Held;
using test::sanitized;
using test::TestGraph;
using testing::array_of;

std::vector<std::uint64_t> members_of(const Clusters& clusters, std::size_t type, std::uint64_t c) {
  std::vector<std::uint64_t> members;
  for (std::uint64_t i = 0; i < clusters.size(type, c); ++i)
    members.push_back(clusters.member(type, c, i));
  return members;
}

// A random part for each node of each type, some clusters without nodes of a type.
std::vector<std::vector<std::uint32_t>> random_parts(const TestGraph& graph,
                                                     std::uint64_t num_clusters,
                                                     RandomKey key) {
  std::vector<std::vector<std::uint32_t>> parts;
  for (const NodeTypeSchema& type : graph.schema.nodes) {
    parts.emplace_back();
    for (std::uint64_t node = 0; node < type.count; ++node) {
      parts.back().push_back(static_cast<std::uint32_t>(
          key.with(parts.size()).below(num_clusters, node) * 7 % num_clusters));
    }
  }
  return parts;
}

Clusters make_clusters(const TestGraph& graph,
                       const std::vector<std::vector<std::uint32_t>>& parts,
                       std::uint64_t num_clusters,
                       MemoryLedger* ledger = nullptr) {
  std::vector<Array> arrays;
  for (const auto& of_type : parts) arrays.push_back(array_of(of_type));
  return Clusters::from_parts(graph.schema, std::move(arrays), num_clusters, ledger);
}

TEST_CASE("every node is in the one cluster that lists it, however clusters are given") {
  const TestGraph graph = test::make_graph({100, 7, 0});
  const auto parts = random_parts(graph, 9, RandomKey(3));
  MemoryLedger ledger;
  {
    const std::vector<Clusters> all = {
        Clusters::even(graph.schema, 9),
        Clusters::even(graph.schema, 1),
        Clusters::from_ranges(
            graph.schema, {{0, 10, 10, 99, 100}, {0, 0, 0, 7, 7}, {0, 0, 0, 0, 0}}, &ledger),
        make_clusters(graph, parts, 9, &ledger)};
    for (const Clusters& clusters : all) {
      for (std::size_t type = 0; type < 3; ++type) {
        REQUIRE(clusters.covers(type));
        std::vector<std::uint64_t> listed;
        for (std::uint64_t c = 0; c < clusters.num_clusters(); ++c) {
          const auto members = members_of(clusters, type, c);
          CHECK(std::is_sorted(members.begin(), members.end()));
          for (const std::uint64_t node : members) CHECK(clusters.cluster_of(type, node) == c);
          listed.insert(listed.end(), members.begin(), members.end());
        }
        std::sort(listed.begin(), listed.end());
        std::vector<std::uint64_t> expected(graph.schema.nodes[type].count);
        std::iota(expected.begin(), expected.end(), 0);
        CHECK(listed == expected);
      }
    }
    CHECK(members_of(all[2], 0, 1).empty());
    for (std::uint64_t node = 0; node < 100; ++node)
      CHECK(all[3].cluster_of(0, node) == parts[0][node]);
    CHECK(ledger.used() > 0);
  }
  CHECK(ledger.used() == 0);
}

TEST_CASE("an epoch has each seed once, in batches of whole clusters") {
  const TestGraph graph = test::make_graph({3, 300});
  const Clusters clusters = make_clusters(graph, random_parts(graph, 40, RandomKey(5)), 40);
  const auto ids = test::random_seeds(graph, 1, 60, RandomKey(1));
  const std::set<std::uint64_t> known(ids.begin(), ids.end());
  std::set<std::uint64_t> used;
  for (const std::uint64_t id : ids) used.insert(clusters.cluster_of(1, id));
  std::map<std::vector<std::uint64_t>, int> firsts;
  for (const std::uint64_t q : {1u, 3u, 100u}) {
    const ClusterSeedOrder order(
        clusters, graph.schema, 1, ids, q, Shuffle::kEveryEpoch, RandomKey(2), nullptr);
    CHECK(order.num_batches() == (used.size() + q - 1) / q);
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
      std::vector<std::uint64_t> all;
      for (std::uint64_t b = 0; b < order.num_batches(); ++b) {
        const auto seeds = order.batch(epoch, b);
        if (b == 0) ++firsts[seeds];
        std::map<std::uint64_t, std::uint64_t> taken;
        for (const std::uint64_t seed : seeds) ++taken[clusters.cluster_of(1, seed)];
        CHECK(taken.size() == std::min<std::uint64_t>(q, used.size() - b * q));
        for (const auto& [cluster, count] : taken) {
          std::uint64_t expected = 0;
          for (const std::uint64_t node : members_of(clusters, 1, cluster))
            expected += known.contains(node) ? 1u : 0u;
          CHECK(count == expected);
        }
        all.insert(all.end(), seeds.begin(), seeds.end());
      }
      CHECK(all.size() == ids.size());
      CHECK(std::set(all.begin(), all.end()) == known);
    }
  }
  CHECK(firsts.size() > 6);  // epochs have orders of their own
  const ClusterSeedOrder plain(
      clusters, graph.schema, 1, ids, 2, Shuffle::kOff, RandomKey(2), nullptr);
  CHECK(plain.batch(0, 1) == plain.batch(9, 1));
  CHECK(clusters.cluster_of(1, plain.batch(0, 0)[0]) == *used.begin());
}

TEST_CASE("a batch has all nodes of its seeds' clusters, of every type, and all edges among them") {
  for (std::uint64_t seed = 0; seed < sanitized(40u, 10u); ++seed) {
    CAPTURE(seed);
    const TestGraph graph = test::random_graph(seed);
    const auto clusters = std::make_shared<const Clusters>(
        make_clusters(graph, random_parts(graph, 8, RandomKey(seed)), 8));
    ClusterSampler sampler(
        graph.open(Held::k32), {.given = clusters}, {.edge_ids = true}, RandomKey(1));
    std::vector<std::uint64_t> ids(graph.schema.nodes[0].count);
    std::iota(ids.begin(), ids.end(), 0);
    const ClusterSeedOrder order(
        *clusters, graph.schema, 0, ids, 3, Shuffle::kEveryEpoch, RandomKey(seed), nullptr);
    for (std::uint64_t b = 0; b < order.num_batches(); ++b) {
      const auto seeds = order.batch(0, b);
      const Batch batch = sampler.sample({.index = b, .seeds = seeds}, nullptr).or_throw();
      std::set<std::uint64_t> chosen;
      for (const std::uint64_t node : seeds) chosen.insert(clusters->cluster_of(0, node));
      const auto inside = [&](std::size_t type, std::uint64_t node) {
        return chosen.contains(clusters->cluster_of(type, node));
      };
      for (std::size_t type = 0; type < batch.nodes.size(); ++type) {
        const auto listed = batch.nodes[type].ids.as<std::uint64_t>();
        std::size_t expected = 0;
        for (std::uint64_t node = 0; node < graph.schema.nodes[type].count; ++node)
          expected += inside(type, node) ? 1u : 0u;
        CHECK(listed.size() == expected);
        for (const std::uint64_t node : listed) CHECK(inside(type, node));
      }
      for (const Block& block : batch.layers[0]) {
        std::vector<std::uint64_t> expected;
        for (const std::uint64_t target : batch.nodes[block.target_type].ids.as<std::uint64_t>()) {
          for (const auto& [source, id] : graph.edges[block.relation][target])
            if (inside(block.source_type, source)) expected.push_back(id);
        }
        const auto found = block.edge_ids.as<std::uint64_t>();
        CHECK(std::vector(found.begin(), found.end()) == expected);
      }
    }
  }
}

TEST_CASE("clusters that do not fit are errors that say what is wrong") {
  const TestGraph graph = test::make_graph({4, 2});
  const GraphSchema& schema = graph.schema;
  const auto ranges = [&](const std::vector<std::vector<std::uint64_t>>& bounds) {
    return test::expect_error([&] { Clusters::from_ranges(schema, bounds, nullptr); });
  };
  CHECK(ranges({{0, 2, 4}, {0, 1}}).code() == ErrorCode::kData);
  CHECK(ranges({{0, 2, 3}, {0, 1, 2}}).code() == ErrorCode::kData);
  CHECK(ranges({{0, 3, 2, 4}}).code() == ErrorCode::kData);
  CHECK(ranges({{0, 4}, {0, 2}, {0, 1}}).code() == ErrorCode::kData);
  CHECK(ranges({}).code() == ErrorCode::kUsage);
  const auto beyond = test::expect_error([&] { make_clusters(graph, {{0, 1, 2, 0}, {0, 1}}, 2); });
  CHECK(beyond.message() == "node 2 of type 't0' is in part 2; there are 2 clusters");
  const auto few = test::expect_error([&] { make_clusters(graph, {{0, 1}, {0, 1}}, 2); });
  CHECK(few.code() == ErrorCode::kData);

  const auto half = std::make_shared<const Clusters>(make_clusters(graph, {{0, 1, 1, 0}}, 2));
  const auto uncovered = test::expect_error(
      [&] { ClusterSampler(graph.open(Held::k32), {.given = half}, {}, RandomKey(1)); });
  CHECK(uncovered.code() == ErrorCode::kUsage);
  CHECK(uncovered.message().find("'t1'") != std::string::npos);
  const auto none = test::expect_error(
      [&] { ClusterSampler(graph.open(Held::k32), {.clusters = 0}, {}, RandomKey(1)); });
  CHECK(none.code() == ErrorCode::kUsage);
  const auto no_layers = test::expect_error(
      [&] { ClusterSampler(graph.open(Held::k32), {.layers = 0}, {}, RandomKey(1)); });
  CHECK(no_layers.code() == ErrorCode::kUsage);
  const auto order = [&](std::size_t type, std::vector<std::uint64_t> ids, std::uint64_t q) {
    return test::expect_error([&] {
      ClusterSeedOrder(*half, schema, type, ids, q, Shuffle::kOff, RandomKey(1), nullptr);
    });
  };
  CHECK(order(0, {1}, 0).code() == ErrorCode::kUsage);
  CHECK(order(1, {1}, 1).code() == ErrorCode::kUsage);
  CHECK(order(0, {4}, 1).code() == ErrorCode::kData);
}

}  // namespace
}  // namespace sluice
