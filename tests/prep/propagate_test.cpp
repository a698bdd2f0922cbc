// sluice-prep propagate against dense products in f64, and what its bytes may not depend on.
#include "prep/propagate/propagate.h"
#include "prep/check/verify.h"
#include "propagate_support.h"
#include "storage/format/manifest.h"
#include "support/expect_error.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <tuple>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kSeed = 17;
// Of f32 results: a rounding a hop, and two of inverse roots, relative to the terms' sizes.
constexpr double kF32Bound = 8 * 0x1p-24;
constexpr double kF16Bound = 1.5 * 0x1p-11;

PropagationOptions options_of(PropagationMethod method, std::uint64_t hops) {
  PropagationOptions options;
  options.method = method;
  options.hops = hops;
  options.name = "p";
  options.node_type = "a";
  options.dtype = DType::kF32;
  return options;
}

std::vector<std::string> names_of(const PropagationReport& report) {
  std::vector<std::string> names;
  for (const PropagationReport::Table& table : report.tables) names.push_back(table.name);
  std::ranges::sort(names);
  return names;
}

// The bytes of all tables that a run added, by name.
std::map<std::string, std::string> bytes_of(const std::filesystem::path& dataset,
                                            const PropagationReport& report) {
  std::map<std::string, std::string> bytes;
  for (const PropagationReport::Table& table : report.tables)
    bytes[table.name] = read_all(dataset / "nodes/a" / (table.name + ".bin"));
  return bytes;
}

void check_whole(const std::filesystem::path& dataset, PropagationSession& session) {
  const VerifyReport report = verify_dataset(dataset.string(), session.context);
  CHECK(report.problems == std::vector<std::string>());
  CHECK(report.strangers == std::vector<std::string>());
}

}  // namespace

TEST_CASE("sgc and sign are dense products, hop by hop, within their roundings") {
  MESSAGE("seed " << kSeed);
  const TypedGraph graph(kSeed);
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    CAPTURE(std::string(feature_dtype_name(dtype)));
    const TempDir dir;
    graph.write(dir / "x", dtype);
    PropagationSession session;
    PropagationOptions options = options_of(PropagationMethod::kSgc, 3);
    options.dtype = dtype;
    CHECK(names_of(session.run(dir / "x", options)) == std::vector<std::string>{"p"});
    options.method = PropagationMethod::kSign;
    options.name = "s";
    CHECK(names_of(session.run(dir / "x", options)) ==
          std::vector<std::string>{"s-1", "s-2", "s-3"});
    CHECK(session.ledger.used() == 0);
    check_whole(dir / "x", session);

    const double bound = dtype == DType::kF32 ? kF32Bound : kF16Bound;
    const Dense loops = symmetric_matrix(graph.counts("a__r__a"), 1);
    const Dense plain = symmetric_matrix(graph.counts("a__r__a"), 0);
    const Dense x = read_table(dir / "x", "a", "features");
    Dense sgc = x, sgc_size = absolute(x), sign = x, sign_size = absolute(x);
    for (int hop = 1; hop <= 3; ++hop) {
      sgc = loops * sgc;
      sgc_size = loops * sgc_size;
      sign = plain * sign;
      sign_size = plain * sign_size;
      const Dense found = read_table(dir / "x", "a", "s-" + std::to_string(hop));
      CHECK(worst(found, sign, sign_size, bound * hop) <= 1);
    }
    CHECK(worst(read_table(dir / "x", "a", "p"), sgc, sgc_size, bound * 3) <= 1);
    // The reference tells them apart: another operator's rows are not these.
    CHECK(worst(read_table(dir / "x", "a", "p"), sign, sign_size, bound * 3) > 1);
  }
}

