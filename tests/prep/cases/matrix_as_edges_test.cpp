// A matrix of numbers where edges are asked: refused by name, whatever its form, so that its first
// columns are not taken for ids.
#include "prep/import_support.h"
#include "support/npy_file.h"
#include "text_cases.h"

#include <cstdint>

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string kStringNodes = "[[nodes]]\nids = 'string'\n";

void refused_matrix(const std::string& file,
                    const std::string& text,
                    const std::string& keys = "") {
  CAPTURE(text);
  const CaseFolder folder({{file, text}});
  folder.refusal("", file, {"matrix"});
  for (const std::string& nodes : {kStringNodes, std::string()})
    folder.refusal(
        fmt::format("{}[[edges]]\nfile = '{}'\n{}", nodes, file, keys), file, {"matrix"});
}

std::uint64_t edges_of(const std::string& file, const std::string& text, const std::string& keys) {
  CAPTURE(text);
  return CaseFolder({{file, text}})
      .dataset_of(fmt::format("[[nodes]]\nids = 'string'\n[[edges]]\nfile = '{}'\n{}", file, keys))
      .schema()
      .total_edges();
}

}  // namespace

TEST_CASE("matrices with names, by any delimiter, are no edges") {
  refused_matrix("m.csv", ",A,B,C\nA,0,1,0\nB,0,0,1\nC,1,0,0\n");
  refused_matrix("m.csv", "name,A,B\nA,0,2.5\nB,1,0\n");
  refused_matrix("m.csv", "\xef\xbb\xbf\"\",\"A\",\"B\"\r\n\"A\",0,2.5\r\n\"B\",1,0\r\n");
  refused_matrix("m.csv", ",0,1,2\n0,0,1,0\n1,0,0,1\n2,1,0,0\n");
  refused_matrix("m.csv", "id,7,9\n7,0,1\n9,1,0\n");
  refused_matrix("m.csv", ";A;B;C\nA;0;1,5;0\nB;0;0;1\nC;1;0;0\n");
  refused_matrix("m.csv", ";A;B;C\nA;0;1;0\nB;0;0;1\nC;1;0;0\n");
  refused_matrix("m.tsv", "\tA\tB\tC\nA\t0\t1\t0\nB\t0\t0\t1\nC\t1\t0\t0\n");
  refused_matrix("m.txt", "A B C\nA 0 1 0\nB 0 0 1\nC 1 0 0\n");
  refused_matrix("m.csv", "A,B,C\nA,0,1,0\nB,0,0,1\nC,1,0,0\n");
  refused_matrix("m.csv", "A,B,C\n0,1,0\n0,0,1\n1,0,0\n");
  refused_matrix("m.csv", "A,0,1,0\nB,0,0,1\nC,1,0,0\n");
}

TEST_CASE("bare matrices of 0 and 1, and of weights, are no edges") {
  refused_matrix("m.csv", "0,1,0\n0,0,1\n1,0,0\n");
  refused_matrix("m.csv", "0,1,0\n0,0,1\n1,0,0\n", "[csv]\nheader = 'no'\n");
  refused_matrix("m.txt", "# by us\n0 1 0\n0 0 1\n1 0 0\n");
  refused_matrix("m.txt", "0\t1.5\t0\n0\t0\t2\n1\t0\t0\n");
  refused_matrix("m.csv", "0 0.5 0\n0 0 1\n2 0 0\n");
  refused_matrix("m.txt", "1,0.2,0.7\n0.2,1,0.1\n0.7,0.1,1\n", "[list]\ndelimiter = ','\n");
  std::string large;
  for (int i = 0; i < 300; ++i) {
    for (int j = 0; j < 300; ++j) large += fmt::format("{}{}", j == 0 ? "" : ",", (i * 7 + j) % 5);
    large += "\n";
  }
  refused_matrix("m.csv", large, "[csv]\nheader = 'no'\n");
  CaseFolder folder;
  folder.gz("m.csv.gz", large);
  folder.refusal("[[edges]]\nfile = 'm.csv.gz'\n", "m.csv.gz", {"matrix"});
}

TEST_CASE("edges of three columns are edges, and so is what the user names so") {
  const std::string three = "0,1,0.5\n1,2,1.5\n2,0,1\n", no_header = "[csv]\nheader = 'no'\n";
  CHECK(edges_of("e.csv", three, no_header) == 3);
  CHECK(CaseFolder({{"e.csv", three}}).dataset_of("").schema().total_edges() == 3);
  CHECK(edges_of("e.csv", "src,dst,label\n0,1,1\n1,0,1\n0,1,0\n", "") == 3);
  CHECK(edges_of("e.csv", "a,b,w\n" + three, "") == 3);
  CHECK(edges_of("e.csv", "0,1,0\n0,0,1\n1,0,0\n", "source_column = 'c0'\n" + no_header) == 3);
  CHECK(edges_of("e.csv", "0,1\n1,0\n", no_header) == 2);
  CHECK(edges_of("e.csv", "ann,bob,1\nbob,cid,0\ncid,ann,1\n", no_header) == 3);
  CHECK(edges_of("e.txt", "0 1 10 3\n1 2 11 4\n2 3 12 5\n3 0 13 6\n", "") == 4);
  const CaseFolder array({{"e.npy", npy("<i8", "(3, 3)", std::string(72, '\0'))}});
  array.refusal("[[edges]]\nfile = 'e.npy'\n", "e.npy", {"[3, 3]"});
}
