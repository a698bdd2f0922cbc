// Every importer, to a dataset, and out again: the same edges, rows and labels under the users' own
// ids. The graph is drawn anew each run; SLUICE_SEED repeats one.
#include "compress.h"
#include "round_trip_graph.h"

#include <set>

using namespace sluice;
using namespace sluice::test;

TEST_CASE("round trip: CSV with everything, plain and compressed, by every format of export") {
  const Fixture f;
  CAPTURE(f.seed);
  const Truth truth = draw(f.seed, 40, 300, string_name);
  f.write("nodes.csv", truth.node_csv());
  const std::string nodes =
      "[[nodes]]\nids = 'string'\nid_list.file = '{0}'\nlabels = {{ file = '{0}', columns = "
      "['label'] "
      "}}\nfeatures = {{ file = '{0}', columns = ['f0', 'f1'] }}\n";
  const std::string edges =
      "[[edges]]\nfile = '{}'\nsource_column = 'from'\ntarget_column = 'to'\ntime_column = "
      "'time'\nweight_column = 'weight'\nlabels.columns = ['label']\nfeatures.columns = ['x', "
      "'y']\n";
  std::vector<CsvRow> expected{{"source", "target", "time", "weight", "label", "f0", "f1"}};
  for (const auto& e : truth.edges)
    expected.push_back({truth.ids[e.source],
                        truth.ids[e.target],
                        std::to_string(e.time),
                        fmt::format("{}", e.weight),
                        std::to_string(e.label),
                        fmt::format("{}", e.weight + 1),
                        fmt::format("{}", -e.weight)});
  expected = sorted_rows(expected);
  f.write("e.csv", truth.edge_csv());
  f.write("e.tsv", truth.edge_csv('\t'));
  f.write("e.csv.gz", gzip(truth.edge_csv()));
  f.write("e.tsv.zst", zstd(truth.edge_csv('\t')));
  for (const char* file : {"e.csv", "e.tsv", "e.csv.gz", "e.tsv.zst"}) {
    CAPTURE(file);
    const auto dataset = f.datasets.import(
        fmt::format(fmt::runtime(nodes), "nodes.csv") + fmt::format(fmt::runtime(edges), file),
        f.dir / "raw");
    const Content content = f.datasets.content(dataset);
    CHECK((content.at("node__edge__node") == expected));
    CHECK((content.at("node") == truth.node_rows(true)));
  }
}

TEST_CASE("round trip: lists of integers, raw pairs and arrays") {
  const Fixture f;
  CAPTURE(f.seed);
  const Truth sparse = draw(f.seed, 60, 400, integer_name);
  std::string list = "# a comment\n";
  for (const auto& e : sparse.edges)
    list += fmt::format("{} \t{}\n", sparse.ids[e.source], sparse.ids[e.target]);
  f.write("e.txt", list);
  f.write("e.txt.gz", gzip(list));
  const std::string integers = "[[nodes]]\nids = 'integer'\n[[edges]]\nfile = '{}'\n";
  f.check_pairs(fmt::format(fmt::runtime(integers), "e.txt"), sparse);
  f.check_pairs(fmt::format(fmt::runtime(integers), "e.txt.gz"), sparse);
  std::vector<std::int64_t> pairs;
  for (const auto& e : sparse.edges)
    for (const std::size_t node : {e.source, e.target})
      pairs.push_back(std::stoll(sparse.ids[node]));
  f.write("e.npy", npy("<i8", fmt::format("({}, 2)", pairs.size() / 2), bytes_of_values(pairs)));
  f.check_pairs(fmt::format(fmt::runtime(integers), "e.npy"), sparse);
}

TEST_CASE("round trip: triples and multiplex lists, a relation a type") {
  const Fixture f;
  CAPTURE(f.seed);
  const auto name = [](std::size_t i) { return fmt::format("/m/0 {}", i); };
  const Truth truth = draw(f.seed, 30, 200, name);
  std::string triples;
  for (const auto& e : truth.edges)
    triples += fmt::format("{}\t{}\t{}\n", truth.ids[e.source], e.type, truth.ids[e.target]);
  f.write("e.triples", triples);
  const Content content = f.datasets.content(f.datasets.import(
      "[[nodes]]\nids = 'string'\n[[edges]]\nfile = 'e.triples'\ntype_column = 'relation'\n"
      "source_column = 'head'\ntarget_column = 'tail'\n",
      f.dir / "raw"));
  for (const char* type : {"t0", "t1", "t2"})
    CHECK((content.at(fmt::format("node__{}__node", type)) == truth.pairs(type)));
  CHECK((content.at("node") == truth.node_rows(false)));

  const Truth numbers = draw(f.seed + 1, 30, 200, integer_name);
  std::string multiplex;
  for (const auto& e : numbers.edges)
    multiplex += fmt::format("{} {} {}\n", e.type, numbers.ids[e.source], numbers.ids[e.target]);
  f.write("e.multiplex", multiplex);
  const Content layers = f.datasets.content(f.datasets.import(
      "[[nodes]]\nids = 'integer'\n[[edges]]\nfile = 'e.multiplex'\ntype_column = 'type'\n"
      "source_column = 'source'\ntarget_column = 'target'\ntypes = 'labels'\n",
      f.dir / "raw"));
  std::vector<CsvRow> expected{{"source", "target", "label"}};
  for (const auto& e : numbers.edges)
    expected.push_back({numbers.ids[e.source], numbers.ids[e.target], e.type});
  CHECK((layers.at("node__edge__node") == sorted_rows(expected)));
}

