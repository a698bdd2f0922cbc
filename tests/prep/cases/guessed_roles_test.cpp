// What the guess makes of columns beside edges.
#include "case_folder.h"

using namespace sluice;
using namespace sluice::test;

namespace {

struct Columns {
  std::string what, text;
  std::string time, weight, type;
  double scale = 0;
  TickUnit unit = TickUnit::kStored;
};

}  // namespace

TEST_CASE("roles: times, weights and types by what columns hold") {
  for (const Columns& row : std::vector<Columns>{
           {"large numbers with fractions are times",
            "11,12,5,1300000000.25\n11,13,-2,1300000001.5\n12,11,1,1300000002.75\n",
            "c3",
            "",
            "",
            1000},
           {"integer seconds", "0,1,1300000000\n1,2,1300000005\n", "c2", "", ""},
           {"thousandths", "0,1,1300000000000\n1,2,1300000000005\n", "c2", "", ""},
           {"small fractions are weights", "0,1,0.5\n1,2,1.25\n", "", "c2", ""},
           {"signed fractions are none", "0,1,-0.5\n1,2,1.25\n", "", "", ""},
           {"signed weights are none, whatever their name",
            "src,dst,weight\n0,1,-1\n1,2,1\n",
            "",
            "",
            ""},
           {"numbers are no types, whatever their name",
            "src,dst,type\n0,1,1\n1,2,2\n",
            "",
            "",
            ""},
           {"numbers called r", "u,v,r\n0,1,5\n1,2,3\n", "", "", ""},
           {"texts are types", "src,dst,rel\n0,1,a\n1,2,b\n", "", "", "rel"},
           {"a column by another name holds seconds",
            "from,to,since\n0,1,1500000000\n1,2,1500003600\n",
            "since",
            "",
            ""},
           {"times with gaps are none", "src,dst,time\n0,1,5\n1,2,\n", "", "", ""},
           {"dates of a column called so",
            "src,dst,time\n0,1,2020-01-01\n1,2,2020-01-02\n",
            "time",
            "",
            "",
            0,
            TickUnit::kDays},
           {"times of day, the finest of which counts",
            "src,dst,when\n0,1,2020-01-01T10:00:00Z\n1,2,2020-01-02 08:30:00.25\n",
            "when",
            "",
            "",
            0,
            TickUnit::kMilliseconds},
           {"dates with gaps are none", "src,dst,date\n0,1,2020-01-01\n1,2,\n", "", "", ""},
           {"dates that are not read",
            "src,dst,date\n0,1,2020/01/01\n1,2,2020/01/02\n",
            "",
            "",
            ""},
           {"dates of a column called otherwise",
            "src,dst,bought\n0,1,2020-01-01\n1,2,2020-01-02\n",
            "",
            "",
            ""},
       }) {
    CAPTURE(row.what);
    CaseFolder folder;
    folder.write("e.csv", row.text);
    const auto described = folder.describe();
    const EdgeSpec& edge = described.spec.edges.at(0);
    CHECK(edge.time_column == row.time);
    CHECK(edge.weight_column == row.weight);
    CHECK(edge.type_column == row.type);
    CHECK(edge.time_scale == row.scale);
    CHECK(edge.time_unit == row.unit);
    const auto made = folder.by_guess(described);
    CHECK(made.dataset.schema().total_edges() > 0);
    // What is left out is named.
    const auto toml = on_one_line(described.toml);
    const std::string header = row.text.substr(0, row.text.find('\n'));
    if (row.time.empty() && row.weight.empty() && row.type.empty()) {
      const std::string last = header.find("src") == 0 || header.find("u,v") == 0
                                   ? header.substr(header.rfind(',') + 1)
                                   : "c2";
      CHECK(has(toml, "The column " + last + " is left out"));
    }
  }
}

TEST_CASE("roles: the signed third column beside times is named") {
  CaseFolder folder;
  folder.write("soc.csv", "11,12,5,1300000000.25\n11,13,-2,1300000001.5\n");
  CHECK(has(on_one_line(folder.describe().toml), "The column c2 is left out"));
}

TEST_CASE("roles: Gephi's Directed and Undirected are no relations") {
  const std::string header = "Source,Target,Type,Id,Label,timeset,Weight\n";
  CaseFolder folder;
  folder.write("edges.csv",
               header +
                   "1,2,Undirected,0,,,1.0\n2,3,Undirected,1,,,2.0\n3,1,Undirected,2,,,1.5\n"
                   "4,1,Directed,3,,,1.0\n");
  const auto both = folder.describe();
  CHECK(both.warnings.empty());
  const auto toml = on_one_line(both.toml);
  CHECK(has(toml, "all stand one way here"));
  for (const char* name : {"Id", "Label", "timeset"})
    CHECK(has(toml, fmt::format("The column {} is left out", name)));
  const auto mixed = folder.by_guess(both);
  CHECK(mixed.dataset.schema().relations.size() == 1);
  CHECK((edges_of(mixed.dataset, "node__edge__node") ==
         NamedEdges{{"1", "2"}, {"2", "3"}, {"3", "1"}, {"4", "1"}}));
  CHECK(mixed.dataset.schema().relations[0].has_weights);

  folder.write("edges.csv", header + "1,2,Undirected,0,,,1.0\n2,3,Undirected,1,,,2.0\n");
  const auto undirected = folder.by_guess();
  CHECK((edges_of(undirected.dataset, "node__edge__node") ==
         NamedEdges{{"1", "2"}, {"2", "1"}, {"2", "3"}, {"3", "2"}}));
  folder.write("edges.csv", header + "1,2,directed,0,,,1.0\n2,3,directed,1,,,2.0\n");
  const auto directed = folder.by_guess();
  CHECK((edges_of(directed.dataset, "node__edge__node") == NamedEdges{{"1", "2"}, {"2", "3"}}));
}

