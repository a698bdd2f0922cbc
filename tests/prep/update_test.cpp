// What turns a dataset into another one: append, compact, partition, reorder, export.
#include "import_support.h"
#include "prep/check/verify.h"
#include "prep/export/export.h"
#include "prep/order/reorder.h"
#include "prep/update/append.h"
#include "prep/update/partition.h"
#include "silent_session.h"
#include "storage/format/partitions.h"
#include "support/expect_error.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <tuple>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kNodes = 200;

std::string csv(const Pairs& edges, std::size_t first, std::size_t last) {
  std::string text = "src,dst\n";
  for (std::size_t i = first; i < last; ++i)
    text += fmt::format("n{},n{}\n", edges[i].first, edges[i].second);
  return text;
}

Pairs draw_edges(std::uint64_t count, RandomKey key) {
  Pairs edges;
  for (std::uint64_t i = 0; i < count; ++i)
    edges.emplace_back(key.below(kNodes, 2 * i), key.below(kNodes, 2 * i + 1));
  return edges;
}

// String ids, features, labels, a split, edge ids.
std::string graph_toml(const std::string& edges, bool undirected) {
  return fmt::format(
      "[[nodes]]\nids = \"string\"\nid_list.file = \"ids.csv\"\nfeatures.file = \"x.npy\"\n"
      "labels.file = \"y.npy\"\n[[edges]]\nfile = \"{}\"\nedge_ids = true\nundirected = {}\n"
      "[[splits]]\nratio = [0.5, 0.2, 0.3]\n",
      edges,
      undirected);
}

// Of nodes [first, last).
void write_nodes(const ImportFolder& folder,
                 std::uint64_t first = 0,
                 std::uint64_t last = kNodes,
                 const std::string& prefix = "") {
  std::string ids = "id\n";
  std::vector<float> features;
  std::vector<std::int64_t> labels;
  for (std::uint64_t i = first; i < last; ++i) {
    ids += fmt::format("n{}\n", i);
    labels.push_back(static_cast<std::int64_t>(i % 7));
    for (int c = 0; c < 5; ++c)
      features.push_back(static_cast<float>(i) + 0.125f * static_cast<float>(c));
  }
  folder.write(prefix + "ids.csv", ids);
  folder.write(prefix + "x.npy", npy_rows(last - first, 5, features));
  folder.write(prefix + "y.npy", npy_ids(labels));
}

UpdateReport append(const ImportFolder& folder, const std::string& toml, SilentSession& session) {
  const TableFormats formats = table_formats();
  GraphSpec spec(formats);
  Config::parse(toml, "append.toml").bind_to(spec);
  return append_to_dataset(
      folder.out(), std::move(spec), formats, folder.dir / "raw", "test", session.context);
}

using Lists = std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>>;

Lists lists_of(const std::filesystem::path& path) {
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

void check_sound(const std::filesystem::path& path, SilentSession& session) {
  const VerifyReport report = verify_dataset(path.string(), session.context);
  CHECK(report.problems == std::vector<std::string>());
  CHECK(report.strangers == std::vector<std::string>());
}

}  // namespace

TEST_CASE("appended edges read as if they had been imported, and compact makes it so") {
  constexpr std::uint64_t kSeed = 5;
  MESSAGE("seed " << kSeed);
  for (const bool undirected : {false, true}) {
    ImportFolder folder;
    SilentSession session;
    write_nodes(folder);
    const Pairs edges = draw_edges(3000, RandomKey(kSeed).with(undirected ? 1 : 0));
    folder.write("base.csv", csv(edges, 0, 1500));
    folder.write("more.csv", csv(edges, 1500, 2000));
    folder.write("last.csv", csv(edges, 2000, 3000));
    folder.write("all.csv", csv(edges, 0, 3000));
    folder.run(graph_toml("base.csv", undirected));
    folder.run_into(graph_toml("all.csv", undirected), folder.dir / "out/all");
    const Lists expected = lists_of(folder.dir / "out/all");

    const auto spec = [&](const char* file) {
      return fmt::format("[[edges]]\nfile = \"{}\"\nundirected = {}\n", file, undirected);
    };
    CHECK(append(folder, spec("more.csv"), session).generation == 2);
    check_sound(folder.out(), session);
    CHECK(append(folder, spec("last.csv"), session).generation == 3);
    check_sound(folder.out(), session);
    CHECK(lists_of(folder.out()) == expected);
    const Dataset appended = Dataset::open(folder.out().string());
    const Error paged = expect_error(
        [&] { (void)appended.topology("node__edge__node", {.placement = Placement::kDisk}); });
    CHECK(std::string(paged.hint()).find("compact") != std::string::npos);

    const UpdateReport report = compact_dataset(folder.out(), "test", session.context);
    CHECK(report.generation == 4);
    check_sound(folder.out(), session);
    CHECK(lists_of(folder.out()) == expected);
    for (const char* file : {"offsets.bin", "neighbours.bin", "edge_ids.bin"}) {
      const std::string name = std::string("edges/node__edge__node/") + file;
      CHECK(read_all(folder.out() / name) == read_all(folder.dir / "out/all" / name));
    }
    CHECK(session.ledger.used() == 0);
  }
}