TEST_CASE("round trip: METIS") {
  const Fixture f;
  CAPTURE(f.seed);
  const RandomKey key(f.seed);
  std::set<std::pair<int, int>> edges;
  for (std::uint64_t i = 0; i < 90; ++i) {
    const int a = 1 + static_cast<int>(key.below(25, 2 * i)),
              b = 1 + static_cast<int>(key.below(25, 2 * i + 1));
    if (a != b) edges.insert({std::min(a, b), std::max(a, b)});
  }
  std::string text = fmt::format("% made by a test\n25 {} 1\n", edges.size());
  std::vector<CsvRow> expected{{"source", "target", "weight"}};
  for (int node = 1; node <= 25; ++node) {
    for (const auto& [a, b] : edges) {
      if (a != node && b != node) continue;
      const int other = a == node ? b : a;
      text += fmt::format("{} {} ", other, a + b);
      expected.push_back({std::to_string(node), std::to_string(other), std::to_string(a + b)});
    }
    text += '\n';
  }
  f.write("g.metis", text);
  const Content content =
      f.datasets.content(f.datasets.import("[[nodes]]\nfirst_id = 1\ncount = 25\n[[edges]]\nfile = "
                                           "'g.metis'\nweight_column = 'weight'\n",
                                           f.dir / "raw"));
  CHECK((content.at("node__edge__node") == sorted_rows(expected)));
  CHECK(content.at("node").size() == 26);
}

TEST_CASE("round trip: what is exported, in every format, imports as the same graph") {
  const Fixture f;
  CAPTURE(f.seed);
  const Truth truth = draw(f.seed, 40, 300, integer_name);
  f.write("n.csv", truth.node_csv());
  f.write("e.csv", truth.edge_csv());
  const auto dataset = f.datasets.import(
      "[[nodes]]\nids = 'integer'\nid_list.file = 'n.csv'\nlabels = { file = 'n.csv', columns = "
      "['label'] }\nfeatures = { file = 'n.csv', columns = ['f0', 'f1'] }\n[[edges]]\nfile = "
      "'e.csv'\nsource_column = 'from'\ntarget_column = 'to'\ntime_column = 'time'\nweight_column "
      "= "
      "'weight'\n",
      f.dir / "raw");
  const Content content = f.datasets.content(dataset);
  for (const ExportFormat format :
       {ExportFormat::kCsv, ExportFormat::kParquet, ExportFormat::kNpy}) {
    const std::string extension(extension_of(format));
    CAPTURE(extension);
    const std::string folder = "export" + extension;
    for (const auto& [name, bytes] : f.datasets.export_files(dataset, format))
      f.dir.write(folder + "/" + name, bytes);
    const bool arrays = format == ExportFormat::kNpy;
    const std::string nodes = arrays ? "node.ids.npy" : "node" + extension;
    std::string toml = fmt::format(
        "[[nodes]]\nids = 'integer'\nid_list.file = '{0}'\nfeatures.file = 'node.features{1}'\n",
        nodes,
        extension);
    toml += arrays ? "labels.file = 'node.labels.npy'\n"
                   : fmt::format("labels = {{ file = '{}', columns = ['label'] }}\n", nodes);
    toml += fmt::format("[[edges]]\nfile = 'node__edge__node{}'\n", extension);
    if (!arrays) toml += "time_column = 'time'\nweight_column = 'weight'\n";
    Content again = f.datasets.content(f.datasets.import(toml, f.dir / folder));
    Content expected = content;
    if (arrays) {  // times and weights are arrays of their own there
      for (CsvRow& row : expected["node__edge__node"]) row.resize(2);
      expected["node__edge__node"] = sorted_rows(expected["node__edge__node"]);
    }
    CHECK((again == expected));
  }
}
