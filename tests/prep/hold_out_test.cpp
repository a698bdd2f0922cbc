// sluice-prep hold-out: what is left and what stands apart, against sets of pairs; what it may not
// depend on, and what it refuses.
#include "prep/holdout/hold_out.h"
#include "prep/check/verify.h"
#include "prep/holdout/node_pairs.h"
#include "propagate_support.h"
#include "support/expect_error.h"
#include "support/sample_dataset.h"
#include "support/temp_dir.h"

#include <sluice/dataset.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

using PairSet = std::set<NodePair>;

NodePair either_way(std::uint64_t a, std::uint64_t b) {
  return {std::min(a, b), std::max(a, b)};
}

// Of a relation that is stored: (source, target), as often as it is there.
std::vector<NodePair> stored_edges(const std::filesystem::path& path, const std::string& relation) {
  const Dataset dataset = Dataset::open(path.string());
  const auto topology = dataset.topology(relation);
  const CscView& csc = *topology->resident();
  std::vector<NodePair> edges;
  for (std::uint64_t target = 0; target + 1 < csc.offsets.size(); ++target)
    for (std::uint64_t at = csc.offsets[target]; at < csc.offsets[target + 1]; ++at)
      edges.emplace_back(csc.neighbour(at), target);
  return edges;
}

struct Rows {
  std::vector<NodePair> links, others;
};

Rows rows_of(const Array& part, std::uint64_t relation) {
  Rows rows;
  const auto cells = part.as<std::uint64_t>();
  for (std::size_t at = 0; at < cells.size(); at += 5) {
    CHECK(cells[at] == relation);
    (cells[at + 4] == 1 ? rows.links : rows.others).emplace_back(cells[at + 2], cells[at + 3]);
  }
  return rows;
}

HoldOutOptions options_of(const TempDir& dir, const std::string& out) {
  HoldOutOptions options;
  options.dataset = dir / "x";
  options.out = dir / out;
  options.created_by = "test";
  options.seed = 3;
  return options;
}

void check_whole(const std::filesystem::path& dataset, PropagationSession& session) {
  const VerifyReport report = verify_dataset(dataset.string(), session.context);
  CHECK(report.problems == std::vector<std::string>());
  CHECK(report.strangers == std::vector<std::string>());
}

}  // namespace

TEST_CASE("what is held out is in the graph in no direction, and all else is") {
  const TempDir dir;
  write_sample(dir / "x", {.nodes = 300, .edges = 3000});
  PropagationSession session;
  HoldOutOptions options = options_of(dir, "y");
  options.pairs = dir / "pairs";
  const HoldOutReport report = hold_out_links(options, session.context);
  CHECK(session.ledger.used() == 0);
  check_whole(dir / "y", session);

  PairSet before, after;
  const auto edges_before = stored_edges(dir / "x", "node__edge__node");
  const auto edges_after = stored_edges(dir / "y", "node__edge__node");
  for (const auto& [a, b] : edges_before) before.insert(either_way(a, b));
  for (const auto& [a, b] : edges_after) after.insert(either_way(a, b));
  CHECK(report.removed == edges_before.size() - edges_after.size());

  const Dataset dataset = Dataset::open((dir / "y").string());
  const EdgeSplit split = dataset.edge_split("links");
  CHECK(split.relation.empty());
  CHECK(split.train.empty());
  const Rows valid = rows_of(split.valid, 0), test = rows_of(split.test, 0);
  CHECK(valid.links.size() == report.valid);
  CHECK(valid.others.size() == report.valid);
  CHECK(test.links.size() == report.test);
  CHECK(test.others.size() == report.test);
  // Some 2955 pairs: deviations of the parts are 12 and 16.
  CHECK(std::abs(static_cast<double>(report.valid) - 0.05 * static_cast<double>(before.size())) <
        60);
  CHECK(std::abs(static_cast<double>(report.test) - 0.1 * static_cast<double>(before.size())) < 80);

  PairSet held_out, others;
  for (const Rows* part : {&valid, &test}) {
    for (const NodePair& pair : part->links) {
      CHECK(before.contains(pair));
      CHECK_FALSE(after.contains(pair));
      CHECK(held_out.insert(pair).second);
    }
    for (const NodePair& pair : part->others) {
      CHECK(pair.first < pair.second);
      CHECK_FALSE(before.contains(pair));
      CHECK(others.insert(pair).second);
    }
  }
  PairSet all = after;
  all.insert(held_out.begin(), held_out.end());
  CHECK(all == before);
  // Those that stay keep how often they are there; loops stay.
  for (const NodePair& edge : edges_after)
    CHECK(std::ranges::count(edges_after, edge) == std::ranges::count(edges_before, edge));
  for (const NodePair& edge : edges_before)
    if (edge.first == edge.second) CHECK(std::ranges::count(edges_after, edge) > 0);
  // The files hold the same pairs.
  std::string text = "source,target,label\n";
  for (const auto& [a, b] : test.links)
    text += std::to_string(a) + "," + std::to_string(b) + ",1\n";
  for (const auto& [a, b] : test.others)
    text += std::to_string(a) + "," + std::to_string(b) + ",0\n";
  CHECK(read_all(dir / "pairs/test.csv") == text);
  CHECK(std::filesystem::exists(dir / "pairs/valid.csv"));
  // Nodes are what they were.
  CHECK(read_all(dir / "y/nodes/node/features.bin") == read_all(dir / "x/nodes/node/features.bin"));
  CHECK(dataset.split("default").train.numel() == 150);
}