TEST_CASE("metapaths: all of them, each the product of its relations' means") {
  const TypedGraph graph(kSeed);
  const TempDir dir;
  graph.write(dir / "x");
  PropagationSession session;
  const PropagationReport report =
      session.run(dir / "x", options_of(PropagationMethod::kMetapaths, 2));
  CHECK(report.generation == 2);
  CHECK(names_of(report) ==
        std::vector<std::string>{"p-a", "p-a-a", "p-a-b", "p-b", "p-b-a", "p-c-a"});
  const Dense a = TypedGraph::features_a(), b = TypedGraph::features_b();
  const Dense r = graph.mean("a__r__a"), w = graph.mean("b__w__a"), wr = graph.mean("a__wr__b"),
              s = graph.mean("c__s__a"), sr = graph.mean("a__sr__c");
  const auto check = [&](const char* name, const Dense& path, const Dense& x) {
    CAPTURE(name);
    CHECK(worst(read_table(dir / "x", "a", name), path * x, path * absolute(x), kF32Bound) <= 1);
  };
  check("p-a", r, a);
  check("p-b", w, b);
  check("p-a-a", r * r, a);
  check("p-a-b", r * w, b);
  check("p-b-a", w * wr, a);
  check("p-c-a", s * sr, a);
  // A node that no edge leads to has no mean.
  const Dense found = read_table(dir / "x", "a", "p-b");
  for (std::size_t c = 0; c < found.columns; ++c) CHECK(found.at(TypedGraph::kA - 1, c) == 0);
  check_whole(dir / "x", session);
}

namespace {

// Walks of up to `hops` relations that end at `target`, counted from there by their definition.
std::uint64_t walks_to(const GraphSchema& schema,
                       const std::string& target,
                       std::uint64_t hops,
                       const std::set<std::string>& with_features) {
  std::uint64_t count = 0;
  if (hops == 0) return 0;
  for (const RelationSchema& relation : schema.relations) {
    if (relation.target != target) continue;
    count += with_features.count(relation.source);
    count += walks_to(schema, relation.source, hops - 1, with_features);
  }
  return count;
}

}  // namespace

TEST_CASE("as many metapaths as there are walks between types, parallel relations told apart") {
  TypedGraph graph(kSeed);
  graph.edges["a__q__a"] = {{0, 1}, {2, 1}};
  const TempDir dir;
  graph.write(dir / "x");
  const GraphSchema schema = Manifest::load(dir / "x").or_throw().schema;
  PropagationSession session;
  for (const unsigned hops : {1u, 2u, 3u, 4u}) {
    CAPTURE(hops);
    const PropagationReport report = plan_propagation(
        dir / "x", options_of(PropagationMethod::kMetapaths, hops), session.context);
    const std::vector<std::string> names = names_of(report);
    CHECK(names.size() == walks_to(schema, "a", hops, {"a", "b"}));
    CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
    CHECK(std::ranges::count(names, "p-q.a") == 1);
    CHECK(std::ranges::count(names, "p-r.a") == 1);
  }
  CHECK(Dataset::open((dir / "x").string()).generation() == 1);  // a plan changes nothing
}

TEST_CASE("tables are the same bytes for any threads, panels and budgets") {
  const TypedGraph graph(kSeed);
  const TempDir dir;
  for (const PropagationMethod method : {PropagationMethod::kSgc,
                                         PropagationMethod::kSign,
                                         PropagationMethod::kMetapaths,
                                         PropagationMethod::kRandomProjection,
                                         PropagationMethod::kLabels}) {
    for (const DType dtype : {DType::kF16, DType::kF32, DType::kBF16}) {
      if (dtype != DType::kF16 && method != PropagationMethod::kSgc) continue;
      CAPTURE(static_cast<int>(method));
      CAPTURE(std::string(feature_dtype_name(dtype)));
      PropagationOptions options = options_of(method, 2);
      options.dtype = dtype;
      options.tables = Overwrite::kReplace;
      graph.write(dir / "x", method == PropagationMethod::kSign ? DType::kI8 : DType::kF32);
      std::map<std::string, std::string> first;
      std::uint32_t panels = 0;
      for (const auto& [threads, panel, limit] :
           {std::tuple<int, std::uint32_t, std::uint64_t>{1, 0, std::uint64_t{1} << 30},
            {4, 1, std::uint64_t{1} << 30},
            {3, 3, std::uint64_t{16} << 20},
            {2, 2, std::uint64_t{100} << 20}}) {
        CAPTURE(panel);
        PropagationSession session(threads, limit);
        options.panel = panel;
        const PropagationReport report = session.run(dir / "x", options);
        panels = std::max(panels, report.cuts.front().panels);
        const auto bytes = bytes_of(dir / "x", report);
        REQUIRE(!bytes.empty());
        if (first.empty()) first = bytes;
        CHECK(bytes == first);
        CHECK(session.ledger.used() == 0);
        CHECK(session.ledger.peak() <= limit);
      }
      CHECK(panels > 2);  // tables that are read once and cut into panels have been among these
    }
  }
}

