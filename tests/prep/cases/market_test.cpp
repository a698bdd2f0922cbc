// Files with a banner, a size or a count of their own in front: MatrixMarket, and lists that begin
// with how many rows follow. What stands in front is never an edge.
#include "prep/import_support.h"
#include "text_cases.h"

#include <sluice/dataset.h>

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string kGeneral =
    "%%MatrixMarket matrix coordinate real general\n% made by hand\n4 4 3\n1 2 0.5\n2 3 1.5\n4 1 "
    "2.0\n";
const Names kGeneralEdges{"1>2:0.5", "2>3:1.5", "4>1:2"};

std::string mtx_toml(const std::string& file,
                     const std::string& keys = "weight_column = 'weight'") {
  return fmt::format(
      "[[nodes]]\nfirst_id = 1\n[[edges]]\nfile = '{}'\nformat = 'mtx'\n{}\n", file, keys);
}

std::string list_toml(const std::string& file, const std::string& format) {
  return fmt::format(
      "[[nodes]]\nids = 'integer'\n[[edges]]\nfile = '{}'\nformat = '{}'\n", file, format);
}

Names plain_edges(const std::string& banner_and_lines) {
  const CaseFolder folder({{"m.mtx", banner_and_lines}});
  return named_edges(folder.dataset_of(mtx_toml("m.mtx", "")));
}

}  // namespace

TEST_CASE("MatrixMarket: a general matrix as it stands, under any extension, compressed too") {
  for (const char* file : {"m.mtx", "m.txt", "m.csv", "m.graph", "m.edges", "m.mm"}) {
    CAPTURE(file);
    const CaseFolder folder({{file, kGeneral}});
    const Dataset dataset = folder.dataset_of(mtx_toml(file));
    CHECK(named_edges(dataset) == kGeneralEdges);
    CHECK(dataset.schema().total_nodes() == 4);
    const Dataset guessed = folder.dataset_of("");
    CHECK(named_edges(guessed) == kGeneralEdges);
    CHECK(guessed.schema().total_nodes() == 4);
  }
  CaseFolder folder;
  folder.gz("m.mtx.gz", kGeneral);
  CHECK(named_edges(folder.dataset_of(mtx_toml("m.mtx.gz"))) == kGeneralEdges);
  CHECK(named_edges(folder.dataset_of("")) == kGeneralEdges);
}

TEST_CASE(
    "MatrixMarket: symmetric is both ways, pattern has no weights, nodes without edges count") {
  CHECK(plain_edges("%%MatrixMarket matrix coordinate pattern symmetric\n5 5 3\n2 1\n3 3\n3 2\n") ==
        Names{"1>2", "2>1", "2>3", "3>2", "3>3"});
  CHECK(plain_edges("%MatrixMarket MATRIX Coordinate Integer Symmetric\r\n%c\r\n\r\n3 3 1\r\n3 1 "
                    "7\r\n") == Names{"1>3", "3>1"});
  const CaseFolder folder(
      {{"m.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n9 9 1\n2 1 4\n"}});
  const Dataset guessed = folder.dataset_of("");
  CHECK(named_edges(guessed) == Names{"1>2:4", "2>1:4"});
  CHECK(guessed.schema().total_nodes() == 9);
  const CaseFolder skew(
      {{"m.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n2 1 4\n"}});
  skew.refusal(mtx_toml("m.mtx"), "m.mtx:3", {"weight", "-4"});
}

TEST_CASE("MatrixMarket: read as another format it is refused by name, its size is no edge") {
  for (const auto& [file, format] :
       std::vector<std::pair<std::string, std::string>>{{"m.txt", "list"},
                                                        {"m.csv", "csv"},
                                                        {"m.graph", "metis"},
                                                        {"m.txt", "triples"},
                                                        {"m.txt", "multiplex"},
                                                        {"m.txt", "graphs"}}) {
    for (const char* mark : {"%%", "%"}) {
      CAPTURE(format);
      const CaseFolder folder({{file, mark + kGeneral.substr(2)}});
      folder.refusal(list_toml(file, format), file + ":1", {"MatrixMarket", "format = \"mtx\""});
    }
  }
  const CaseFolder behind({{"m.txt", "% by us\n" + kGeneral}});
  behind.refusal(list_toml("m.txt", "list"), "m.txt:2", {"MatrixMarket"});
}

