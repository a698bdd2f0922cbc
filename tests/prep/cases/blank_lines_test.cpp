// A blank line in a file of one column, whose rows stand for something by their place: it may be a
// missing value, and passing over it would move all rows behind it.
#include "prep/import_support.h"
#include "text_cases.h"

#include <sluice/dataset.h>

#include <cstdint>

using namespace sluice;
using namespace sluice::test;

namespace {

const std::pair<std::string, std::string> kTwo{"e.csv", "src,dst\n0,1\n1,0\n"};

void refused_blank(const CaseFiles& more, const std::string& toml, const std::string& place) {
  CaseFiles files = more;
  files.push_back(kTwo);
  CAPTURE(toml);
  CaseFolder(CaseFolder::Of{files}).refusal(toml, place, {"blank"});
}

std::string of_nodes(const std::string& keys) {
  return "[[nodes]]\n" + keys + "\n" + kEdges;
}

}  // namespace

TEST_CASE("a blank line among the rows of one column is an error with its line") {
  const std::string labels = of_nodes("labels = { file = 'y.csv', kind = 'class' }");
  refused_blank({{"y.csv", "label\n1\n\n0\n"}}, labels, "y.csv:3");
  refused_blank({{"y.csv", "label\r\n1\r\n\r\n\r\n0\r\n"}}, labels, "y.csv:3");
  refused_blank({{"y.csv", "label\n\n1\n0\n"}}, labels, "y.csv:2");
  refused_blank({{"y.csv", "label\n\"1\"\n\n\"0\"\n"}}, labels, "y.csv:3");
  const std::string bare = labels + "[csv]\nheader = 'no'\n";
  const CaseFiles pairs{{"y.csv", "1\n\n0"}, {"e.csv", "0,1\n1,0\n"}};
  CaseFolder(CaseFolder::Of{pairs}).refusal(bare, "y.csv:2", {"blank"});
  CaseFolder({{"y.csv", "\n1\n0\n"}, {"e.csv", "0,1\n1,0\n"}}).refusal(bare, "y.csv:1", {"blank"});
  const std::string list = of_nodes("labels = { file = 'y.txt', kind = 'class' }");
  refused_blank({{"y.txt", "1\n \t\n0\n"}}, list, "y.txt:2");
  refused_blank({{"y.txt", "# y\n1\n# c\n\n# c\n0\n"}}, list, "y.txt:4");
  refused_blank({{"y.txt", "\n1\n0\n"}}, list, "y.txt:1");
  const std::string names = of_nodes("labels = { file = 'y.csv', kind = 'name' }");
  refused_blank({{"y.csv", "label\nred\n\nblue\n"}}, names, "y.csv:3");
}

TEST_CASE("so it is for features, times, lists of ids, graphs, and what stands beside edges") {
  refused_blank({{"x.csv", "x\n0.5\n\n1\n"}}, of_nodes("features.file = 'x.csv'"), "x.csv:3");
  refused_blank({{"x.csv", "x\n0.5\n\n1\n"}},
                of_nodes("features = { file = 'x.csv', not_finite = 'keep' }"),
                "x.csv:3");
  refused_blank({{"x.txt", "0.5\n\n1\n"}}, of_nodes("features.file = 'x.txt'"), "x.txt:2");
  refused_blank({{"t.csv", "t\n5\n\n7\n"}}, of_nodes("times.file = 't.csv'"), "t.csv:3");
  refused_blank(
      {{"n.csv", "id\n0\n\n1\n"}}, of_nodes("ids = 'string'\nid_list.file = 'n.csv'"), "n.csv:3");
  refused_blank(
      {{"g.csv", "g\n0\n\n1\n"}}, kEdges + "[graphs]\nmembership.file = 'g.csv'\n", "g.csv:3");
  refused_blank({{"g.csv", "g\n1\n\n1\n"}}, kEdges + "[graphs]\nsizes.file = 'g.csv'\n", "g.csv:3");
  refused_blank({{"y.csv", "y\n0\n\n1\n"}}, kEdges + "labels.file = 'y.csv'\n", "y.csv:3");
  refused_blank({{"x.csv", "x\n0\n\n1\n"}}, kEdges + "features.file = 'x.csv'\n", "x.csv:3");
}

TEST_CASE("a blank line far in is found whatever the blocks and the threads") {
  std::string text = "label\n";
  for (int i = 0; i < 20'000; ++i) text += i == 15'000 ? "\n\n0\n" : "0\n";
  for (const int threads : {1, 4}) {
    for (const char* block : {"4KiB", "2MiB"}) {
      CaseFolder folder({{"y.csv", text}, kTwo});
      folder.threads = threads;
      folder.refusal(of_nodes("labels = { file = 'y.csv', kind = 'class' }") +
                         fmt::format("[csv]\nblock = '{}'\n", block),
                     "y.csv:15002",
                     {"blank"});
    }
  }
}

TEST_CASE("blank lines at the end, and between rows of more columns, are passed over") {
  const std::string labels = of_nodes("labels = { file = 'y.csv', kind = 'class' }");
  for (const char* end : {"\n", "\n\n\n", "\r\n\r\n", ""}) {
    const CaseFolder folder({kTwo, {"y.csv", std::string("label\n1\n0") + end}});
    CHECK(label_table(folder.dataset_of(labels)) == std::vector<std::int32_t>{1, 0});
  }
  std::string long_end = "label\n1\n0\n";
  long_end += std::string(20'000, '\n');
  const CaseFolder folder({kTwo, {"y.csv", long_end}});
  CHECK(label_table(folder.dataset_of(labels + "[csv]\nblock = '4KiB'\n")) ==
        std::vector<std::int32_t>{1, 0});
  const CaseFolder more({{"e.csv", "src,dst\n0,1\n\n1,0\n\n"},
                         {"y.csv", "id,y\n\n0,1\n\n1,0\n"},
                         {"x.csv", "a,b\n1,2\n\n3,4\n"},
                         {"s.csv", "id\n0\n\n1\n"}});
  const Dataset dataset = more.dataset_of(
      of_nodes("labels = { file = 'y.csv', id_column = 'id' }\nfeatures.file = 'x.csv'") +
      "[[splits]]\ntrain = 's.csv'\n");
  CHECK(label_table(dataset) == std::vector<std::int32_t>{1, 0});
  CHECK(dataset.schema().total_edges() == 2);
  CHECK(dataset.split("default").train.as<std::uint64_t>().size() == 2);
}

TEST_CASE("a quoted empty field, and a field of blanks, is a missing label") {
  for (const char* empty : {"\"\"", " ", "\t", " \"\" "}) {
    CAPTURE(empty);
    const CaseFolder folder(
        {{"e.csv", "src,dst\n0,1\n1,2\n"}, {"y.csv", fmt::format("label\n1\n{}\n0\n", empty)}});
    CHECK(label_table(folder.dataset_of(of_nodes("labels = { file = 'y.csv', kind = 'class' }"))) ==
          std::vector<std::int32_t>{1, -1, 0});
  }
}