TEST_CASE("appended nodes and their edges are what an import of all would have made") {
  constexpr std::uint64_t kSeed = 6;
  constexpr std::uint64_t kOld = 120;
  MESSAGE("seed " << kSeed);
  for (const char* dtype : {"f32", "f16", "int8"}) {
    CAPTURE(dtype);
    ImportFolder folder;
    SilentSession session;
    write_nodes(folder);
    write_nodes(folder, 0, kOld, "old-");
    write_nodes(folder, kOld, kNodes, "new-");
    const Pairs all = draw_edges(3000, RandomKey(kSeed));
    Pairs edges;  // those between old nodes first
    for (const auto& edge : all)
      if (edge.first < kOld && edge.second < kOld) edges.push_back(edge);
    const std::size_t old_edges = edges.size();
    for (const auto& edge : all)
      if (edge.first >= kOld || edge.second >= kOld) edges.push_back(edge);
    folder.write("old.csv", csv(edges, 0, old_edges));
    folder.write("new.csv", csv(edges, old_edges, edges.size()));
    folder.write("all.csv", csv(edges, 0, edges.size()));
    const auto toml = [&](const char* prefix, const char* file, bool whole) {
      return fmt::format(
          "[[nodes]]\nids = \"string\"\nid_list.file = \"{0}ids.csv\"\n"
          "features = {{ file = \"{0}x.npy\", dtype = \"{1}\" }}\nlabels.file = \"{0}y.npy\"\n"
          "[[edges]]\nfile = \"{2}\"\n{3}",
          prefix,
          dtype,
          file,
          whole ? "edge_ids = true\nout_edges = true\n" : "");
    };
    folder.run(toml("old-", "old.csv", true));
    folder.run_into(toml("", "all.csv", true), folder.dir / "out/all");
    const UpdateReport report = append(folder, toml("new-", "new.csv", false), session);
    CHECK(report.nodes == kNodes - kOld);
    CHECK(report.edges == edges.size() - old_edges);
    check_sound(folder.out(), session);
    CHECK(lists_of(folder.out()) == lists_of(folder.dir / "out/all"));
    compact_dataset(folder.out(), "test", session.context);
    check_sound(folder.out(), session);
    const Manifest made = Manifest::load(folder.dir / "out/all").or_throw();
    for (const auto& [path, entry] : made.files) {
      CAPTURE(path);
      // Out-edges of base edges come in the order of their targets; verify has matched them.
      if (path.find("/out_") != std::string::npos && path.find("offsets") == std::string::npos)
        continue;
      CHECK(read_all(folder.out() / path) == read_all(folder.dir / "out/all" / path));
    }
    CHECK(Manifest::load(folder.out()).or_throw().files.size() == made.files.size());
    CHECK(session.ledger.used() == 0);
  }
}

