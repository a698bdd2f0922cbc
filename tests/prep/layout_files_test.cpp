// Guesses: files of any kind, and the real data sets.
#include "layout_support.h"
#include "npz_file.h"
#include "support/catalog_names.h"
#include "support/expect_error.h"

#include <limits>
#include <map>

using namespace sluice;
using namespace sluice::test;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A spec as a graph.toml without comments, and without the root.
std::string plain(const LayoutFolder::Described& described) {
  GraphSpec spec = described.spec;
  spec.root.clear();
  return to_toml(spec, table_formats());
}

struct Guess {
  std::string what, file, text, toml;
};

}  // namespace

TEST_CASE("files: one file of edges") {
  const std::string node = "\n[[nodes]]\n", edge = "\n[[edges]]\n";
  for (const Guess& row : std::vector<Guess>{
           {"csv with a header",
            "e.csv",
            "src,dst\n0,1\n1,2\n",
            node + edge + "file = \"e.csv\"\n"},
           {"columns elsewhere, by name",
            "e.csv",
            "Weight,to,ts,FROM,note\n0.5,1,100,0,a\n1,2,7,1,b\n",
            node + edge +
                "file = \"e.csv\"\nsource_column = \"FROM\"\ntarget_column = \"to\"\n"
                "time_column = \"ts\"\nweight_column = \"Weight\"\n"},
           {"types",
            "e.csv",
            "head,relation,tail\na,likes,b\nb,knows,c\n",
            node + "ids = \"string\"\n" + edge +
                "file = \"e.csv\"\nsource_column = \"head\"\ntarget_column = \"tail\"\n"
                "type_column = \"relation\"\n"},
           {"no header",
            "e.csv",
            "0,1\n1,2\n",
            node + edge + "file = \"e.csv\"\n\n[csv]\nheader = \"no\"\n"},
           {"semicolons",
            "e.csv",
            "a;b\n0;1\n1;2\n",
            node + edge + "file = \"e.csv\"\n\n[csv]\ndelimiter = \";\"\n"},
           {"ids from 1, all of them",
            "e.tsv",
            "u\tv\n1\t2\n3\t1\n",
            node + "first_id = 1\n" + edge + "file = \"e.tsv\"\n"},
           {"ids with gaps",
            "e.csv",
            "u,v\n1,200\n-3,1\n",
            node + "ids = \"integer\"\n" + edge + "file = \"e.csv\"\n"},
           {"ids that begin with zeros",
            "e.csv",
            "u,v\n001,002\n",
            node + "ids = \"string\"\n" + edge + "file = \"e.csv\"\n"},
           {"an edge list with comments",
            "web.txt",
            "# FromNodeId ToNodeId\n0\t1\n1\t2\n",
            node + edge + "file = \"web.txt\"\nformat = \"list\"\n"},
           {"a list with times and weights",
            "web.edges",
            "0 1 1082008561 0.5\n1 2 1082008000 1\n",
            node + edge +
                "file = \"web.edges\"\nformat = \"list\"\ntime_column = \"c2\"\n"
                "weight_column = \"c3\"\n"},
           {"text with a header",
            "web.txt",
            "source target\n0 1\n",
            node + edge + "file = \"web.txt\"\nformat = \"csv\"\n\n[csv]\ndelimiter = \" \"\n"},
           {"triples",
            "kg.txt",
            "a\tr1\tb\nb\tr2\tc\n",
            node + "ids = \"string\"\n" + edge +
                "file = \"kg.txt\"\nsource_column = \"head\"\ntarget_column = \"tail\"\nformat = "
                "\"triples\"\ntype_column = \"relation\"\n"},
           {"METIS",
            "m.graph",
            "% a comment\n4 2\n2 3\n1\n1\n\n",
            node + "count = 4\nfirst_id = 1\n" + edge + "file = \"m.graph#edges\"\n"},
       }) {
    CAPTURE(row.what);
    LayoutFolder folder;
    folder.write(row.file, row.text);
    const auto described = folder.describe();
    CHECK(described.warnings.empty());
    CHECK(plain(described) == row.toml);
    CHECK(folder.import(described).edges > 0);
    // The same when the file is named.
    CHECK(plain(folder.describe({row.file})) == row.toml);
  }
}

