// Blanks around fields of CSV and TSV are none of a name; those in it, and in quotes, are.
#include "prep/import_support.h"
#include "text_cases.h"

#include <sluice/dataset.h>

#include <cstdint>

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string kNamedNodes = "[[nodes]]\nids = 'string'\n";
const Names kThree{"ann>bob:0.5", "bob>cid:1.5", "cid>ann:2"};

}  // namespace

TEST_CASE("blanks around ids are none of them, by both parsers, in CSV and TSV") {
  const std::string keys =
      "source_column = 'src'\ntarget_column = 'dst'\nweight_column = 'weight'\n";
  for (const char* text :
       {"src, dst, weight\nann, bob, 0.5\nbob, cid, 1.5\ncid, ann, 2\n",
        "src ,dst , weight\r\nann ,bob\t,0.5 \r\n\tbob,cid,1.5\r\n cid ,ann,2\r\n",
        "src, \"dst\", weight\nann, \"bob\", 0.5\n\"bob\" , cid, \"1.5\"\ncid, ann, 2\n",
        " \"src\" ,dst,weight\n \"ann\" ,bob,0.5\nbob,cid,1.5\ncid,ann,2"}) {
    CAPTURE(text);
    const CaseFolder folder({{"e.csv", text}});
    CHECK(named_edges(folder.dataset_of(kNamedNodes + kEdges + keys)) == kThree);
    CHECK(named_edges(folder.dataset_of("")) == kThree);
  }
  const CaseFolder tsv(
      {{"e.tsv", "src\tdst\tweight\nann\t bob\t0.5\nbob \tcid\t1.5\ncid\tann \t2\n"}});
  CHECK(named_edges(tsv.dataset_of(kNamedNodes + "[[edges]]\nfile = 'e.tsv'\n" + keys)) == kThree);
  const CaseFolder list({{"e.txt", "ann , bob\nbob, cid\n"}});
  CHECK(named_edges(list.dataset_of(kNamedNodes + "[[edges]]\nfile = 'e.txt'\n[list]\ndelimiter = "
                                                  "','\n")) == Names{"ann>bob", "bob>cid"});
}

TEST_CASE("blanks around names in lists of ids, splits, labels and types are none of them") {
  const CaseFolder folder(
      {{"e.csv", "src,dst,type\nann, bob, knows\nbob,ann,knows \nann,bob,\"likes\"\n"},
       {"n.csv", "id\nann \n bob\n"},
       {"y.csv", "id, y\nann, red\nbob,\"blue\" \n"},
       {"s.csv", "id\n bob\n"}});
  const Dataset dataset = folder.dataset_of(
      kNamedNodes +
      "id_list.file = 'n.csv'\nlabels = { file = 'y.csv', id_column = 'id', kind = 'name' }\n" +
      kEdges + "type_column = 'type'\ntypes = 'labels'\n[[splits]]\ntrain = 's.csv'\n");
  CHECK(dataset.schema().total_nodes() == 2);
  CHECK(dataset.schema().nodes[0].labels->names == Names{"blue", "red"});
  CHECK(dataset.schema().relations[0].labels->names == Names{"knows", "likes"});
  CHECK(as_vector<std::uint64_t>(dataset.split("default").train) == std::vector<std::uint64_t>{1});
  const CaseFolder names({{"e.csv", "src,dst\n0,1\n"}, {"y.csv", "y\n red\nred \n"}});
  CHECK(names.dataset_of("[[nodes]]\nlabels = { file = 'y.csv', kind = 'name' }\n" + kEdges)
            .schema()
            .nodes[0]
            .labels->names == Names{"red"});
}

TEST_CASE("blanks in a name, quotes, doubled quotes, semicolons and quoted numbers stay") {
  const CaseFolder folder(
      {{"e.csv", "src,dst\nann lee,\" bob \"\n\" bob \", \"say \"\"hi, x\"\"\"\n"}});
  CHECK(named_edges(folder.dataset_of(kNamedNodes + kEdges)) ==
        Names{" bob >say \"hi, x\"", "ann lee> bob "});
  const CaseFolder semicolons({{"e.csv", "src;dst\na b; c,d\n"}});
  CHECK(named_edges(semicolons.dataset_of(kNamedNodes + kEdges + "[csv]\ndelimiter = ';'\n")) ==
        Names{"a b>c,d"});
  const CaseFolder numbers({{"e.csv", "src,dst\n\"0\", \"1\"\n 1 ,\"0\" \n"}});
  CHECK(numbers.dataset_of(kEdges).schema().total_edges() == 2);
  const CaseFolder spaces({{"e.csv", "src dst\na b\nb a\n"}});
  CHECK(named_edges(spaces.dataset_of(kNamedNodes + kEdges + "[csv]\ndelimiter = ' '\n")) ==
        Names{"a>b", "b>a"});
  const CaseFolder broken({{"e.csv", "src,dst\na,\"b\nc\"\n"}});
  CHECK(named_edges(broken.dataset_of(kNamedNodes + kEdges)) == Names{"a>b\nc"});
  const CaseFolder few({{"e.csv", "src,dst\na,b\n \nc,d\n"}});
  few.refusal(kNamedNodes + kEdges, "e.csv:3", {"1 fields"});
  const CaseFolder blank_id({{"e.csv", "src,dst\na, \n"}});
  blank_id.refusal(kNamedNodes + kEdges, "e.csv:2", {"the id is empty"});
}
