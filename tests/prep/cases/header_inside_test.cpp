// A header among the rows: files that were put together, or whose lines were shuffled.
#include "prep/import_support.h"
#include "text_cases.h"

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string kStringEdges = "[[nodes]]\nids = 'string'\n" + kEdges;

void refused_header(const std::string& text, const std::string& toml, const std::string& place) {
  CAPTURE(text);
  CaseFolder({{"e.csv", text}}).refusal(toml, place, {"header"});
}

}  // namespace

TEST_CASE("a row that is the header again is an error with its line, whatever the ids") {
  refused_header("src,dst\nann,bob\nbob,cid\nsrc,dst\ncid,ann\n", kStringEdges, "e.csv:4");
  refused_header("src,dst\nann,bob\n\n\"src\",\"dst\"\ncid,ann\n", kStringEdges, "e.csv:4");
  refused_header("\"src\",dst\r\nann,bob\r\nsrc,dst\r\n", kStringEdges, "e.csv:3");
  refused_header("src,dst\nann,bob\n src , dst\n", kStringEdges, "e.csv:3");
  refused_header("\xef\xbb\xbfsrc,dst\nann,bob\n\xef\xbb\xbfsrc,dst\n", kStringEdges, "e.csv:3");
  refused_header("src,dst\nann,bob\n\xef\xbb\xbf\"src\",\"dst\"\n", kStringEdges, "e.csv:3");
  refused_header("src,dst\n0,1\nsrc,dst\n1,0\n", kEdges, "e.csv:3");
  refused_header("src,dst\n0,1\n\xef\xbb\xbfsrc,dst\n1,0\n", kEdges, "e.csv:3");
  refused_header(
      "src,dst,w\na,b,1\nsrc,dst,w\n", kStringEdges + "weight_column = 'w'\n", "e.csv:3");
  refused_header("src,dst,t\n0,1,x\nsrc,dst,t\n", kEdges + "type_column = 't'\n", "e.csv:3");
  CaseFolder({{"e.tsv", "src\tdst\nann\tbob\nsrc\tdst\n"}})
      .refusal("[[nodes]]\nids = 'string'\n[[edges]]\nfile = 'e.tsv'\n", "e.tsv:3", {"header"});
}

TEST_CASE("so it is in lists of ids, labels, splits, features and by the guess") {
  const auto refused = [](const char* name, const std::string& text, const std::string& toml) {
    CAPTURE(name);
    CaseFolder({{"e.csv", "src,dst\na,b\nb,c\n"}, {name, text}})
        .refusal(toml, std::string(name) + ":3", {"header"});
  };
  const std::string nodes = "[[nodes]]\nids = 'string'\n";
  refused("n.csv", "id\na\nid\nb\nc\n", nodes + "id_list.file = 'n.csv'\n" + kEdges);
  refused("n.csv", "id\na\n\xef\xbb\xbfid\nb\nc\n", nodes + "id_list.file = 'n.csv'\n" + kEdges);
  refused("y.csv",
          "id,y\na,red\nid,y\nb,blue\n",
          nodes + "labels = { file = 'y.csv', id_column = 'id', kind = 'name' }\n" + kEdges);
  refused("y.csv",
          "id,y\na,1\nid,y\nb,0\n",
          nodes + "labels = { file = 'y.csv', id_column = 'id' }\n" + kEdges);
  refused("s.csv", "id\na\nid\nb\n", nodes + kEdges + "[[splits]]\ntrain = 's.csv'\n");
  const std::string numbered = ",0,1\n5,6,7\n,0,1\n8,9,9\n";  // names that read as numbers
  CaseFolder({{"e.csv", "src,dst\n0,1\n1,0\n"}, {"x.csv", numbered}})
      .refusal("[[nodes]]\nfeatures = { file = 'x.csv', columns = ['0', '1'] }\n" + kEdges,
               "x.csv:3",
               {"header"});
  for (const char* text :
       {"src,dst\n0,1\n1,2\nsrc,dst\n2,0\n", "src,dst\nann,bob\nbob,cid\nsrc,dst\ncid,ann\n"})
    CaseFolder({{"edges.csv", text}}).refusal("", "edges.csv:4", {"header"});
}

TEST_CASE("a value that comes again in a file without a header: the hint says so") {
  CaseFolder({{"e.csv", "src,dst\n0,1\n1,2\n"}, {"y.csv", "red\nblue\nred\n"}})
      .refusal("[[nodes]]\nlabels = { file = 'y.csv', kind = 'name' }\n" + kEdges,
               "y.csv:3",
               {"if the first line is a row", "[csv] header = \"no\""});
}

TEST_CASE("a header where the file has none: the hint is on it, and the guess keeps numbers") {
  const std::string no_header = kEdges + "[csv]\nheader = 'no'\n";
  refused_header("0,1\n1,2\n2,3\nsrc,dst\n3,0\n", no_header, "e.csv:4");
  CaseFolder({{"e.csv", "0,1\n1,2\n2,3\nsrc,dst\n3,0\n"}}).refusal("", "e.csv:4", {"header"});
  CaseFolder({{"e.txt", "0 1\n1 2\nfrom to\n2 0\n"}})
      .refusal("[[edges]]\nfile = 'e.txt'\n", "e.txt:3", {"header"});
  CaseFolder({{"e.txt", "0 1\n1 2\nfrom to\n2 0\n"}}).refusal("", "e.txt:3", {"header"});
  const std::string named = "[csv]\nheader = 'no'\ncolumns = ['src', 'dst']\n";
  refused_header("a,b\nb,c\nsrc,dst\n", kStringEdges + named, "e.csv:3");
  CaseFolder({{"e.txt", "a b\nb c\nsrc dst\n"}})
      .refusal(
          "[[nodes]]\nids = 'string'\n[[edges]]\nfile = 'e.txt'\n[list]\ncolumns = ['src', "
          "'dst']\n",
          "e.txt:3",
          {"header"});
}

TEST_CASE("a header far in is found whatever the blocks and the threads") {
  std::string text = "src,dst\n";
  for (int i = 0; i < 10'000; ++i) text += i == 7'000 ? "src,dst\n" : "dst,a\n";
  for (const int threads : {1, 4}) {
    for (const char* block : {"4KiB", "2MiB"}) {
      CaseFolder folder({{"e.csv", text}});
      folder.threads = threads;
      folder.refusal(
          kStringEdges + fmt::format("[csv]\nblock = '{}'\n", block), "e.csv:7002", {"header"});
    }
  }
}

TEST_CASE("parts with a header each, and nodes that are called as a column, stay") {
  const CaseFolder parts({{"p/a.csv", "\xef\xbb\xbfsrc,dst\nann,bob\n"},
                          {"p/b.csv", "\xef\xbb\xbfsrc,dst\nbob,cid\n"}});
  CHECK(named_edges(parts.dataset_of("[[nodes]]\nids = 'string'\n[[edges]]\nfile = 'p/*.csv'\n")) ==
        Names{"ann>bob", "bob>cid"});
  const CaseFolder names({{"e.csv", "src,dst,w\ndst,src,1\nsrc,dst,2\nsrc,w,3\nbob,dst,4\n"}});
  CHECK(named_edges(names.dataset_of(kStringEdges)) ==
        Names{"bob>dst", "dst>src", "src>dst", "src>w"});
  const CaseFolder mixed({{"e.csv", "1,2\nann,bob\nbob,3\ncid,dan\n"}});
  CHECK(named_edges(mixed.dataset_of("")) == Names{"1>2", "ann>bob", "bob>3", "cid>dan"});
}
