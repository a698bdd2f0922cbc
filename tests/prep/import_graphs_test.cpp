// Texts of many small graphs against a plain reading of the same text, and texts that lie.
#include "support/sanitized.h"
#include "table_support.h"

#include <sluice/random.h>

#include <sstream>

using namespace sluice;
using namespace sluice::test;

namespace {

struct Tables {
  Cells edges, nodes, graphs;
  friend bool operator==(const Tables&, const Tables&) = default;
};

/// The three tables by the shortest reading there is.
Tables brute_force(const std::string& text) {
  std::istringstream lines(text);
  Tables tables;
  std::uint64_t graphs = 0, first = 0;
  const auto next_line = [&] {
    std::string line;
    while (std::getline(lines, line) && line.find_first_not_of(" \t\r") == std::string::npos) {
    }
    return std::istringstream(line);
  };
  next_line() >> graphs;
  for (std::uint64_t graph = 0; graph < graphs; ++graph) {
    std::uint64_t nodes = 0;
    std::string label;
    next_line() >> nodes >> label;
    tables.graphs.push_back({label, std::to_string(nodes)});
    for (std::uint64_t node = 0; node < nodes; ++node) {
      auto fields = next_line();
      std::string tag;
      std::uint64_t degree = 0, neighbour = 0;
      fields >> tag >> degree;
      for (std::uint64_t i = 0; i < degree; ++i) {
        fields >> neighbour;
        tables.edges.push_back({std::to_string(first + node), std::to_string(first + neighbour)});
      }
      std::vector<std::string>& row = tables.nodes.emplace_back();
      row = {std::to_string(graph), tag};
      for (std::string attribute; fields >> attribute;) row.push_back(attribute);
    }
    first += nodes;
  }
  return tables;
}

Tables read_tables(TextTable& table, const std::string& text, int threads, const char* block) {
  ThreadArena arena(threads);
  const auto keys = fmt::format("[graphs]\nblock = '{}'", block);
  const auto read = [&](const char* name) {
    return read_cells(*table.open("a.txt", text, arena, keys, "graphs", name));
  };
  CHECK(read("") == read("edges"));
  return {read("edges"), read("nodes"), read("graphs")};
}

std::string random_graphs(std::uint64_t seed, int attributes) {
  const RandomKey key(seed);
  std::uint64_t at = 0;
  const auto draw = [&](std::uint64_t below) { return key.below(below, at++); };
  const std::uint64_t graphs = draw(60);
  std::string text = fmt::format("{}\n", graphs);
  for (std::uint64_t graph = 0; graph < graphs; ++graph) {
    const std::uint64_t nodes = draw(4) == 0 ? 0 : draw(40);
    text += fmt::format("{} {}\r\n", nodes, static_cast<int>(draw(5)) - 2);
    for (std::uint64_t node = 0; node < nodes; ++node) {
      const std::uint64_t degree = draw(30) == 0 ? 3'000 : draw(6);
      text += fmt::format(" {}\t{}", draw(7), degree);
      for (std::uint64_t i = 0; i < degree; ++i) text += fmt::format("  {}", draw(nodes));
      for (int i = 0; i < attributes; ++i) text += fmt::format(" 0.{}", draw(1'000));
      text += draw(2) == 0 ? "\n" : " \n\n";
    }
  }
  return text;
}

Fault graphs(const char* name, const std::string& text, const std::string& expected) {
  return {name,
          {{"e.txt", text}},
          "[[edges]]\nfile = 'e.txt'\nformat = 'graphs'\n",
          "data|ROOT/raw/e.txt" + expected};
}

constexpr const char* kHint =
    "a line with the number of graphs; for each a line 'nodes label' and a line a node, 'tag "
    "degree "
    "neighbour...'";
constexpr const char* kShort = "the file was cut short, or it tells wrong numbers";

}  // namespace

TEST_CASE("graphs: columns and rows of the three tables") {
  TextTable table;
  ThreadArena arena(2);
  const std::string text = "3\n2 -1\n5 1 1 0.5 7\n6 1 0 0.25 8\n0 1\n1 1\n9 0 1e3 9";
  const auto names = [&](const char* name) {
    return column_names(*table.open("a.txt", text, arena, "", "graphs", name));
  };
  CHECK(names("") == std::vector<std::string>{"source", "target"});
  CHECK(names("nodes") == std::vector<std::string>{"graph", "tag", "attr0", "attr1"});
  CHECK(names("graphs") == std::vector<std::string>{"label", "nodes"});
  const Tables tables = read_tables(table, text, 1, "4KiB");
  CHECK(tables.edges == Cells{{"0", "1"}, {"1", "0"}});
  CHECK(tables.nodes ==
        Cells{{"0", "5", "0.5", "7"}, {"0", "6", "0.25", "8"}, {"2", "9", "1e3", "9"}});
  CHECK(tables.graphs == Cells{{"-1", "2"}, {"1", "0"}, {"1", "1"}});
  const auto reals = table.open("a.txt", text, arena, "", "graphs", "nodes");
  CHECK(read_cells(*reals, ColumnType::kReal, {"attr0"}) == Cells{{"0.5"}, {"0.25"}, {"1000"}});
}

TEST_CASE("graphs: random texts, as brute force reads them") {
  TextTable table;
  for (std::uint64_t seed = 200; seed < sanitized<std::uint64_t>(240, 206); ++seed) {
    CAPTURE(seed);
    const std::string text = random_graphs(seed, static_cast<int>(seed % 3));
    const Tables expected = brute_force(text);
    CHECK((read_tables(table, text, 1, "4KiB") == expected));
    CHECK((read_tables(table, text, 4, "1MiB") == expected));
  }
  CHECK(table.ledger.used() == 0);
}

TEST_CASE("graphs: real data") {
  TextTable table;
  if (const auto text = real_data("mutag/MUTAG.txt")) {
    const Tables tables = read_tables(table, *text, 2, "4KiB");
    CHECK((tables == brute_force(*text)));
    CHECK(tables.graphs.size() == 188);
    CHECK(tables.nodes.size() == 3'371);
    CHECK(tables.edges.size() == 7'439);
  }
  if (const auto text = real_data("imdbbinary/IMDBBINARY.txt")) {
    const Tables tables = read_tables(table, *text, 2, "64KiB");
    CHECK((tables == brute_force(*text)));
    CHECK(tables.graphs.size() == 1'000);
  }
}

TEST_CASE("graphs: imported, tags as features") {
  ImportFolder folder;
  folder.write("g.txt", "2\n2 1\n5 1 1\n6 1 0\n3 0\n7 2 1 2\n8 1 0\n9 1 0\n");
  const ImportReport report = folder.run(
      "[[nodes]]\nfeatures.file = 'g.txt#nodes'\nfeatures.format = 'graphs'\n"
      "features.columns = ['tag']\n[[edges]]\nfile = 'g.txt'\nformat = 'graphs'\n");
  CHECK(report.nodes == 5);
  const Dataset dataset = Dataset::open(folder.out());
  CHECK((in_edges(dataset, dataset.schema().relations.at(0).key()) ==
         in_edges(5, {{0, 1}, {1, 0}, {2, 3}, {2, 4}, {3, 2}, {4, 2}})));
  CHECK(stored_f32_rows(folder.out(), "node", 5, 1) == std::vector<float>{5, 6, 7, 8, 9});
}

TEST_CASE("bad input: texts of graphs") {
  check_all({
      graphs("empty", "", fmt::format(":1: the file is empty|{}", kHint)),
      graphs("no number", "x\n", fmt::format(":1: 'x' is no number of graphs|{}", kHint)),
      graphs("a first line of two",
             "1 2\n",
             fmt::format(":1: the first line holds more than the number of graphs|{}", kHint)),
      graphs("too few graphs",
             "2\n1 1\n0 0\n",
             fmt::format(":3: the file ends after 1 of 2 graphs|{}", kShort)),
      graphs(
          "too few nodes",
          "1\n\n2 1\n0 0\n",
          fmt::format(":4: the file ends after 1 of 2 nodes of graph 0, which begins in line 3|{}",
                      kShort)),
      graphs("text behind",
             "1\n1 1\n0 0\n\n1 1\n",
             ":5: text behind the last of 1 graphs|correct the number of graphs in the first line, "
             "or remove the text"),
      graphs("no label", "1\n1\n0 0\n", fmt::format(":2: graph 0 has no label|{}", kHint)),
      graphs("more than a label",
             "1\n1 1 1\n0 0\n",
             fmt::format(":2: graph 0: more than 2 fields where it should begin|{}", kHint)),
      graphs("nodes less than none",
             "1\n-1 1\n",
             fmt::format(":2: '-1' is no number of nodes|{}", kHint)),
      graphs("no degree",
             "1\n1 1\n0\n",
             fmt::format(":3: graph 0, node 0: there is no degree|{}", kHint)),
      graphs("a degree of text", "1\n1 1\n0 x\n", fmt::format(":3: 'x' is no degree|{}", kHint)),
      graphs("the least degree there is",
             "1\n1 1\n0 -9223372036854775808 1\n",
             fmt::format(":3: '-9223372036854775808' is no degree|{}", kHint)),
      graphs("fewer neighbours than the degree",
             "1\n2 1\n0 1 1\n0 2 0\n",
             fmt::format(":4: graph 0, node 1: 1 neighbours, but its degree is 2|{}", kHint)),
      graphs("more neighbours than the degree",
             "1\n2 1\n0 1 1\n0 1 0 0\n",
             ":4: graph 0, node 1: 1 fields behind its 1 neighbours, but the first node has 0|the "
             "degree is wrong, or the attributes are not as many for each node"),
      graphs("a neighbour beyond",
             "2\n1 1\n0 1 0\n2 1\n0 1 1\n0 1 2\n",
             ":6: graph 1, node 1: the neighbour '2' is none of the 2 nodes|neighbours are counted "
             "from 0 within the graph, which begins in line 4"),
      graphs(
          "a negative neighbour",
          "1\n2 1\n0 1 -1\n",
          ":3: graph 0, node 0: the neighbour '-1' is none of the 2 nodes|neighbours are counted "
          "from 0 within the graph, which begins in line 2"),
      {"a label that is no number",
       {{"g.txt", "1\n1 x\n0 0\n"}},
       "[[nodes]]\nids = 'integer'\nid_list.file = 'g.txt#graphs'\nid_list.format = 'graphs'\n"
       "[[edges]]\nfile = 'g.txt'\nformat = 'graphs'\n",
       "data|ROOT/raw/g.txt:2: column 'label': 'x' is not an integer|for ids that are text say ids "
       "= \"string\""},
  });
}
