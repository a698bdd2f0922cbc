// METIS files against the graphs they were written from; headers and lines that lie.
#include "support/sanitized.h"
#include "table_support.h"

#include <sluice/random.h>

using namespace sluice;
using namespace sluice::test;

namespace {

/// A random multigraph as a METIS file and as the tables it must give.
struct Written {
  std::string text = "% made up\n";
  Cells edges, nodes;
};

Written random_graph(std::uint64_t seed, bool sizes, int weights, bool edge_weights) {
  const RandomKey key(seed);
  std::uint64_t at = 0;
  const auto draw = [&](std::uint64_t below) { return key.below(below, at++); };
  const std::uint64_t nodes = 1 + draw(300), edges = draw(900);
  std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>> lists(nodes + 1);
  for (std::uint64_t i = 0; i < edges; ++i) {
    const std::uint64_t a = 1 + draw(nodes), b = draw(3) == 0 ? 1 : 1 + draw(nodes);
    const std::uint64_t weight = 1 + draw(1'000'000);
    lists[a].emplace_back(b, weight);
    lists[b].emplace_back(a, weight);
  }
  Written out;
  out.text += fmt::format(
      "{}  {} {}{}{}", nodes, edges, sizes ? 1 : 0, weights > 0 ? 1 : 0, edge_weights ? 1 : 0);
  out.text += weights > 1 ? fmt::format("\t{}\r\n", weights) : "\n";
  for (std::uint64_t node = 1; node <= nodes; ++node) {
    if (draw(10) == 0) out.text += "%" + std::string(draw(6'000), 'c') + "\n";
    std::vector<std::string> row{std::to_string(node)};
    for (int i = 0; i < weights + (sizes ? 1 : 0); ++i) row.push_back(std::to_string(draw(50)));
    std::vector<std::string> fields;
    if (sizes) fields.push_back(row.back());
    fields.insert(fields.end(), row.begin() + 1, row.begin() + 1 + weights);
    for (const auto& [target, weight] : lists[node]) {
      std::vector<std::string>& edge =
          out.edges.emplace_back(std::vector{std::to_string(node), std::to_string(target)});
      fields.push_back(edge[1]);
      if (edge_weights) fields.push_back(edge.emplace_back(std::to_string(weight)));
    }
    out.text += fmt::format("{}{}{}",
                            draw(2) == 0 ? " " : "",
                            fmt::join(fields, draw(2) == 0 ? " " : " \t "),
                            draw(2) == 0 ? "\n" : " \r\n");
    out.nodes.push_back(row);
  }
  if (draw(2) == 0) out.text += "\n% end\n\n";
  return out;
}

Fault metis(const char* name, const std::string& text, const std::string& expected) {
  return {name,
          {{"e.graph", text}},
          "[[nodes]]\nids = 'integer'\n[[edges]]\nfile = 'e.graph'\n",
          "data|ROOT/raw/e.graph" + expected};
}

constexpr const char* kHeader =
    "the first line is 'nodes edges [fmt [weights]]', as the METIS manual has it";
constexpr const char* kShortMetis = "the file was cut short, or its header is wrong";

}  // namespace

TEST_CASE("METIS: the manual's examples") {
  TextTable table;
  ThreadArena arena(2);
  const auto plain = table.open("a.graph", "3 2\n2\n1 3\n2\n", arena);
  CHECK(column_names(*plain) == std::vector<std::string>{"source", "target"});
  CHECK(read_cells(*plain, ColumnType::kInteger) ==
        Cells{{"1", "2"}, {"2", "1"}, {"2", "3"}, {"3", "2"}});
  const std::string full = "% c\n\n2 1 111 2\n% d\n4 1 2 2 7\n5 0 3 1 7\n\n";
  const auto edges = table.open("a.metis", full, arena, "", "auto", "edges");
  CHECK(column_names(*edges) == std::vector<std::string>{"source", "target", "weight"});
  CHECK(read_cells(*edges, ColumnType::kReal) == Cells{{"1", "2", "7"}, {"2", "1", "7"}});
  const auto nodes = table.open("a.metis", full, arena, "", "auto", "nodes");
  CHECK(column_names(*nodes) == std::vector<std::string>{"id", "weight0", "weight1", "size"});
  CHECK(read_cells(*nodes, ColumnType::kInteger) ==
        Cells{{"1", "1", "2", "4"}, {"2", "0", "3", "5"}});
  const auto lonely = table.open("a.metis", "3 0\n\n\n\n", arena, "", "metis", "nodes");
  CHECK(read_cells(*lonely) == Cells{{"1"}, {"2"}, {"3"}});
  CHECK(read_cells(*table.open("a.metis", "0 0\n", arena)).empty());
}

TEST_CASE(
    "METIS: random graphs of every kind, lines longer than the buffer, more rows than a chunk") {
  TextTable table;
  ThreadArena arena(1);
  for (std::uint64_t seed = 100; seed < sanitized<std::uint64_t>(180, 112); ++seed) {
    CAPTURE(seed);
    const bool sizes = seed % 2 == 0, edge_weights = seed % 3 == 0;
    const Written written = random_graph(seed, sizes, static_cast<int>(seed % 4), edge_weights);
    for (const char* block : {"4KiB", "1MiB"}) {
      const auto keys = fmt::format("[metis]\nblock = '{}'", block);
      for (const ColumnType type : {ColumnType::kInteger, ColumnType::kText, ColumnType::kReal}) {
        CHECK(
            (read_cells(*table.open("a.graph", written.text, arena, keys), type) == written.edges));
        CHECK((read_cells(*table.open("a.graph", written.text, arena, keys, "auto", "nodes"),
                          type) == written.nodes));
      }
    }
  }
  std::string star = "200001 200000\n";
  for (int i = 2; i <= 200'001; ++i) star += fmt::format("{} ", i);
  star += "\n";
  for (int i = 2; i <= 200'001; ++i) star += "1\n";
  const auto reader = table.open("a.graph", star, arena, "[metis]\nblock = '4KiB'");
  const Cells rows = read_cells(*reader, ColumnType::kInteger);
  REQUIRE(rows.size() == 400'000);
  for (std::size_t i = 0; i < 200'000; ++i) {
    REQUIRE((rows[i] == std::vector<std::string>{"1", std::to_string(i + 2)}));
    REQUIRE((rows[200'000 + i] == std::vector<std::string>{std::to_string(i + 2), "1"}));
  }
  CHECK(table.ledger.peak() < 5 * kMiB);
}

TEST_CASE("METIS: imported, with ids as in the file") {
  ImportFolder folder;
  folder.write("a.graph", "3 2 010\n7 2\n8 1 3\n9 2\n");
  const ImportReport report = folder.run(
      "[[nodes]]\nids = 'integer'\nid_list.file = 'a.graph#nodes'\n"
      "features.file = 'a.graph#nodes'\nfeatures.columns = ['weight0']\n"
      "[[edges]]\nfile = 'a.graph'\n");
  CHECK(report.nodes == 3);
  const Dataset dataset = Dataset::open(folder.out());
  CHECK((in_edges(dataset, dataset.schema().relations.at(0).key()) ==
         in_edges(3, {{0, 1}, {1, 0}, {1, 2}, {2, 1}})));
  CHECK(stored_f32_rows(folder.out(), "node", 3, 1) == std::vector<float>{7, 8, 9});
}

TEST_CASE("METIS: a lone carriage return is found at the end of what is held in memory too") {
  const std::string front = "2 1\n2\n1\n%";
  for (std::size_t at = 4090; at < 4100; ++at) {
    TextTable table;
    ThreadArena arena(1);
    const std::string text = front + std::string(at - front.size(), 'c') + "\rx";
    const Error error = expect_error([&] {
      const auto reader = table.open("e.metis", text, arena, "[metis]\nblock = 4096\n");
      read_cells(*reader);
    });
    CHECK(error.message() == "a carriage return in the middle of the line");
  }
}

TEST_CASE("bad input: METIS files") {
  check_all({
      metis("empty", "", fmt::format(":1: the file has no header|{}", kHeader)),
      metis("only comments", "% a\n% b\n", fmt::format(":2: the file has no header|{}", kHeader)),
      metis(
          "one field", "% a\n3\n1\n", fmt::format(":2: the header has only one field|{}", kHeader)),
      metis("five fields",
            "3 2 1 1 1\n",
            fmt::format(":1: the header has more than 4 fields|{}", kHeader)),
      metis("no count", "3 x\n", fmt::format(":1: 'x' is no count of edges|{}", kHeader)),
      metis("a negative count", "-3 2\n", fmt::format(":1: '-3' is no count of nodes|{}", kHeader)),
      metis("an unknown format",
            "3 2 12\n",
            ":1: fmt is '12'|it has three digits, 0 or 1: node sizes, node weights, edge weights"),
      metis("weights that fmt does not know",
            "3 2 1 2\n",
            ":1: 2 weights a node do not go with fmt = 001|with node weights (fmt x1x) there is at "
            "least one, without them none"),
      metis("too few lines",
            "3 2\n2\n1 3\n",
            fmt::format(":3: the file ends after 2 of the 3 nodes that line 1 tells|{}",
                        kShortMetis)),
      metis("too many lines",
            "2 1\n2\n1\n\n1\n",
            ":5: a line more than the 2 nodes that line 1 tells|correct the header, or the lines"),
      metis("too few neighbours",
            "3 2\n2\n1\n\n",
            fmt::format(":4: the file lists 2 neighbours, but 2 edges by line 1 have 4|{}",
                        kShortMetis)),
      metis(
          "too many neighbours",
          "% c\n2 1\n2\n1 1\n",
          ":4: more than the 2 neighbours that 1 edges have by line 2|each edge is listed by both "
          "of its ends; correct the header, or the lines"),
      metis("a neighbour beyond",
            "2 1\n2\n3\n",
            ":3: node 2: the neighbour 3 is out of range|neighbours run from 1 to 2, as line 1 "
            "tells"),
      metis("counted from 0",
            "2 1\n1\n0\n",
            ":3: node 2: the neighbour 0 is out of range|neighbours run from 1 to 2, as line 1 "
            "tells"),
      metis("no number",
            "2 1\n2\nx\n",
            ":3: node 2: 'x' is not an integer|neighbours are whole numbers from 1"),
      metis("a weight missing",
            "2 1 1\n2 5\n1\n",
            ":3: node 2: the last neighbour has no weight|by fmt in line 1 each neighbour is "
            "followed by its edge's"),
      metis("a node's weights missing",
            "2 1 10 3\n1 1 1 2\n1 1\n",
            ":3: node 2: 2 fields, but its size and weights are 3|fmt in line 1 says what a line "
            "begins with"),
      metis("a lone carriage return",
            "2 1\r2\n1\n",
            ":1: a carriage return in the middle of the line|end lines with LF or CRLF"),
      metis("a lone carriage return in a comment",
            "2 1\n% x\r2\n1\n",
            ":2: a carriage return in the middle of the line|end lines with LF or CRLF"),
      metis("a field without an end",
            "2 1\n" + std::string(9'000, '2') + "\n",
            ":2: '" + std::string(40, '2') +
                "...' is longer than 255 characters|is this a file of numbers?"),
      {"a weight that is no number",
       {{"e.graph", "2 1 10\nx 2\n1 1\n"}},
       "[[nodes]]\nids = 'integer'\nid_list.file = 'e.graph#nodes'\n"
       "features.file = 'e.graph#nodes'\nfeatures.columns = ['weight0']\n"
       "[[edges]]\nfile = 'e.graph'\n",
       "data|ROOT/raw/e.graph:2: column 'weight0': 'x' is not a number|features are "
       "numbers: leave the column out of features.columns, or encode it as numbers"},
      {"an unknown table",
       {{"e.graph", "2 1\n2\n1\n"}},
       "[[edges]]\nfile = 'e.graph#node'\n",
       "usage|ROOT/raw/e.graph: there is no table 'node'|did you mean 'nodes'? its tables: edges, "
       "nodes"},
  });
}