TEST_CASE("the same bytes with any threads; others by another seed") {
  const TempDir dir;
  write_sample(dir / "x", {.nodes = 200, .edges = 1500});
  PropagationSession one(1), four(4);
  (void)hold_out_links(options_of(dir, "a"), one.context);
  (void)hold_out_links(options_of(dir, "b"), four.context);
  for (const char* file : {"splits/links/test.bin",
                           "splits/links/valid.bin",
                           "edges/node__edge__node/neighbours.bin"}) {
    CAPTURE(std::string(file));
    CHECK(read_all(dir / ("a/" + std::string(file))) == read_all(dir / ("b/" + std::string(file))));
  }
  HoldOutOptions other = options_of(dir, "c");
  other.seed = 4;
  (void)hold_out_links(other, one.context);
  CHECK(read_all(dir / "c/splits/links/test.bin") != read_all(dir / "a/splits/links/test.bin"));
}

TEST_CASE("between two types an edge goes from the reverse relation too; others stay") {
  const TempDir dir;
  const TypedGraph graph(5);
  graph.write(dir / "x");
  PropagationSession session;
  HoldOutOptions options = options_of(dir, "y");
  options.relation = "b__w__a";
  options.reverse = "a__wr__b";
  options.test = 0.3;
  const HoldOutReport report = hold_out_links(options, session.context);
  check_whole(dir / "y", session);
  const Dataset dataset = Dataset::open((dir / "y").string());
  const auto& relations = dataset.schema().relations;
  const auto place = static_cast<std::uint64_t>(
      std::ranges::find(relations, "b__w__a", &RelationSchema::key) - relations.begin());
  const Rows test = rows_of(dataset.edge_split("links").test, place);
  CHECK(report.test == test.links.size());
  REQUIRE(report.test > 10);
  const auto forward = stored_edges(dir / "y", "b__w__a");
  const auto backward = stored_edges(dir / "y", "a__wr__b");
  const auto had = stored_edges(dir / "x", "b__w__a");
  for (const auto& [source, target] : test.links) {
    CHECK(std::ranges::count(had, NodePair(source, target)) > 0);
    CHECK(std::ranges::count(forward, NodePair(source, target)) == 0);
    CHECK(std::ranges::count(backward, NodePair(target, source)) == 0);
  }
  CHECK(forward.size() == backward.size());
  CHECK(stored_edges(dir / "y", "a__r__a") == stored_edges(dir / "x", "a__r__a"));
}