TEST_CASE("a hub's list goes over many pieces of the file, and its row is still its mean") {
  constexpr std::uint64_t kNodes = 1000, kHub = 5, kEdges = 700'000;
  const RandomKey key = RandomKey(kSeed).with("hub");
  const TempDir dir;
  EndPairs edges{{1, 0}, {2, kHub}};
  std::vector<double> expected(3), sizes(3);
  const auto value = [](std::uint64_t row, std::uint32_t column) {
    return TypedGraph::value("n", row, column);
  };
  for (std::uint64_t i = 0; i < kEdges; ++i) edges.emplace_back(key.below(kNodes, i), kHub);
  edges.emplace_back(7, kHub + 1);
  for (const auto& [source, target] : edges) {
    if (target != kHub) continue;
    for (std::uint32_t c = 0; c < 3; ++c) {
      expected[c] += static_cast<double>(value(source, c)) / (kEdges + 1);
      sizes[c] += std::abs(static_cast<double>(value(source, c))) / (kEdges + 1);
    }
  }
  DatasetWriter writer(dir / "x", Overwrite::kRefuse, nullptr);
  ThreadArena arena(2);
  NodeTypeSchema node;
  node.name = "a";
  node.count = kNodes;
  FeatureSchema table;
  table.rows = kNodes;
  table.dim = 3;
  node.features.push_back(
      write_table(writer, node_path("a", "features.bin"), table, 1, arena, value));
  writer.schema().nodes.push_back(node);
  RelationSchema relation{.source = "a", .name = "r", .target = "a"};
  VectorEdges stream(edges);
  build_csc(writer, relation, kNodes, kNodes, stream, CscOptions{}, arena);
  writer.schema().relations.push_back(relation);
  writer.commit("test");

  PropagationSession session(4);
  session.run(dir / "x", options_of(PropagationMethod::kMetapaths, 1));
  const Dense found = read_table(dir / "x", "a", "p-a");
  for (std::uint32_t c = 0; c < 3; ++c) {
    CHECK(std::abs(found.at(kHub, c) - expected[c]) <= kF32Bound * sizes[c]);
    CHECK(found.at(0, c) == static_cast<double>(value(1, c)));
    CHECK(found.at(kHub + 1, c) == static_cast<double>(value(7, c)));
    CHECK(found.at(kHub + 2, c) == 0);
  }
}

TEST_CASE("out-edges are ways too, where they are asked for") {
  const TypedGraph graph(kSeed);
  const TempDir dir;
  // The same relation with its reverse as a relation, and with out-edges.
  for (const bool out_edges : {false, true}) {
    DatasetWriter writer(dir / (out_edges ? "out" : "rel"), Overwrite::kRefuse, nullptr);
    ThreadArena arena(2);
    NodeTypeSchema node;
    node.name = "a";
    node.count = TypedGraph::kA;
    FeatureSchema table;
    table.rows = node.count;
    table.dim = TypedGraph::kDimA;
    node.features.push_back(write_table(
        writer, node_path("a", "features.bin"), table, 1, arena, [](auto row, auto column) {
          return TypedGraph::value("a", row, column);
        }));
    writer.schema().nodes = {node, {.name = "b", .count = TypedGraph::kB}};
    CscOptions csc;
    csc.out_edges = out_edges;
    const auto add = [&](const char* source, const char* name, const char* to, const char* key) {
      RelationSchema relation{.source = source, .name = name, .target = to};
      VectorEdges stream(graph.edges.at(key));
      build_csc(writer,
                relation,
                TypedGraph::size_of_type(*source),
                TypedGraph::size_of_type(*to),
                stream,
                csc,
                arena);
      writer.schema().relations.push_back(relation);
    };
    add("b", "w", "a", "b__w__a");
    if (!out_edges) add("a", "wr", "b", "a__wr__b");
    writer.commit("test");
  }
  PropagationSession session;
  PropagationOptions options = options_of(PropagationMethod::kMetapaths, 2);
  CHECK(names_of(session.run(dir / "rel", options)) == std::vector<std::string>{"p-b-a"});
  const Error alone = expect_error([&] { session.run(dir / "out", options); });
  CHECK(alone.code() == ErrorCode::kUsage);
  CHECK(std::string(alone.hint()).find("--backwards") != std::string::npos);
  options.backwards = true;
  CHECK(names_of(session.run(dir / "out", options)) == std::vector<std::string>{"p-b-a"});
  const Dense there = read_table(dir / "rel", "a", "p-b-a"),
              back = read_table(dir / "out", "a", "p-b-a");
  CHECK(worst(back, there, absolute(there), kF32Bound) <= 1);
  CHECK(std::ranges::any_of(there.values, [](double x) { return x != 0; }));
}

