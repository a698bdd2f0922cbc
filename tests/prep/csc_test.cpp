#include "prep/csc_builder.h"
#include "support/expect_error.h"
#include "support/sample_dataset.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/dataset.h>

#include <algorithm>
#include <set>

using namespace sluice;
using sluice::test::expect_error;
using sluice::test::TempDir;
using sluice::test::VectorEdges;
using Edges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

namespace {

// In-edges of one node as (source, edge id).
using Lists = std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>>;

// The definition, by brute force.
Lists reference(const Edges& edges, std::uint64_t targets, const CscOptions& options) {
  Lists lists(targets);
  for (std::uint64_t id = 0; id < edges.size(); ++id) {
    const auto& [source, target] = edges[id];
    if (source == target) {
      if (options.self_loops == SelfLoops::kKeep) lists[target].emplace_back(source, id);
      continue;
    }
    lists[target].emplace_back(source, id);
    if (options.undirected) lists[source].emplace_back(target, id);
  }
  for (std::uint64_t node = 0; node < targets; ++node) {
    if (options.self_loops == SelfLoops::kAdd) lists[node].emplace_back(node, edges.size() + node);
    if (options.duplicates != Duplicates::kDrop) continue;
    std::set<std::uint64_t> seen;
    std::erase_if(lists[node], [&](const auto& entry) { return !seen.insert(entry.first).second; });
  }
  return lists;
}

CscStats build(const std::filesystem::path& target,
               const Edges& edges,
               std::uint64_t sources,
               std::uint64_t targets,
               const CscOptions& options,
               int threads,
               std::size_t chunk,
               MemoryLedger* ledger = nullptr) {
  DatasetWriter writer(target, Overwrite::kReplace, ledger);
  ThreadArena arena(threads);
  const bool one_type = sources == targets;
  NodeTypeSchema node;
  node.name = "a";
  node.count = sources;
  writer.schema().nodes.push_back(node);
  node.name = "b";
  node.count = targets;
  if (!one_type) writer.schema().nodes.push_back(node);
  RelationSchema relation{.source = "a", .name = "r", .target = one_type ? "a" : "b"};
  VectorEdges stream(edges, chunk);
  const CscStats stats = build_csc(writer, relation, sources, targets, stream, options, arena);
  writer.schema().relations.push_back(relation);
  writer.commit("test");
  return stats;
}

Lists read_lists(const std::filesystem::path& path) {
  const Dataset dataset = Dataset::open(path.string());
  const auto topology = dataset.topology(dataset.schema().relations[0].key());
  Lists lists(topology->num_targets());
  const CscView& view = *topology->resident();
  for (std::uint64_t node = 0; node < lists.size(); ++node) {
    for (std::uint64_t at = view.offsets[node]; at < view.offsets[node + 1]; ++at) {
      std::uint64_t id = 0;
      topology->edge_ids({&at, 1}, {&id, 1}).or_throw();
      lists[node].emplace_back(view.neighbour(at), id);
    }
  }
  return lists;
}

Edges random_edges(std::uint64_t sources,
                   std::uint64_t targets,
                   std::uint64_t count,
                   RandomKey key) {
  Edges edges;
  for (std::uint64_t i = 0; i < count; ++i) {
    // Skewed, so that there are hubs, duplicates and self loops.
    const std::uint64_t hub = key.below(4, 3 * i) == 0 ? 10 : sources;
    edges.emplace_back(key.below(std::min(hub, sources), 3 * i + 1), key.below(targets, 3 * i + 2));
  }
  return edges;
}

}  // namespace

TEST_CASE("CSC equals its definition on random multigraphs, for every option") {
  const TempDir dir;
  constexpr std::uint64_t kSeed = 42;
  MESSAGE("seed " << kSeed);
  for (std::uint64_t round = 0; round < 60; ++round) {
    const RandomKey key = RandomKey(kSeed).with(round);
    const std::uint64_t nodes = 1 + key.below(60, 0);
    const Edges edges = random_edges(nodes, nodes, key.below(400, 1), key.with("edges"));
    CscOptions options;
    options.undirected = key.below(2, 2) == 1;
    options.self_loops = static_cast<SelfLoops>(key.below(3, 3));
    options.duplicates = static_cast<Duplicates>(key.below(2, 4));
    options.edge_ids = true;
    CAPTURE(round);
    const CscStats stats = build(dir / "x", edges, nodes, nodes, options, 2, 1 + key.below(100, 5));
    const Lists expected = reference(edges, nodes, options);
    REQUIRE(read_lists(dir / "x") == expected);
    std::uint64_t written = 0;
    std::uint64_t largest = 0;
    for (const auto& list : expected) {
      written += list.size();
      largest = std::max<std::uint64_t>(largest, list.size());
    }
    CHECK(stats.edges_written == written);
    CHECK(stats.max_in_degree == largest);
    CHECK(stats.edges_read == edges.size());
  }
}

TEST_CASE("two node types of different sizes") {
  const TempDir dir;
  const Edges edges = random_edges(1000, 7, 3000, RandomKey(1));
  build(dir / "x", edges, 1000, 7, {.edge_ids = true}, 2, 100);
  CHECK(read_lists(dir / "x") == reference(edges, 7, {}));
}