TEST_CASE("MatrixMarket: whole matrices, complex ones and lies are refused, by the guess too") {
  const CaseFolder array(
      {{"m.mtx", "%%MatrixMarket matrix array real general\n2 2\n0\n1\n1\n0\n"}});
  array.refusal(mtx_toml("m.mtx"), "m.mtx:1", {"MatrixMarket", "array"});
  array.refusal("", "m.mtx:1", {"MatrixMarket", "array"});
  const CaseFolder array_text(
      {{"m.txt", "%%MatrixMarket matrix array real general\n2 2\n0\n1\n1\n0\n"}});
  array_text.refusal("", "m.txt:1", {"MatrixMarket", "array"});
  const auto refused = [](const std::string& text, const char* place, const Names& words) {
    CAPTURE(text);
    CaseFolder({{"m.mtx", text}}).refusal(mtx_toml("m.mtx", ""), place, words);
  };
  const std::string banner = "%%MatrixMarket matrix coordinate pattern general\n";
  refused(
      "%%MatrixMarket matrix coordinate complex hermitian\n1 1 1\n1 1 0 0\n", ":1", {"complex"});
  refused("1 2\n", ":1", {"MatrixMarket", "list"});
  refused(banner + "2 2\n1 2\n", ":2", {"MatrixMarket", "size"});
  refused(banner + "2 2 2\n1 2\n", "m.mtx", {"1 of the 2 entries"});
  refused(banner + "2 2 1\n1 2\n2 1\n", ":4", {"more than the 1 entries"});
  refused(banner + "2 2 1\n1 3\n", ":3", {"'3'", "column"});
  refused(banner + "2 2 1\n0 1\n", ":3", {"'0'", "row"});
  refused(banner + "2 2 1\n1 2 5\n", ":3", {"3 fields"});
  const CaseFolder features({{"m.mtx", kGeneral}, {"e.csv", "src,dst\n0,1\n1,2\n"}});
  const CaseFolder guessed({{"features.mtx", kGeneral}, {"e.csv", "src,dst\n0,1\n1,2\n"}});
  CHECK(says(guessed.describe().warnings.at(0), "features.mtx: it is a MatrixMarket file"));
  features.refusal("[[nodes]]\nfeatures.file = 'm.mtx'\n[[edges]]\nfile = 'e.csv'\n",
                   "m.mtx",
                   {"edges alone", "features.file"});
}

TEST_CASE("a first line that is the number of triples is refused as a count") {
  const std::string rows = "0 1 0\n1 2 1\n2 0 0\n";
  for (const char* format : {"triples", "list", "multiplex"}) {
    CAPTURE(format);
    const CaseFolder folder({{"train2id.txt", "3\n" + rows}});
    folder.refusal(list_toml("train2id.txt", format), "train2id.txt:1", {"a count", "'3'"});
    folder.refusal("", "train2id.txt:1", {"a count"});
  }
  const CaseFolder tabs({{"t.triples", "2\nParis\tcapital of\tFrance\nRome\tis in\tItaly\n"}});
  tabs.refusal(
      "[[nodes]]\nids = 'string'\n[[edges]]\nfile = 't.triples'\ntype_column = "
      "'relation'\nsource_column = 'head'\ntarget_column = 'tail'\n",
      "t.triples:1",
      {"a count"});
  const CaseFolder csv({{"e.csv", "2\n0,1\n1,2\n"}});
  csv.refusal("[[edges]]\nfile = 'e.csv'\n[csv]\nheader = 'no'\n", "e.csv:1", {"a count"});
  csv.refusal("[[edges]]\nfile = 'e.csv'\n", "e.csv:1", {"a count"});
  csv.refusal("", "e.csv:1", {"a count"});
  const CaseFolder size({{"e.txt", "4 3\n0 1 0.5\n1 2 0.5\n2 3 0.5\n"}});
  size.refusal(list_toml("e.txt", "list"), "e.txt:1", {"a size", "4 3"});
}

TEST_CASE("lists without a banner keep every line, comments are comments") {
  const CaseFolder sizes({{"e.txt", "4 4 3\n1 2 1\n2 3 1\n4 1 1\n"}});
  CHECK(named_edges(sizes.dataset_of(list_toml("e.txt", "list"))) ==
        Names{"1>2", "2>3", "4>1", "4>4"});
  const CaseFolder comments({{"e.txt", "% sym unweighted\n% 4 4 3\n# MatrixMarket\n1 2\n2 3\n"}});
  CHECK(named_edges(comments.dataset_of(list_toml("e.txt", "list"))) == Names{"1>2", "2>3"});
  CHECK(comments.dataset_of("").schema().total_edges() == 2);
  const CaseFolder triples({{"t.txt", "0 1 0\n1 2 1\n"}});
  CHECK(triples
            .dataset_of("[[nodes]]\nids = 'string'\n[[edges]]\nfile = 't.txt'\nformat = 'triples'\n"
                        "source_column = 'head'\ntarget_column = 'tail'\n")
            .schema()
            .total_edges() == 2);
}
