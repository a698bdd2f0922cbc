// Ids of text that look like something else: a header, a first row that was taken for one, a word
// for a missing id, or a field with its comma.
#include "roles_folder.h"

#include <string>

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string kOddNodes = "[[nodes]]\nids = 'string'\n";
const std::string kOddCsv = kOddNodes + "[[edges]]\nfile = 'e.csv'\n";
const std::string kOddText = kOddNodes + "[[edges]]\nfile = 'e.txt'\n";
constexpr const char* kEaten = "taken for names of columns";
constexpr const char* kLikeHeader = "as headers are";

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("odd ids: a first row that is taken for the header is told by its ids") {
  RolesFolder folder;
  folder.write("e.csv", "ann,bob\nbob,cid\ncid,ann\n");
  CHECK(says(folder.listen(kOddCsv), "but 'ann', 'bob' are each the id of a node, too"));
  folder.write("e.csv", "ann,bob\nbob,cid\ncid,bob\n");
  CHECK(says(folder.listen(kOddCsv), "but 'bob' is the id of a node, too"));
  const std::string no_header = "[csv]\nheader = 'no'\n";
  CHECK_FALSE(mentions(folder.listen(kOddCsv + no_header), kEaten));
  // Of a split too, whose ids are those of the edges.
  folder.write("e.csv", "src,dst\nann,bob\nbob,cid\n");
  folder.write("train.csv", "ann\nbob\n");
  CHECK(says(folder.listen(kOddCsv + "[[splits]]\ntrain = 'train.csv'\n"), "but 'ann' is the id"));
  folder.write("train.csv", "id\nann\nbob\n");
  CHECK_FALSE(mentions(folder.listen(kOddCsv + "[[splits]]\ntrain = 'train.csv'\n"), kEaten));
  // Names that mean ends are a header, whatever nodes are called.
  folder.write("e.csv", "src,dst\nsrc,ann\nann,dst\n");
  CHECK_FALSE(mentions(folder.listen(kOddCsv), kEaten));
}

TEST_CASE("odd ids: a header that is taken for an edge is told by its words") {
  RolesFolder folder;
  folder.write("e.txt", "source target\na b\nb c\n");
  CHECK(says(folder.listen(kOddText),
             "e.txt: the first row is 'source' and 'target', as headers are"));
  CHECK(folder.edges("node__edge__node").size() == 3);
  folder.write("e.txt", "subject verb object\na likes b\n");
  CHECK(says(folder.listen(kOddText + "format = 'triples'\ntype_column = 'relation'\n"),
             kLikeHeader));
  folder.write("e.csv", "from,to\na,b\n");
  CHECK(says(folder.listen(kOddCsv + "[csv]\nheader = 'no'\n"), "say [csv] header = \"yes\""));
  CHECK_FALSE(mentions(folder.listen(kOddCsv), kLikeHeader));
  folder.write("e.txt", "a b\nsource target\n");
  CHECK_FALSE(mentions(folder.listen(kOddText), kLikeHeader));
}

TEST_CASE("odd ids: a field that keeps its comma is refused, whatever the ids") {
  RolesFolder folder;
  folder.write("e.txt", "a, b\nb, c\n");
  for (const char* ids : {"string", "integer"}) {
    const std::string toml = fmt::format("[[nodes]]\nids = '{}'\n[[edges]]\nfile = 'e.txt'\n", ids);
    const std::string text = folder.refusal(toml);
    CHECK(says(text, "e.txt"));
    CHECK(says(text, "parted by ','"));
    CHECK(says(text, "format = \"csv\", and [csv] header = \"no\""));
  }
  folder.write("e.txt", "a; b\nb; c\n");
  CHECK(says(folder.refusal(kOddText), "delimiter = \";\""));
  folder.write("e.txt", "a, b\nb, c\n");
  folder.listen(kOddText + "format = 'csv'\n[csv]\nheader = 'no'\n");
  CHECK(folder.edges("node__edge__node").contains({"a", "b"}));
}

TEST_CASE("odd ids: words for a missing id are told") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst\nann,nan\nbob,nan\nNA,ann\n");
  const std::string said = folder.listen(kOddCsv);
  CHECK(says(said, "type 'node': 'nan' is the id of a node"));
  CHECK_FALSE(mentions(said, "'NA'"));
}

TEST_CASE("odd ids: a first row that counts nodes and edges is told") {
  RolesFolder folder;
  const std::string toml = "[[edges]]\nfile = 'e.txt'\n", size = "if it says how many nodes";
  folder.write("e.txt", "4 4\n0 1\n1 2\n2 3\n3 0\n");
  CHECK(says(folder.listen(toml), "e.txt: the first row is '4 4', and 4 rows follow"));
  folder.write("e.txt", "3 5\n0 1\n1 2\n2 0\n0 2\n1 0\n");
  CHECK(mentions(folder.listen(toml), size));
  folder.write("e.txt", "3 3\n1 2\n2 3\n3 1\n");
  CHECK(mentions(folder.listen("[[nodes]]\nfirst_id = 1\n" + toml), size));
  for (const char* plain : {"0 1\n1 2\n", "2 1\n1 2\n3 0\n", "4 3\n0 1\n1 2\n2 3\n3 0\n"}) {
    folder.write("e.txt", plain);
    CHECK_FALSE(mentions(folder.listen(toml), size));
  }
}

TEST_CASE("odd ids: truths are told") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst\nann,True\nbob,False\n");
  CHECK(says(folder.listen(kOddCsv), "'True' and 'False' are each the id of a node"));
  folder.write("e.csv", "src,dst\nann,TRUE\nbob,TRUE\n");
  CHECK(says(folder.listen(kOddCsv), "'TRUE' is the id of a node: if a column of truths"));
  folder.write("e.csv", "src,dst\nann,Truth\nbob,Falsehood\n");
  CHECK_FALSE(mentions(folder.listen(kOddCsv), "truths"));
}

TEST_CASE("odd ids: blanks that are no spaces are told, and shown") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst\nann,bob\u00a0\nbob,\u200bcid\n\u3000dan,ann\n");
  const std::string said = folder.listen(kOddCsv);
  CHECK(says(said, "3 ids have a blank that is no space before or behind them"));
  CHECK(says(said, "'bob<U+00A0>', and 1 of them are other nodes without it"));
  folder.write("e.csv", "src,dst\nann,bj\u00f6rk\nbob,n\u00e9\n\u4e2d,New\u00a0York\n");
  CHECK_FALSE(mentions(folder.listen(kOddCsv), "no space"));
  // Numbers, classes and types of edges.
  folder.write("e.csv", "src,dst,t\n0,1,a\n1,2,a\u2009\n");
  CHECK(says(folder.listen("[[edges]]\nfile = 'e.csv'\ntype_column = 't'\n"),
             "the type 'a<U+2009>' has a blank that is no space"));
  folder.write("y.csv", "y\nred\nred\u00a0\nblue\n");
  CHECK(says(folder.listen("[[nodes]]\nlabels = { file = 'y.csv', kind = 'name' }\n[[edges]]\nfile "
                           "= 'e.csv'\n"),
             "the class 'red<U+00A0>' has a blank"));
  folder.write("e.csv", "src,dst\n0,1\u00a0\n");
  const std::string text =
      as_text(expect_error([&] { folder.listen("[[edges]]\nfile = 'e.csv'\n"); }), folder);
  CHECK(says(text, "'1<U+00A0>' is not a number"));
  CHECK(says(text, "a blank that is no space stands beside it"));
}