TEST_CASE("the bytes do not depend on threads or chunks, across many ranges") {
  const TempDir dir;
  const std::uint64_t nodes = 50'000;
  const Edges edges = random_edges(nodes, nodes, 3'000'000, RandomKey(9));
  build(dir / "one", edges, nodes, nodes, {.undirected = true, .edge_ids = true}, 1, 1'000'000);
  build(dir / "four", edges, nodes, nodes, {.undirected = true, .edge_ids = true}, 4, 333);
  CHECK(Manifest::load(dir / "one").or_throw().to_text() ==
        Manifest::load(dir / "four").or_throw().to_text());
}

TEST_CASE("the bytes do not depend on the budget, in both directions") {
  const TempDir dir;
  const std::uint64_t nodes = 30'000;
  const Edges edges = random_edges(nodes, nodes, 2'000'000, RandomKey(3));
  const CscOptions options{.edge_ids = true, .out_edges = true};
  build(dir / "large", edges, nodes, nodes, options, 2, 500'000);
  MemoryLedger ledger(24 << 20);
  const CscStats stats = build(dir / "small", edges, nodes, nodes, options, 3, 7'000, &ledger);
  CHECK(stats.spilled_bytes > 0);
  CHECK(ledger.used() == 0);
  CHECK(Manifest::load(dir / "large").or_throw().to_text() ==
        Manifest::load(dir / "small").or_throw().to_text());

  // Out-edges are the in-edges of the graph turned round.
  Edges turned;
  for (const auto& [source, target] : edges) turned.emplace_back(target, source);
  build(dir / "turned", turned, nodes, nodes, {.edge_ids = true}, 2, 500'000);
  for (const char* file : {"offsets.bin", "neighbours.bin", "edge_ids.bin"}) {
    const std::string folder = "edges/a__r__a/";
    CHECK(sluice::test::read_all(dir / "large" / (folder + "out_" + file)) ==
          sluice::test::read_all(dir / "turned" / (folder + file)));
  }
}

TEST_CASE("an empty relation is a relation") {
  const TempDir dir;
  build(dir / "x", {}, 5, 5, {}, 1, 10);
  CHECK(read_lists(dir / "x") == Lists(5));
}

TEST_CASE("bad edges and impossible options are named") {
  const TempDir dir;
  const Error source = expect_error([&] { build(dir / "x", {{0, 0}, {5, 1}}, 5, 5, {}, 1, 10); });
  CHECK(source.code() == ErrorCode::kData);
  CHECK(std::string(source.what()) ==
        "edge 1 of relation 'a__r__a': source 5 is not below the count of 'a' nodes, 5");
  const Error twice = expect_error([&] {
    build(dir / "x", {{1, 2}, {1, 2}}, 5, 5, {.duplicates = Duplicates::kError}, 1, 10);
  });
  CHECK(std::string(twice.what()) == "relation 'a__r__a' has the edge 1 -> 2 more than once");
  const Error types =
      expect_error([&] { build(dir / "x", {}, 5, 6, {.undirected = true}, 1, 10); });
  CHECK(types.code() == ErrorCode::kUsage);
  MemoryLedger ledger(2 << 20);
  const Error memory = expect_error(
      [&] { build(dir / "x", random_edges(9, 9, 1000, RandomKey(1)), 9, 9, {}, 1, 100, &ledger); });
  CHECK(memory.code() == ErrorCode::kResource);
  CHECK_FALSE(std::filesystem::exists(dir / "x"));
}

TEST_CASE("drawn splits have their sizes, are disjoint, and follow the key") {
  std::vector<std::uint64_t> all(1000);
  for (std::uint64_t i = 0; i < all.size(); ++i) all[i] = 3 * i;
  const SplitIds split = draw_split(all, {0.6, 0.15, 0.25}, RandomKey(1));
  CHECK(split.train.size() == 600);
  CHECK(split.valid.size() == 150);
  CHECK(split.test.size() == 250);
  std::set<std::uint64_t> seen(split.train.begin(), split.train.end());
  seen.insert(split.valid.begin(), split.valid.end());
  seen.insert(split.test.begin(), split.test.end());
  CHECK(seen.size() == 1000);
  CHECK(draw_split(all, {0.6, 0.15, 0.25}, RandomKey(1)).train == split.train);
  CHECK(draw_split(all, {0.6, 0.15, 0.25}, RandomKey(2)).train != split.train);
  CHECK(draw_split(all, {0.5, 0, 0.1}, RandomKey(2)).valid.empty());
  CHECK(expect_error([&] {
          draw_split({1, 2, 3}, {0.9, 0.05, 0.05}, RandomKey(1));
        }).code() == ErrorCode::kData);
  CHECK(expect_error([&] { draw_split({}, {1, 0, 0}, RandomKey(1)); }).code() == ErrorCode::kData);
  CHECK(expect_error([&] {
          draw_split(all, {0.9, 0.2, 0}, RandomKey(1));
        }).code() == ErrorCode::kUsage);
}

TEST_CASE("given splits are checked") {
  const TempDir dir;
  DatasetWriter writer(dir / "x", Overwrite::kRefuse, nullptr);
  const auto message = [&](const SplitIds& ids) {
    return std::string(expect_error([&] { write_split(writer, "s", "node", 10, ids); }).what());
  };
  CHECK(message({{}, {1}, {2}}) == "split 's': the train part is empty");
  CHECK(message({{1}, {10}, {}}) ==
        "split 's', part valid: node 10 is not below the node count, 10");
  CHECK(message({{1, 2}, {}, {2}}) == "split 's': node 2 stands twice, in train and in test");
}