TEST_CASE("a reverse that is not named would show the links, and is refused") {
  const TempDir dir;
  TypedGraph graph(5);
  // Within a type too: all of r the other way round, twice, and a relation that is another one.
  for (const auto& [source, target] : graph.edges["a__r__a"]) {
    graph.edges["a__back__a"].emplace_back(target, source);
    graph.edges["a__twin__a"].emplace_back(target, source);
    graph.edges["a__other__a"].emplace_back((source + 7) % TypedGraph::kA, target);
  }
  graph.write(dir / "x");
  PropagationSession session;
  const auto held_out = [&](const char* relation, const char* reverse) {
    HoldOutOptions options = options_of(dir, std::string("of ") + relation);
    options.relation = relation;
    options.reverse = reverse;
    return hold_out_links(options, session.context);
  };
  const auto refused = [&](const char* relation, const char* reverse) {
    const Error error = expect_error([&] { (void)held_out(relation, reverse); });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK_FALSE(std::filesystem::exists(dir / (std::string("of ") + relation)));
    return std::string(error.message()) + "; " + std::string(error.hint());
  };
  CHECK(refused("b__w__a", "") ==
        "relation 'a__wr__b' holds the edges of 'b__w__a' the other way round, and would show what "
        "is held out; say --reverse a__wr__b: they go from it too");
  CHECK(refused("a__r__a", "").find("say --reverse a__back__a") != std::string::npos);
  CHECK(refused("a__r__a", "a__back__a").find("import the graph without it") != std::string::npos);
  CHECK(held_out("b__w__a", "a__wr__b").test > 0);
  CHECK(held_out("a__other__a", "").test > 0);
  CHECK(session.ledger.used() == 0);
}

TEST_CASE("it refuses what it does not carry, and shares that leave nothing") {
  const TempDir dir;
  write_sample(dir / "x", {.nodes = 100, .edges = 400});
  write_sample(dir / "timed", {.nodes = 100, .edges = 400, .times = true});
  PropagationSession session;
  const auto refused = [&](auto change) {
    HoldOutOptions options = options_of(dir, "y");
    change(options);
    Error error = expect_error([&] { (void)hold_out_links(options, session.context); });
    CHECK_FALSE(std::filesystem::exists(dir / "y"));
    return error;
  };
  CHECK(refused([&](auto& options) { options.dataset = dir / "timed"; })
            .message()
            .find("has times") != std::string::npos);
  CHECK(refused([](auto& options) { options.relation = "likes"; }).code() == ErrorCode::kUsage);
  CHECK(refused([](auto& options) { options.reverse = "edge"; }).code() == ErrorCode::kUsage);
  CHECK(refused([](auto& options) { options.split = "default"; }).code() == ErrorCode::kUsage);
  CHECK(refused([](auto& options) { options.split = "../links"; }).code() == ErrorCode::kUsage);
  CHECK(refused([](auto& options) { options.test = 0; }).code() == ErrorCode::kUsage);
  CHECK(refused([](auto& options) { options.valid = 0.95; }).code() == ErrorCode::kUsage);
  CHECK(refused([](auto& options) { options.valid = 1e-9; }).code() == ErrorCode::kData);
  HoldOutOptions again = options_of(dir, "z");
  (void)hold_out_links(again, session.context);
  CHECK(expect_error([&] { (void)hold_out_links(again, session.context); }).code() ==
        ErrorCode::kUsage);  // it is there
  again.dataset = dir / "z";
  again.out = dir / "y";
  CHECK(expect_error([&] { (void)hold_out_links(again, session.context); })
            .message()
            .find("has the split of edges 'links' already") != std::string::npos);
}

TEST_CASE("pairs without edges of a graph that has hardly any left, and of none") {
  MemoryLedger ledger;
  const NodePairParts parts(PairEnds::kOneType, 0, 0.1, RandomKey(1));
  // Of 12 nodes all are linked but (0, 1), (0, 2) and (5, 7).
  const PairSet missing{{0, 1}, {0, 2}, {5, 7}};
  const PairPass edges = [&](const std::function<void(const NodePair&)>& visit) {
    for (std::uint64_t a = 0; a < 12; ++a)
      for (std::uint64_t b = 0; b <= a; ++b)
        if (!missing.contains({b, a})) visit(parts.pair(a, b));
  };
  const auto draw = [&](std::uint64_t count) {
    return draw_pairs_without_edges(parts, {12, 12}, count, RandomKey(2), edges, ledger);
  };
  const std::vector<NodePair> found = draw(3);
  CHECK(PairSet(found.begin(), found.end()) == missing);
  CHECK(expect_error([&] { (void)draw(4); }).code() == ErrorCode::kData);
  CHECK(ledger.used() == 0);
}