TEST_CASE("labels that are many a node grow by columns, in their order") {
  ImportFolder folder;
  SilentSession session;
  folder.write("e.csv", "src,dst\n0,1\n1,0\n");
  folder.write("y.csv", "red,big\n1,0\n1,1\n");
  folder.write("more.csv", "red,big\n0,1\n");
  folder.write("turned.csv", "big,red\n0,1\n");
  const std::string labels = "labels = { kind = 'multi_label', columns = ['red', 'big'], file = ";
  folder.run("[[nodes]]\n" + labels + "'y.csv' }\n[[edges]]\nfile = 'e.csv'\n");
  const Error error = expect_error([&] {
    append(folder,
           "[[nodes]]\nlabels = { kind = 'multi_label', columns = ['big', 'red'], file = "
           "'turned.csv' }\n",
           session);
  });
  CHECK(error.message() ==
        "the label column 'big' stands where the nodes of type 'node' have 'red'");
  // Of as many bytes a row, and of more.
  folder.write("one.csv", "red\n0\n");
  folder.write("nine.csv", "red,big,c,d,e,f,g,h,i\n0,1,0,0,0,0,0,0,1\n");
  const auto nine = "'red', 'big', 'c', 'd', 'e', 'f', 'g', 'h', 'i'";
  for (const auto& [file, columns, width] :
       {std::tuple{"one.csv", "'red'", 1}, std::tuple{"nine.csv", nine, 9}}) {
    const Error other = expect_error([&] {
      append(folder,
             fmt::format("[[nodes]]\nlabels = {{ kind = 'multi_label', columns = [{}], file = "
                         "'{}' }}\n",
                         columns,
                         file),
             session);
    });
    CHECK(other.code() == ErrorCode::kData);
    CHECK(other.message() ==
          fmt::format("{} labels a row, and the nodes of type 'node' have 2", width));
    CHECK(other.place().file.find(file) != std::string::npos);
  }
  CHECK(append(folder, "[[nodes]]\n" + labels + "'more.csv' }\n", session).nodes == 1);
  check_sound(folder.out(), session);
  const Dataset dataset = Dataset::open(folder.out().string());
  CHECK((dataset.schema().nodes[0].labels->names == std::vector<std::string>{"red", "big"}));
  const Array bits = dataset.labels("node");
  CHECK(bits.as<std::uint8_t>()[2] == 0b10);
}

TEST_CASE("dense types grow by count; nodes without labels have none; nothing is left to guess") {
  ImportFolder folder;
  SilentSession session;
  folder.write("edges.csv", "src,dst\n0,1\n2,1\n");
  folder.write("more.csv", "src,dst\n7,9\n");
  folder.write("y.npy", npy_ids({1, 0, 1}));
  folder.write("id.csv", "id\n8\n");
  folder.run("[[nodes]]\nlabels.file = \"y.npy\"\n[[edges]]\nfile = \"edges.csv\"\n");
  const auto message = [&](const std::string& toml) {
    return std::string(expect_error([&] { append(folder, toml, session); }).message());
  };
  CHECK(message("[[nodes]]\ncount = 2\n") ==
        "[[nodes]] 'node': count = 2, and there are 3 nodes already");
  CHECK(message("[[nodes]]\ncount = 3\n") == "there is nothing to append");
  CHECK(message("[[nodes]]\ntype = \"paper\"\ncount = 9\n").find("there is no node type 'paper'") !=
        std::string::npos);
  CHECK(message("[[nodes]]\nfeatures.file = \"y.npy\"\n") ==
        "nodes of type 'node' have no features");
  CHECK(Manifest::load(folder.out()).or_throw().generation == 1);

  const UpdateReport report =
      append(folder, "[[nodes]]\ncount = 10\n[[edges]]\nfile = \"more.csv\"\n", session);
  CHECK(report.nodes == 7);
  check_sound(folder.out(), session);
  const Dataset dataset = Dataset::open(folder.out().string());
  CHECK(dataset.schema().nodes[0].count == 10);
  const Array labels = dataset.labels("node");
  const auto values = labels.as<std::int32_t>();
  CHECK(std::vector(values.begin(), values.end()) ==
        std::vector<std::int32_t>{1, 0, 1, -1, -1, -1, -1, -1, -1, -1});
  const Lists lists = lists_of(folder.out());
  REQUIRE(lists.size() == 10);
  CHECK(lists[1].size() == 2);
  REQUIRE(lists[9].size() == 1);
  CHECK(lists[9][0].first == 7);
}