TEST_CASE("random projection: means there and back, then rows that are sums of unit rows") {
  const TypedGraph graph(kSeed);
  const TempDir dir;
  graph.write(dir / "x");
  PropagationSession session;
  PropagationOptions options = options_of(PropagationMethod::kRandomProjection, 2);
  options.columns = 6;
  const PropagationReport report = session.run(dir / "x", options);
  CHECK(names_of(report) == std::vector<std::string>{"p-1-a-even",
                                                     "p-1-a-odd",
                                                     "p-1-b-even",
                                                     "p-1-b-odd",
                                                     "p-1-c-even",
                                                     "p-1-c-odd",
                                                     "p-2-a-even",
                                                     "p-2-a-odd",
                                                     "p-2-b-even",
                                                     "p-2-b-odd",
                                                     "p-2-c-even",
                                                     "p-2-c-odd"});
  const Dense a = TypedGraph::features_a(), b = TypedGraph::features_b();
  const Dense r = graph.mean("a__r__a"), w = graph.mean("b__w__a"), wr = graph.mean("a__wr__b"),
              s = graph.mean("c__s__a"), sr = graph.mean("a__sr__c");
  const auto check = [&](const char* name, const Dense& path, const Dense& x) {
    CAPTURE(name);
    CHECK(worst(read_table(dir / "x", "a", name), path * x, path * absolute(x), kF32Bound) <= 1);
  };
  check("p-1-a-odd", r, a);
  check("p-1-a-even", r * r, a);  // the only relation within the type goes back by itself
  check("p-1-b-odd", w, b);
  check("p-1-b-even", w * wr, a);
  check("p-1-c-even", s * sr, a);
  CHECK(read_table(dir / "x", "a", "p-1-c-odd").columns == 6);  // a type without features
  // One relation leads to b: its rows are sums of two unit rows, so means of them are no longer.
  const Dense second = read_table(dir / "x", "a", "p-2-b-odd");
  CHECK(second.columns == TypedGraph::kDimB);
  double longest = 0;
  for (std::size_t row = 0; row < second.rows; ++row) {
    double squares = 0;
    for (std::size_t c = 0; c < second.columns; ++c)
      squares += second.at(row, c) * second.at(row, c);
    longest = std::max(longest, std::sqrt(squares));
  }
  CHECK(longest <= 2 + 1e-6);
  CHECK(longest > 0.1);
  options.name = "other";
  options.seed = 2;
  session.run(dir / "x", options);
  CHECK(read_table(dir / "x", "a", "other-1-a-odd").values ==
        read_table(dir / "x", "a", "p-1-a-odd").values);
  CHECK(read_table(dir / "x", "a", "other-2-a-odd").values !=
        read_table(dir / "x", "a", "p-2-a-odd").values);
}

TEST_CASE("what is asked for and is not there is refused, and nothing changes") {
  const TypedGraph graph(kSeed);
  const TempDir dir;
  graph.write(dir / "x");
  PropagationSession session;
  const auto refused = [&](const char* message, const auto& change) {
    CAPTURE(message);
    PropagationOptions options = options_of(PropagationMethod::kSgc, 2);
    change(options);
    const Error error = expect_error([&] { session.run(dir / "x", options); });
    CHECK(error.code() == ErrorCode::kUsage);
    CAPTURE(error.message());
    CHECK(std::string(error.message()).find(message) != std::string::npos);
    CHECK(!std::string(error.hint()).empty());
  };
  refused("several node types", [](auto& options) { options.node_type = ""; });
  refused("no node type 'z'", [](auto& options) { options.node_type = "z"; });
  refused("no relation goes from 'b' to itself", [](auto& options) { options.node_type = "b"; });
  refused("no relation 'a__q__a'", [](auto& options) { options.relation = "a__q__a"; });
  refused("no feature table 'text'", [](auto& options) { options.features = "text"; });
  for (const auto method : {PropagationMethod::kMetapaths, PropagationMethod::kRandomProjection})
    refused("no node type has a feature table 'text'", [method](auto& options) {
      options.method = method;
      options.features = "text";
    });
  refused("already", [](auto& options) { options.name = "features"; });
  refused("no name for a table", [](auto& options) { options.name = "a__b"; });
  refused("0 hops", [](auto& options) { options.hops = 0; });
  refused("no split 'other'", [](auto& options) {
    options.method = PropagationMethod::kLabels;
    options.split = "other";
  });
  refused("no labels that are classes", [](auto& options) {
    options.method = PropagationMethod::kLabels;
    options.node_type = "b";
  });
  CHECK(Dataset::open((dir / "x").string()).generation() == 1);
  CHECK(session.ledger.used() == 0);
}

