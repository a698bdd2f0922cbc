// Relations of few edges between many nodes, made and changed by the tools.
#include "bench/support/all_offsets.h"
#include "import_support.h"
#include "prep/check/verify.h"
#include "prep/generate/hetero.h"
#include "prep/update/append.h"
#include "samplers/topology_access.h"
#include "silent_session.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

#include <filesystem>
#include <numeric>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr const char* kKey = "node__edge__node";

std::string csv_of(const Pairs& edges, std::size_t first, std::size_t last) {
  std::string text = "src,dst\n";
  for (std::size_t i = first; i < last; ++i)
    text += fmt::format("{},{}\n", edges[i].first, edges[i].second);
  return text;
}

// In-edges by target, by ranges that samplers ask for in one batch.
std::vector<std::vector<std::uint64_t>> located(const Dataset& dataset, Placement where) {
  const auto topology = dataset.topology(kKey, {.placement = where, .staging_bytes = 1 << 20});
  std::vector<std::uint64_t> targets(topology->num_targets());
  std::iota(targets.rbegin(), targets.rend(), 0);
  std::vector<EdgeRange> ranges(targets.size());
  locate(*topology, targets, ranges).or_throw();
  std::vector<std::vector<std::uint64_t>> lists(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    std::vector<std::uint64_t> positions(ranges[i].degree());
    std::iota(positions.begin(), positions.end(), ranges[i].begin);
    lists[targets[i]].resize(positions.size());
    if (!positions.empty()) gather(*topology, positions, lists[targets[i]]).or_throw();
  }
  return lists;
}

void append_edges(const ImportFolder& folder, const std::string& toml, SilentSession& session) {
  const TableFormats formats = table_formats();
  GraphSpec spec(formats);
  Config::parse(toml, "append.toml").bind_to(spec);
  append_to_dataset(
      folder.out(), std::move(spec), formats, folder.dir / "raw", "test", session.context);
}

void check_verified(const std::filesystem::path& path, SilentSession& session) {
  CHECK(verify_dataset(path.string(), session.context).problems == std::vector<std::string>());
}

}  // namespace

TEST_CASE("listed nodes: import, append of edges and nodes, and compact are what all edges are") {
  constexpr std::uint64_t kSeed = 9, kOld = 20'000, kAll = 20'500;
  MESSAGE("seed " << kSeed);
  const RandomKey key(kSeed);
  Pairs edges{{1, 0}, {2, kOld - 1}, {2, kOld - 1}};
  while (edges.size() < 400)
    edges.emplace_back(key.below(kOld, edges.size()), key.below(kOld, 1'000 + edges.size()));
  edges.emplace_back(5, kAll - 1);  // the rest is appended: to new nodes, listed ones and others
  edges.emplace_back(kAll - 1, 0);
  while (edges.size() < 600)
    edges.emplace_back(key.below(kAll, edges.size()), key.below(kAll, 2'000 + edges.size()));
  ImportFolder folder;
  folder.write("e.csv", csv_of(edges, 0, 400));
  folder.write("more.csv", csv_of(edges, 400, 600));
  folder.run("[[nodes]]\ncount = 20000\n[[edges]]\nfile = \"e.csv\"\nout_edges = true\n");
  SilentSession session;
  {
    const Dataset dataset = Dataset::open(folder.out().string());
    const RelationSchema& relation = *dataset.schema().relation(kKey);
    REQUIRE(relation.listed_targets.has_value());
    REQUIRE(relation.listed_sources.has_value());
    CHECK(*relation.listed_targets < 400);
    const Pairs old(edges.begin(), edges.begin() + 400);
    for (const Placement where : {Placement::kMemory, Placement::kDisk})
      CHECK((located(dataset, where) == in_edges(kOld, old)));
    std::vector<std::uint64_t> expected{0};
    for (const auto& list : in_edges(kOld, old)) expected.push_back(expected.back() + list.size());
    CHECK((bench::all_offsets(*dataset.topology(kKey)) == expected));
  }
  check_verified(folder.out(), session);

  append_edges(folder, "[[nodes]]\ncount = 20500\n[[edges]]\nfile = \"more.csv\"\n", session);
  check_verified(folder.out(), session);
  const auto expected = in_edges(kAll, edges);
  CHECK((located(Dataset::open(folder.out().string()), Placement::kMemory) == expected));

  compact_dataset(folder.out(), "test", session.context);
  check_verified(folder.out(), session);
  const Dataset compacted = Dataset::open(folder.out().string());
  CHECK(compacted.schema().relation(kKey)->listed_targets.has_value());
  for (const Placement where : {Placement::kMemory, Placement::kDisk})
    CHECK((located(compacted, where) == expected));
  CHECK(session.ledger.used() == 0);
}

TEST_CASE("listed nodes: 200 relations take disk and memory by their edges") {
  constexpr std::uint64_t kEdges = 100'000, kRelations = 200;
  HeteroGenerator::Options options;
  options.planted.relations = kRelations;
  options.planted.kinds = 3;
  options.planted.items = 20'000;
  options.planted.sources = 500;
  options.planted.edges = kEdges;
  options.node_options.classes = 4;
  options.node_options.features = 2;
  const TempDir dir;
  SilentSession session;
  {
    DatasetWriter writer(dir / "x", Overwrite::kRefuse, &session.ledger);
    HeteroGenerator(options).generate(writer, session.context);
    writer.commit("test");
  }
  check_verified(dir / "x", session);
  std::uint64_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(dir / "x" / "edges"))
    if (file.is_regular_file()) bytes += file.file_size();
  // Three files a relation, each of whole pages, with checksums beside it.
  CHECK(bytes <= 24 * kEdges + kRelations * 3 * (4096 + 256));
  MemoryLedger ledger;
  const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
  std::vector<std::unique_ptr<Topology>> all;
  for (const RelationSchema& relation : dataset.schema().relations)
    all.push_back(dataset.topology(relation.key()));
  CHECK(ledger.used() <= 24 * kEdges + kRelations * 1024);
}