TEST_CASE("roles: labels of edges are imported as what they are") {
  CaseFolder folder;
  folder.write("e.csv", "src,dst,label\n0,1,good\n1,2,bad\n2,0,good\n");
  const auto made = folder.by_guess();
  CHECK(made.dataset.schema().relations[0].labels->names ==
        std::vector<std::string>{"bad", "good"});
}

TEST_CASE("roles: words between two columns of the same ids are types") {
  const NamedEdges likes{{"a", "b"}, {"b", "c"}}, knows{{"c", "a"}, {"a", "c"}};
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
           {"triples.tsv", "a\tlikes\tb\nb\tlikes\tc\nc\tknows\ta\na\tknows\tc\n"},
           {"kg.csv", "a,likes,b\nb,likes,c\nc,knows,a\na,knows,c\n"}}) {
    CAPTURE(name);
    CaseFolder folder;
    folder.write(name, text);
    const auto described = folder.describe();
    CHECK(has(on_one_line(described.toml), "words in the middle"));
    const auto made = folder.by_guess(described);
    CHECK(edges_of(made.dataset, "node__likes__node") == likes);
    CHECK(edges_of(made.dataset, "node__knows__node") == knows);
    CHECK(names_of(made.dataset, "node") == std::vector<std::string>{"a", "b", "c"});
  }
  // Numbers on both sides, and two that have no id in common.
  for (const char* text : {"0,likes,1\n1,likes,2\n2,likes,0\n", "ann,likes,tea\nbob,likes,rum\n"}) {
    CaseFolder folder;
    folder.write("kg.csv", text);
    CHECK(folder.describe().spec.edges.at(0).type_column == "c1");
  }
  // The type last, or no type at all.
  for (const char* text :
       {"a,b,likes\nb,c,likes\nc,a,knows\n", "one,city,age\n0,Rome,31\n1,Oslo,44\n2,Rome,27\n"}) {
    CaseFolder folder;
    folder.write("kg.csv", text);
    CHECK(folder.describe().spec.edges.at(0).type_column.empty());
  }
  CaseFolder parts;
  parts.write("train.csv", "a,likes,b\nb,likes,c\nc,knows,a\n");
  parts.write("valid.csv", "a,knows,c\n");
  parts.write("test.csv", "c,likes,a\n");
  const auto made = parts.by_guess();
  CHECK(edges_of(made.dataset, "node__likes__node") == likes);
}

TEST_CASE("roles: ids of nodes behind an index, or before a label, are no edges") {
  for (const char* text :
       {",node_id\n0,4\n1,2\n", "id,label\n4,1\n2,0\n", "index,node\n0,4\n1,2\n"}) {
    CAPTURE(text);
    CaseFolder folder;
    folder.write("e.csv", "src,dst\n0,1\n1,2\n2,3\n3,4\n");
    folder.write("train.csv", text);
    const auto described = folder.describe();
    REQUIRE(described.spec.splits.size() == 1);
    CHECK(described.spec.splits[0].of == SplitOf::kNodes);
    const auto made = folder.by_guess(described);
    CHECK(made.dataset.schema().splits.at(0).train == 2);
    const bool left_out = has(on_one_line(described.toml), "Columns that are left out: label.");
    CHECK(left_out == has(text, "label"));
  }
  CaseFolder edges;
  edges.write("e.csv", "src,dst\n0,1\n1,2\n");
  edges.write("train.csv", "id,src,dst\n0,0,1\n1,1,2\n");
  CHECK(edges.describe().spec.splits.at(0).of == SplitOf::kEdges);
}

TEST_CASE("roles: ids of two things that are the same numbers are told") {
  CaseFolder folder;
  folder.write("r.csv", "userId,movieId,rating\n1,31,2.5\n1,2,3.0\n2,31,4.0\n3,1,1.5\n");
  CHECK(has(on_one_line(folder.describe().toml),
            "Some ids are in userId and in movieId, and name the same nodes here."));
  folder.write("r.csv", "userId,movieId,rating\n1,31,2.5\n1,42,3.0\n2,31,4.0\n");
  CHECK_FALSE(has(folder.describe().toml, "the same nodes"));
  folder.write("r.csv", "src,dst\n1,2\n2,1\n");
  CHECK_FALSE(has(folder.describe().toml, "the same nodes"));
}