TEST_CASE("tables are replaced only when that is said; the dataset goes on for who has it open") {
  const TypedGraph graph(kSeed);
  const TempDir dir;
  graph.write(dir / "x");
  PropagationSession session;
  PropagationOptions options = options_of(PropagationMethod::kSgc, 1);
  const Dataset before = Dataset::open((dir / "x").string());
  session.run(dir / "x", options);
  const auto newer = before.newer();
  REQUIRE(newer.has_value());
  CHECK(newer->schema().nodes[0].features.size() == 2);
  const std::string first = read_all(dir / "x" / "nodes/a/p.bin");
  options.hops = 2;
  const Error again = expect_error([&] { session.run(dir / "x", options); });
  CHECK(std::string(again.hint()).find("--replace") != std::string::npos);
  options.tables = Overwrite::kReplace;
  CHECK(session.run(dir / "x", options).generation == 3);
  CHECK(read_all(dir / "x" / "nodes/a/p.bin") != first);
  CHECK(Dataset::open((dir / "x").string()).schema().nodes[0].features.size() == 2);
  check_whole(dir / "x", session);
}

TEST_CASE("memory that holds no column is refused with what does") {
  const TypedGraph graph(kSeed);
  const TempDir dir;
  graph.write(dir / "x");
  const PropagationOptions options = options_of(PropagationMethod::kMetapaths, 2);
  PropagationSession small(2, 1 << 20);
  const Error error = expect_error([&] { small.run(dir / "x", options); });
  CHECK(error.code() == ErrorCode::kResource);
  PropagationSession large;
  const std::uint64_t least = plan_propagation(dir / "x", options, large.context).least_memory;
  CHECK(std::string(error.hint()).find(std::to_string((least >> 20) + 1) + "MiB") !=
        std::string::npos);
  PropagationSession enough(2, least);
  CHECK(enough.run(dir / "x", options).tables.size() == 6);
  CHECK(enough.ledger.peak() <= least);
}

TEST_CASE("f16 that cannot hold a sum is an error, not infinity") {
  const TempDir dir;
  DatasetWriter writer(dir / "x", Overwrite::kRefuse, nullptr);
  ThreadArena arena(2);
  NodeTypeSchema node;
  node.name = "a";
  node.count = 200;
  FeatureSchema table;
  table.rows = node.count;
  table.dim = 2;
  node.features.push_back(
      write_table(writer, node_path("a", "features.bin"), table, 1, arena, [](auto, auto) {
        return 60000.0f;
      }));
  writer.schema().nodes.push_back(node);
  EndPairs star;
  for (std::uint64_t leaf = 1; leaf < 200; ++leaf) {
    star.emplace_back(leaf, 0);
    star.emplace_back(0, leaf);
  }
  RelationSchema relation{.source = "a", .name = "r", .target = "a"};
  VectorEdges stream(star);
  build_csc(writer, relation, 200, 200, stream, CscOptions{}, arena);
  writer.schema().relations.push_back(relation);
  writer.commit("test");
  PropagationSession session;
  PropagationOptions options = options_of(PropagationMethod::kSgc, 1);
  options.dtype = DType::kF16;
  const Error error = expect_error([&] { session.run(dir / "x", options); });
  CHECK(error.code() == ErrorCode::kData);
  CHECK(std::string(error.message()).find("row 0 has a value that f16 cannot hold") !=
        std::string::npos);
  options.dtype = DType::kF32;
  CHECK(session.run(dir / "x", options).tables.size() == 1);
}
