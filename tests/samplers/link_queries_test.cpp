// Queries of links, what is kept from training, and what a mini-batch must not see.
#include "sampler_support.h"
#include "samplers/exclude_edges.h"
#include "samplers/held_out_edges.h"
#include "samplers/neighbor_sampler.h"

#include <sluice/no_node.h>
#include <sluice/samplers/link_queries.h>

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <tuple>

namespace sluice {
namespace {

using test::Held;
using test::TestGraph;
using Pair = std::pair<std::uint64_t, std::uint64_t>;

// Nodes that a query's rows stand for.
std::vector<std::uint64_t> nodes_at(const QueryBatch& batch, const Array& rows, std::size_t type) {
  std::vector<std::uint64_t> nodes;
  for (const std::int64_t row : rows.as<std::int64_t>())
    nodes.push_back(row < 0 ? kNoNode
                            : batch.seeds[type].as<std::uint64_t>()[static_cast<std::size_t>(row)]);
  return nodes;
}

// A relation from t0 to t1 and one within t0.
TestGraph two_relations() {
  TestGraph graph = test::make_graph({150, 90});
  test::add_relation(graph, 0, 1, test::random_lists(150, 90, RandomKey(1)));
  test::add_relation(graph, 0, 0, test::random_lists(150, 150, RandomKey(2)));
  return graph;
}

std::multiset<Pair> pairs_of(const TestGraph& graph, std::size_t relation) {
  std::multiset<Pair> pairs;
  for (std::uint64_t target = 0; target < graph.edges[relation].size(); ++target)
    for (const auto& [source, id] : graph.edges[relation][target]) pairs.insert({source, target});
  return pairs;
}

LinkQueries queries_of(const TestGraph& graph,
                       const SamplerGraph& opened,
                       LinkQueryOptions options) {
  NegativeSamplerOptions drawn;
  drawn.count = 3;
  options.negatives = std::make_shared<UniformNegatives>(opened, drawn, RandomKey(3), nullptr);
  return {
      graph.schema, std::make_shared<RelationLinks>(opened.relations[options.relation]), options};
}

}  // namespace

TEST_CASE("links: over an epoch each link of the relation once, rows that stand for its ends") {
  const TestGraph graph = two_relations();
  for (const Held held : {Held::k32, Held::kHidden}) {
    const SamplerGraph opened = graph.open(held);
    for (const std::size_t relation : {0u, 1u}) {
      const std::size_t target_type = relation == 0 ? 1 : 0;
      const LinkQueries queries =
          queries_of(graph, opened, {.relation = relation, .batch_size = 64});
      std::vector<std::vector<Pair>> orders;
      for (const std::uint64_t epoch : {0u, 1u}) {
        std::multiset<Pair> seen;
        orders.emplace_back();
        for (std::uint64_t index = 0; index < queries.num_batches(); ++index) {
          const QueryBatch batch = queries.batch(epoch, index, nullptr).or_throw();
          const Queries& asked = batch.queries;
          CHECK(asked.kind == QueryKind::kLinks);
          const auto sources = nodes_at(batch, asked.sources, 0);
          const auto targets = nodes_at(batch, asked.destinations, target_type);
          const auto others = nodes_at(batch, asked.negatives, target_type);
          REQUIRE(others.size() == 3 * sources.size());
          std::set<std::uint64_t> named;
          for (std::size_t i = 0; i < sources.size(); ++i) {
            seen.insert({sources[i], targets[i]});
            orders.back().push_back({sources[i], targets[i]});
            const auto& list = graph.edges[relation][targets[i]];
            const Pair edge{sources[i], asked.ids.as<std::uint64_t>()[i]};
            CHECK(std::binary_search(list.begin(), list.end(), edge));
            for (std::size_t k = 0; k < 3; ++k) {
              CHECK(others[3 * i + k] != targets[i]);
              named.insert(others[3 * i + k]);
            }
            named.insert(targets[i]);
            if (target_type == 0) named.insert(sources[i]);
          }
          // Each node that is named is a seed once, and no other is.
          const auto seeds = batch.seeds[target_type].as<std::uint64_t>();
          CHECK(named.size() == seeds.size());
          CHECK(std::set(seeds.begin(), seeds.end()) == named);
        }
        CHECK(seen == pairs_of(graph, relation));
      }
      CHECK(orders[0] != orders[1]);
    }
  }
}

TEST_CASE("links: nodes that they share, of both ends, some of them the mini-batch's own") {
  const TestGraph graph = two_relations();
  const SamplerGraph opened = graph.open(Held::k32);
  for (const std::size_t relation : {0u, 1u}) {
    CAPTURE(relation);
    const std::size_t target_type = relation == 0 ? 1 : 0;
    LinkQueryOptions options{.relation = relation, .batch_size = 64};
    options.shared = {400, 10, 0.25};
    const LinkQueries queries(
        graph.schema, std::make_shared<RelationLinks>(opened.relations[relation]), options);
    std::vector<std::vector<std::uint64_t>> drawn;
    for (const std::uint64_t index : {0u, 1u, 0u}) {
      const QueryBatch batch = queries.batch(2, index, nullptr).or_throw();
      const Queries& asked = batch.queries;
      CHECK(asked.chunk == 10);
      REQUIRE(asked.shared.shape() == Array::Shape{7, 400});
      const auto sources = nodes_at(batch, asked.sources, 0);
      const auto targets = nodes_at(batch, asked.destinations, target_type);
      const auto look = [&](const Array& shared, std::size_t type) {
        const std::vector<std::uint64_t> nodes = nodes_at(batch, shared, type);
        std::set<std::uint64_t> ends(type == target_type ? targets.begin() : sources.begin(),
                                     type == target_type ? targets.end() : sources.end());
        if (target_type == 0) ends.insert(sources.begin(), sources.end());
        const std::uint64_t count = graph.schema.nodes[type].count;
        std::set<std::uint64_t> others;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
          if (i % 400 < 100) {
            CHECK(ends.contains(nodes[i]));
          } else {
            others.insert(nodes[i]);
          }
        }
        CHECK(others.size() == count);  // 2,100 draws of at most 150 nodes
        return nodes;
      };
      drawn.push_back(look(asked.shared, target_type));
      CHECK(asked.shared_sources.empty() == (target_type == 0));
      if (target_type != 0) look(asked.shared_sources, 0);
    }
    CHECK(drawn[0] != drawn[1]);
    CHECK(drawn[0] == drawn[2]);
  }
}