TEST_CASE("append refuses what it cannot do, and leaves the dataset as it is") {
  ImportFolder folder;
  SilentSession session;
  write_nodes(folder);
  folder.write("base.csv", csv(draw_edges(10, RandomKey(1)), 0, 10));
  folder.write("bad.csv", "src,dst\nn1,n2\nn1,nobody\n");
  folder.run(graph_toml("base.csv", false));
  const std::string before = read_all(folder.out() / "manifest.json");
  const auto message = [&](const std::string& toml) {
    return std::string(expect_error([&] { append(folder, toml, session); }).message());
  };
  CHECK(message("[[edges]]\nfile = \"bad.csv\"\n")
            .find("no node of type 'node' has the id 'nobody'") != std::string::npos);
  CHECK(message("[[edges]]\nfile = \"base.csv\"\nrelation = \"likes\"\n") ==
        "the dataset has no relation 'node__likes__node'");
  CHECK(
      message("[[edges]]\nfile = \"base.csv\"\nduplicates = \"drop\"\n") ==
      "append does with self loops and duplicates as the import did: self_loops and duplicates do "
      "not apply");
  CHECK(read_all(folder.out() / "manifest.json") == before);
  CHECK(folder.leftovers() == std::vector<std::string>{"graph"});
}

TEST_CASE("every edge is in its bucket once, whatever the number of parts") {
  ImportFolder folder;
  SilentSession session;
  write_nodes(folder);
  const Pairs edges = draw_edges(4000, RandomKey(8));
  folder.write("base.csv", csv(edges, 0, 4000));
  folder.run(graph_toml("base.csv", false));
  for (const std::uint64_t parts : {1u, 3u, 16u, 200u}) {
    CAPTURE(parts);
    partition_dataset(folder.out(), {.parts = parts}, "test", session.context);
    check_sound(folder.out(), session);
    const Manifest manifest = Manifest::load(folder.out()).or_throw();
    const Partitions partitions = Partitions::open(folder.out(), manifest, &session.ledger);
    Pairs found;
    for (std::uint64_t from = 0; from < parts; ++from) {
      for (std::uint64_t to = 0; to < parts; ++to) {
        for (const BucketEdge& edge : partitions.bucket(from, to).or_throw()) {
          found.emplace_back(part_begin(kNodes, parts, from) + edge.source,
                             part_begin(kNodes, parts, to) + edge.target);
          REQUIRE(part_of(kNodes, parts, found.back().first) == from);
          REQUIRE(part_of(kNodes, parts, found.back().second) == to);
        }
      }
    }
    Pairs sorted = edges;
    std::sort(sorted.begin(), sorted.end());
    std::sort(found.begin(), found.end());
    CHECK(found == sorted);
  }
}

TEST_CASE("a reordered dataset is the same graph under the same external ids") {
  ImportFolder folder;
  SilentSession session;
  write_nodes(folder);
  const Pairs edges = draw_edges(3000, RandomKey(4));
  folder.write("base.csv", csv(edges, 0, 3000));
  folder.run(graph_toml("base.csv", false));
  const Catalog<NodeOrder> orders = node_orders();
  for (const auto& entry : orders.list()) {
    CAPTURE(entry.name);
    const auto order = orders.create({entry.name, orders.make_options(entry.name)});
    const std::filesystem::path out = folder.dir / "out" / entry.name;
    ReorderOptions options{folder.out(), out, Overwrite::kRefuse, "", "test"};
    const ReorderReport report = reorder_dataset(options, *order, session.context);
    REQUIRE(report.types.size() == 1);
    CHECK(report.types[0].touches.batches > 0);
    check_sound(out, session);

    const Dataset dataset = Dataset::open(out.string());
    const ExternalIds ids = dataset.ids("node");
    std::set<std::string> seen;
    for (std::uint64_t i = 0; i < kNodes; ++i) seen.insert(ids.text(i));
    CHECK(seen.size() == kNodes);
    const auto old = [&](std::uint64_t node) {
      return static_cast<std::uint64_t>(std::stoul(ids.text(node).substr(1)));
    };
    Lists lists(kNodes);
    const Lists now = lists_of(out);
    for (std::uint64_t node = 0; node < kNodes; ++node) {
      for (const auto& [source, id] : now[node]) lists[old(node)].emplace_back(old(source), id);
    }
    CHECK(lists == lists_of(folder.out()));
    const auto labels = dataset.labels("node");
    const std::vector<float> rows = stored_f32_rows(out, "node", kNodes, 5);
    for (std::uint64_t node = 0; node < kNodes; ++node) {
      CHECK(labels.as<std::int32_t>()[node] == static_cast<std::int32_t>(old(node) % 7));
      CHECK(rows[node * 5 + 2] == static_cast<float>(old(node)) + 0.25f);
    }
    std::set<std::uint64_t> train, train_before;
    const Split after = dataset.split("default");
    for (const std::uint64_t id : after.train.as<std::uint64_t>()) train.insert(old(id));
    const Split before = Dataset::open(folder.out().string()).split("default");
    for (const std::uint64_t id : before.train.as<std::uint64_t>()) train_before.insert(id);
    CHECK(train == train_before);
  }
}