TEST_CASE("files: a third column that says nothing is left out, and said") {
  LayoutFolder folder;
  folder.write("e.csv", "0,1,5\n1,2,6\n");
  std::string toml = folder.describe().toml;
  for (auto at = toml.find("\n# "); at != std::string::npos; at = toml.find("\n# "))
    toml.replace(at, 3, " ");
  CHECK(
      contains(toml, "The column c2 is left out: is it weight_column, time_column, type_column?"));
}

TEST_CASE("files: triples in three parts") {
  LayoutFolder folder;
  folder.write("train.txt", "a\tlikes\tb\nb\tlikes\tc\n");
  folder.write("valid.txt", "a\tlikes\tc\n");
  folder.write("test.txt", "d\tlikes\ta\n");
  const auto described = folder.describe();
  CHECK(described.warnings.empty());
  const Dataset dataset = folder.dataset(described);
  // d is only in the test part.
  CHECK(dataset.schema().nodes[0].count == 4);
  CHECK((in_edges(dataset, "node__likes__node") == in_edges(4, {{0, 1}, {1, 2}})));
  CHECK(dataset.schema().edge_splits.size() == 1);
}

TEST_CASE("files: what stands beside nodes, and what is not understood") {
  LayoutFolder folder;
  folder.write("edge_index.npy",
               npy("<i8", "(2, 3)", bytes_of_values<std::int64_t>({0, 1, 2, 1, 2, 0})));
  folder.write("node_feat.npy", npy_rows(4, 2, {1, 2, 3, 4, 5, 6, 7, 8}));
  folder.write("y.csv", "label\n-1\n1\n7\n1\n");
  folder.write("train_mask.npy", npy("|b1", "(4,)", std::string("\1\0\0\1", 4)));
  folder.write("idx_train.npy", npy_ids({0, 3}));
  folder.write("idx_test.npy", npy_ids({1}));
  folder.write("valid_b.npy", npy_ids({1}));
  folder.write("photo.jpg", "x");
  folder.write("README.md", "x");
  const auto described = folder.describe();
  CHECK(described.warnings ==
        std::vector<std::string>{
            "train_mask.npy: this part of the split is that of idx_train.npy already",
            "the split b: it has no train file",
            "photo.jpg: no table format is known by the extension '.jpg': a graph.toml can say it, "
            "format = \"list\" (csv, triples, ...)"});
  const Dataset dataset = folder.dataset(described);
  CHECK((in_edges(dataset, "node__edge__node") == in_edges(4, {{0, 1}, {1, 2}, {2, 0}})));
  CHECK(stored_f32_rows(folder.out(), "node", 4, 2) == std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(dataset.schema().nodes[0].labels->names == std::vector<std::string>{"1", "7"});
  CHECK(values_of<std::uint64_t>(dataset.split("default").train) ==
        std::vector<std::uint64_t>{0, 3});
}

TEST_CASE("files: rows beside nodes of ids that number nothing are left out, and said") {
  LayoutFolder folder;
  folder.write("edges.csv", "u,v\na,b\n");
  folder.write("features.npy", npy_rows(2, 1, {1, 2}));
  const auto described = folder.describe();
  CHECK(described.warnings ==
        std::vector<std::string>{
            "features, labels and times of 'node': the ids of its nodes are not 0, 1, 2, ..., and "
            "nothing tells their order: id_list of its [[nodes]] would"});
  CHECK(folder.import(described).nodes == 2);
}

TEST_CASE("files: no edges, no files") {
  LayoutFolder folder;
  folder.write("features.npy", npy_rows(2, 1, {1, 2}));
  CHECK(
      as_text(expect_error([&] { folder.describe(); }), folder) ==
      "data|ROOT/raw/features.npy: no edges can be told among these files: features.npy: it holds "
      "floats, and ids are whole numbers: save a.astype('int64')|describe them in a graph.toml "
      "(sluice-prep import --keys), and import it with --config");
  CHECK(as_text(expect_error([&] { folder.describe({"nothing.csv"}); }), folder) ==
        "data|ROOT/raw/nothing.csv: there is no such file or folder|check its name, and the folder "
        "it is looked for in (--root)");
  folder.write("empty/.x", "");
  CHECK(as_text(expect_error([&] { folder.describe({"empty"}); }), folder) ==
        "data|ROOT/raw/empty: there are no files in it|name a folder of data");
}

TEST_CASE("npz: arrays by name, edge_index turned, and OGB's data.npz") {
  LayoutFolder folder;
  const float none = std::numeric_limits<float>::quiet_NaN();
  const std::string by_column = bytes_of_values<std::int64_t>({0, 1, 2, 3, 1, 2, 0, 0});
  const std::string by_row = bytes_of_values<std::int64_t>({0, 1, 1, 2, 2, 0, 3, 0});
  folder.write("ogb/raw/data.npz",
               npz({{"edge_index.npy", npy("<i8", "(2, 4)", by_column)},
                    {"node_feat.npy", npy_rows(4, 2, {0, 1, 2, 3, 4, 5, 6, 7})},
                    {"num_nodes_list.npy", npy_ids({4})},
                    {"num_edges_list.npy", npy_ids({4})},
                    {"edge_feat.npy", npy_rows(4, 3, std::vector<float>(12, 1))},
                    {"odd.npy", npy_ids({0, 0})}}));
  folder.write(
      "ogb/raw/node-label.npz",
      npz({{"node_label.npy", npy("<f4", "(4, 1)", bytes_of_values<float>({1, none, 0, 1}))}}));
  const auto expected = in_edges(4, {{0, 1}, {1, 2}, {2, 0}, {3, 0}});
  const auto described = folder.describe({"ogb"});
  CHECK(described.warnings ==
        std::vector<std::string>{"raw/data.npz: the array odd has no place in a graph.toml"});
  const Dataset ogb = folder.dataset(described);
  CHECK((in_edges(ogb, "node__edge__node") == expected));
  CHECK(stored_f32_rows(folder.out(), "node", 4, 2) == std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(values_of<std::int32_t>(ogb.labels("node")) == std::vector<std::int32_t>{1, -1, 0, 1});
  CHECK(ogb.schema().relations[0].features.at(0).dim == 3);

  const std::string edges = "[[edges]]\nfile = 'a.npz'\n";
  const auto check = [&](const std::string& file, const std::string& keys) {
    folder.write("a.npz", file);
    folder.run(edges + keys, Overwrite::kReplace);
    CHECK((in_edges(Dataset::open(folder.out()), "node__edge__node") == expected));
  };
  const std::string named = "source_column = 'edge_index'\nweight_column = 'w'\n";
  const std::string w = npy("<f8", "(4,)", bytes_of_values<double>({0, 0.5, 1, 1.5}));
  check(npz({{"w.npy", w}, {"edge_index.npy", npy("<i8", "(2, 4)", by_column)}}, ZIP_CM_DEFLATE),
        named);
  check(npz({{"w.npy", w}, {"edge_index.npy", npy("<i8", "(2, 4)", by_row, "True")}}), named);
  check(npz({{"e.npy", npy("<i8", "(4, 2)", by_column, "True")}}), "");
  check(npz({{"e.npy", npy("<i8", "(4, 2)", by_row)}}), "");
}

TEST_CASE("npz: a long edge_index, chunk by chunk") {
  constexpr std::size_t kEdges = 600'001;
  std::vector<std::int32_t> ends(2 * kEdges);
  Pairs edges;
  for (std::size_t i = 0; i < kEdges; ++i) {
    ends[i] = static_cast<std::int32_t>(i * 5 % 9);
    ends[kEdges + i] = static_cast<std::int32_t>(i * i % 9);
    edges.emplace_back(i * 5 % 9, i * i % 9);
  }
  LayoutFolder folder;
  folder.write(
      "a.npz",
      npz({{"edge_index.npy", npy("<i4", fmt::format("(2, {})", kEdges), bytes_of_values(ends))}},
          ZIP_CM_DEFLATE));
  const Dataset dataset = folder.dataset(folder.describe());
  CHECK((in_edges(dataset, "node__edge__node") == in_edges(9, edges)));
}

namespace {

/// A real data set as it is guessed and imported.
std::optional<Dataset> import_real(const LayoutFolder& folder, const std::string& name) {
  const auto path = real_folder(name);
  if (!path) return std::nullopt;
  const auto described = LayoutFolder::describe_at({path->string()});
  CHECK(described.warnings.empty());
  return folder.dataset(described);
}

std::uint64_t edges_of(const Dataset& dataset, const std::string& key) {
  for (const RelationSchema& relation : dataset.schema().relations)
    if (relation.key() == key) return relation.edges;
  return 0;
}

}  // namespace

// Counts are those of the README beside the data.
TEST_CASE("files: Cora") {
  const LayoutFolder folder;
  const auto cora = import_real(folder, "cora");
  if (!cora) return;
  const NodeTypeSchema& papers = cora->schema().nodes.at(0);
  CHECK(papers.count == 2'708);
  CHECK(papers.features.at(0).dim == 1'433);
  CHECK(papers.labels->width == 7);
  CHECK(edges_of(*cora, "node__edge__node") == 5'278);
  CHECK(cora->split("default").train.as<std::uint64_t>().size() == 140);
  CHECK(cora->split("default").valid.as<std::uint64_t>().size() == 500);
  CHECK(cora->split("default").test.as<std::uint64_t>().size() == 1'000);
}

TEST_CASE("files: ACM") {
  const LayoutFolder folder;
  const auto acm = import_real(folder, "acm");
  if (!acm) return;
  std::map<std::string, std::uint64_t> counts;
  for (const NodeTypeSchema& node : acm->schema().nodes) counts[node.name] = node.count;
  CHECK((counts == std::map<std::string, std::uint64_t>{
                       {"paper", 4'019}, {"author", 7'167}, {"subject", 60}}));
  CHECK(acm->schema().nodes[0].labels->width == 3);
  CHECK(acm->schema().nodes[1].features.at(0).dim == 1'902);
  CHECK(edges_of(*acm, "paper__paper_author__author") == 13'407);
  CHECK(acm->schema().splits.size() == 3);
}

TEST_CASE("files: Amazon, WN18RR, UCI, MUTAG") {
  const LayoutFolder folder;
  if (const auto amazon = import_real(folder, "amazon")) {
    CHECK(amazon->schema().nodes[0].ids == IdKind::kInteger);
    CHECK(amazon->schema().relations.size() == 2);
    CHECK(amazon->schema().total_edges() == 126'535);
  }
  if (const auto wn = import_real(folder, "wn18rr")) {
    CHECK(wn->schema().nodes[0].ids == IdKind::kString);
    CHECK(wn->schema().nodes[0].count == 40'943);
    CHECK(wn->schema().relations.size() == 11);
    CHECK(wn->schema().total_edges() == 86'835);
  }
  if (const auto uci = import_real(folder, "uci/uci.csv")) {
    CHECK(uci->schema().nodes[0].count == 1'899);
    CHECK(uci->schema().total_edges() == 59'835);
    CHECK(uci->schema().relations[0].has_times);
  }
  if (const auto mutag = import_real(folder, "mutag")) {
    CHECK(mutag->schema().graphs->count == 188);
    CHECK(mutag->schema().graphs->labels->width == 2);
    CHECK(mutag->schema().nodes[0].count == 3'371);
  }
}

TEST_CASE("every layout: what is none of it is not recognised, or refused as a user's error") {
  const LayoutFolder folder;
  folder.write("notes.md", "nothing of a graph\n");
  for (const std::string& name : names_of(layouts())) {
    CAPTURE(name);
    const Error error = expect_error([&] { (void)folder.describe({}, name); });
    CHECK(error.code() != ErrorCode::kInternal);
    CHECK_FALSE(error.message().empty());
    CHECK_FALSE(error.hint().empty());
  }
}