TEST_CASE("links: relations that the graph lacks, and no links, are refused") {
  const TestGraph graph = two_relations();
  const SamplerGraph opened = graph.open(Held::k32);
  const auto links = std::make_shared<RelationLinks>(opened.relations[0]);
  const auto refuses = [&](std::shared_ptr<const Links> asked, const LinkQueryOptions& options) {
    try {
      const LinkQueries queries(graph.schema, std::move(asked), options);
      FAIL("nothing was refused");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kUsage);
    }
  };
  refuses(links, {.relation = 2});
  refuses(links, {.exclude = true, .reverse = 2});
  refuses(nullptr, {});
}

TEST_CASE("links: a link's negatives are the same whoever its mates are") {
  const TestGraph graph = two_relations();
  const SamplerGraph opened = graph.open(Held::k32);
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, std::vector<std::uint64_t>>
      by_link;
  for (const std::int64_t size : {7, 64, 5000}) {
    const LinkQueries queries =
        queries_of(graph, opened, {.relation = 0, .batch_size = size, .shuffle = Shuffle::kOff});
    for (std::uint64_t index = 0; index < queries.num_batches(); ++index) {
      const QueryBatch batch = queries.batch(4, index, nullptr).or_throw();
      const auto sources = nodes_at(batch, batch.queries.sources, 0);
      const auto targets = nodes_at(batch, batch.queries.destinations, 1);
      const auto others = nodes_at(batch, batch.queries.negatives, 1);
      for (std::size_t i = 0; i < sources.size(); ++i) {
        const std::vector<std::uint64_t> own(
            others.begin() + static_cast<std::ptrdiff_t>(3 * i),
            others.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
        const auto [at, fresh] = by_link.try_emplace({sources[i], targets[i], 0}, own);
        CHECK(at->second == own);
      }
    }
  }
}

TEST_CASE("held out: what a rule keeps from training, by brute force; both directions together") {
  const TestGraph graph = two_relations();
  const DrawnEdges drawn({0.7, 0.1, 0.2}, DrawnEdges::Ends::kEither, RandomKey(9));
  for (const Held held : {Held::k32, Held::kHidden}) {
    const SamplerGraph opened = graph.open(held);
    const HeldOutEdges found = find_held_out(*opened.relations[1], drawn, nullptr).or_throw();
    std::vector<std::uint64_t> positions;
    std::vector<Pair> valid, test;
    std::uint64_t position = 0;
    for (std::uint64_t target = 0; target < graph.edges[1].size(); ++target) {
      for (const auto& [source, id] : graph.edges[1][target]) {
        const Part part = drawn.part(source, target, id);
        CHECK(part == drawn.part(target, source, id));
        if (part != Part::kTrain) positions.push_back(position);
        if (part == Part::kValid) valid.push_back({source, target});
        if (part == Part::kTest) test.push_back({source, target});
        ++position;
      }
    }
    const auto list = [](const LinkArrays& links) {
      std::vector<Pair> pairs;
      for (std::int64_t i = 0; i < links.sources.numel(); ++i)
        pairs.push_back({links.sources.as<std::uint64_t>()[static_cast<std::size_t>(i)],
                         links.targets.as<std::uint64_t>()[static_cast<std::size_t>(i)]});
      return pairs;
    };
    CHECK(std::ranges::equal(found.positions.as<std::uint64_t>(), positions));
    CHECK(list(found.valid) == valid);
    CHECK(list(found.test) == test);
    const double share = static_cast<double>(positions.size()) / static_cast<double>(position);
    CHECK(share == doctest::Approx(0.3).epsilon(0.25));
  }
}

TEST_CASE("held out: a training edge beside one that is listed is in no part") {
  TestGraph graph = test::make_graph({6});
  // 0 -> 1 (ids 10 and 15), 1 -> 0 (id 11), 2 -> 1 (id 12), 3 -> 4 (id 13), 4 -> 3 (id 14).
  test::add_relation(
      graph, 0, 0, {{{1, 11}}, {{0, 10}, {0, 15}, {2, 12}}, {}, {{4, 14}}, {{3, 13}}, {}});
  const auto ids = [](std::vector<std::uint64_t> values) {
    Array made = Array::make(DType::kU64, {static_cast<std::int64_t>(values.size())}).or_throw();
    std::ranges::copy(values, made.as<std::uint64_t>().begin());
    return made;
  };
  const SamplerGraph opened = graph.open(Held::k32);
  const auto found = [&](SplitEdgeIds split, Twins twins) {
    return find_held_out(
        *opened.relations[0], ListedEdges(std::move(split), "split 'x'", twins), nullptr);
  };
  const auto positions = [&](SplitEdgeIds split, Twins twins) {
    const HeldOutEdges held = found(std::move(split), twins).or_throw();
    const auto all = held.positions.as<std::uint64_t>();
    // Those beside the listed ones are not asked about.
    CHECK(held.valid.ids.as<std::uint64_t>().front() == 13);
    CHECK(held.valid.ids.numel() + held.test.ids.numel() == 2);
    CHECK(held.in_no_part() == std::ssize(all) - 2);
    return std::vector(all.begin(), all.end());
  };
  const auto listed = [&] { return SplitEdgeIds{{}, ids({13}), ids({10})}; };
  CHECK(positions(listed(), Twins::kStay) == std::vector<std::uint64_t>{1, 5});
  CHECK(positions(listed(), Twins::kSameEnds) == std::vector<std::uint64_t>{1, 2, 5});
  CHECK(positions(listed(), Twins::kEitherWay) == std::vector<std::uint64_t>{0, 1, 2, 4, 5});
  // What is in no list is in no part, unless it came after all that are.
  CHECK(positions({ids({11, 14}), ids({13}), ids({10})}, Twins::kStay) ==
        std::vector<std::uint64_t>{1, 3, 5});
  const auto missing = found({{}, ids({13, 99}), ids({10})}, Twins::kStay);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code() == ErrorCode::kData);
  CHECK(missing.error().message() == "split 'x', part valid: there is no edge 99");
}