TEST_CASE("Parquet holds what CSV holds, read by a reader of somebody else's") {
  const std::string python = std::string(SLUICE_PYTHON);
  if (!std::filesystem::exists(python)) {
    MESSAGE("skipped: there is no " << python);
    return;
  }
  ImportFolder folder;
  SilentSession session;
  write_nodes(folder);
  folder.write("base.csv", csv(draw_edges(500, RandomKey(6)), 0, 500));
  folder.run(graph_toml("base.csv", false));
  const auto parquet = folder.dir / "parquet";
  const auto text = folder.dir / "csv";
  const ExportReport report =
      export_dataset({folder.out(), parquet, ExportFormat::kParquet}, session.context);
  CHECK(report.files == std::vector<std::string>{
                            "node.parquet", "node.features.parquet", "node__edge__node.parquet"});
  export_dataset({folder.out(), text, ExportFormat::kCsv}, session.context);
  CHECK(session.ledger.used() == 0);
  folder.dir.write("compare.py",
                   "import sys, pyarrow.parquet as p, pyarrow.csv as c\n"
                   "for name in ('node', 'node.features', 'node__edge__node'):\n"
                   "    a = p.read_table(f'{sys.argv[1]}/{name}.parquet')\n"
                   "    b = c.read_csv(f'{sys.argv[2]}/{name}.csv')\n"
                   "    assert a.num_rows > 0 and a.column_names == b.column_names, name\n"
                   "    assert a.cast(b.schema).equals(b), name\n");
  const std::string command = fmt::format("'{}' '{}' '{}' '{}'",
                                          python,
                                          (folder.dir / "compare.py").string(),
                                          parquet.string(),
                                          text.string());
  CHECK(std::system(command.c_str()) == 0);
}

TEST_CASE("what is exported imports as the same graph") {
  ImportFolder folder;
  SilentSession session;
  write_nodes(folder);
  const Pairs edges = draw_edges(500, RandomKey(6));
  folder.write("base.csv", csv(edges, 0, 500));
  folder.run(graph_toml("base.csv", false));
  const ExportReport report = export_dataset(
      {folder.out(), folder.dir / "raw/exported", ExportFormat::kCsv}, session.context);
  CHECK(report.files ==
        std::vector<std::string>{"node.csv", "node.features.csv", "node__edge__node.csv"});
  folder.run_into(
      "[[nodes]]\nids = \"string\"\nid_list.file = \"exported/node.csv\"\n"
      "features.file = \"exported/node.features.csv\"\n"
      "labels.file = \"exported/node.csv\"\nlabels.columns = [\"label\"]\n"
      "[[edges]]\nfile = \"exported/node__edge__node.csv\"\n",
      folder.dir / "out/again");
  const Dataset again = Dataset::open((folder.dir / "out/again").string());
  const auto sources = [](const Lists& lists) {
    std::vector<std::vector<std::uint64_t>> all;
    for (const auto& list : lists) {
      all.emplace_back();
      for (const auto& edge : list) all.back().push_back(edge.first);
    }
    return all;
  };
  CHECK(sources(lists_of(folder.dir / "out/again")) == sources(lists_of(folder.out())));
  CHECK(stored_f32_rows(folder.dir / "out/again", "node", kNodes, 5) ==
        stored_f32_rows(folder.out(), "node", kNodes, 5));
  const auto labels = again.labels("node");
  for (std::uint64_t node = 0; node < kNodes; ++node)
    CHECK(labels.as<std::int32_t>()[node] == static_cast<std::int32_t>(node % 7));
  CHECK(std::string(
            expect_error([&] {
              export_dataset({folder.out(), folder.dir / "x", ExportFormat::kNpy}, session.context);
            }).message()) == "ids of type 'node' are strings, and .npy has no array of those");
  CHECK_FALSE(std::filesystem::exists(folder.dir / "x"));
}