TEST_CASE("excluded edges are in no layer, and all others still are, in their order") {
  const TestGraph graph = two_relations();
  const SamplerGraph opened = graph.open(Held::k32);
  NeighborSampler sampler(
      opened, {.fanout = {4, 3}}, {.transpose = false, .edge_ids = true}, RandomKey(1));
  LinkQueryOptions options{.relation = 1, .batch_size = 40};
  options.exclude = true;
  options.reverse = 1;
  const LinkQueries queries = queries_of(graph, opened, options);
  std::size_t taken_out = 0;
  for (std::uint64_t index = 0; index < queries.num_batches(); ++index) {
    const QueryBatch asked = queries.batch(0, index, nullptr).or_throw();
    const SampleRequest request{0, asked.round, index, SeedLists(asked.seeds)};
    const Batch whole = sampler.sample(request, nullptr).or_throw();
    Batch rest = sampler.sample(request, nullptr).or_throw();
    exclude_edges(rest, asked.excluded, nullptr).or_throw();
    std::set<Pair> hidden;
    const auto sources = nodes_at(asked, asked.queries.sources, 0);
    const auto targets = nodes_at(asked, asked.queries.destinations, 0);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      hidden.insert({sources[i], targets[i]});
      hidden.insert({targets[i], sources[i]});
    }
    for (std::size_t layer = 0; layer < whole.layers.size(); ++layer) {
      for (std::size_t r = 0; r < whole.layers[layer].size(); ++r) {
        const Block& before = whole.layers[layer][r];
        const Block& after = rest.layers[layer][r];
        const auto from = whole.nodes[before.source_type].ids.as<std::uint64_t>();
        const auto to = whole.nodes[before.target_type].ids.as<std::uint64_t>();
        using Edge = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
        const auto edges = [&](const Block& block, bool without) {
          std::vector<Edge> all;
          for (std::size_t t = 0; t < static_cast<std::size_t>(block.num_targets); ++t) {
            for (auto e = block.offsets.as<std::int64_t>()[t];
                 e < block.offsets.as<std::int64_t>()[t + 1];
                 ++e) {
              const auto at = static_cast<std::size_t>(e);
              const auto row = static_cast<std::size_t>(block.neighbours.as<std::int32_t>()[at]);
              const bool is_hidden = r == 1 && hidden.contains({from[row], to[t]});
              if (without && is_hidden) continue;
              all.push_back({from[row], to[t], block.edge_ids.as<std::uint64_t>()[at]});
            }
          }
          return all;
        };
        CHECK(edges(after, false) == edges(before, true));
        taken_out += static_cast<std::size_t>(before.num_edges() - after.num_edges());
      }
    }
  }
  CHECK(taken_out > 0);
}

}  // namespace sluice
