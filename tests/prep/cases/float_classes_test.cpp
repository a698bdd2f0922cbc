// Classes that are written as 1.0, empty, NaN: what pandas makes of integers with gaps.
#include "prep/import/graph_spec.h"
#include "prep/import_support.h"
#include "support/npy_file.h"
#include "text_cases.h"

#include <sluice/dataset.h>
#include <sluice/graph_schema.h>

#include <cmath>
#include <cstdint>

using namespace sluice;
using namespace sluice::test;

namespace {

const std::pair<std::string, std::string> kPath{"edges.csv", "src,dst\n0,1\n1,2\n2,3\n"};
const std::string kPathEdges = "[[edges]]\nfile = 'edges.csv'\n";
const std::vector<std::int32_t> kExpected{1, -1, 0, 1};

std::string labels_toml(const std::string& labels) {
  return "[[nodes]]\ncount = 4\nlabels = { " + labels + " }\n" + kPathEdges;
}

LabelKind kind_of(const Dataset& dataset) {
  return dataset.schema().nodes[0].labels->kind;
}

}  // namespace

TEST_CASE("classes of text may be whole floats, empty and NaN: by id, by place, in lists") {
  for (const char* missing : {"", "nan", "NaN", "NAN", "\"\"", " "}) {
    CAPTURE(missing);
    const CaseFolder folder(
        {kPath, {"y.csv", fmt::format("node_id,label\n0,1.0\n1,{}\n2,0.0\n3,1\n", missing)}});
    for (const char* kind : {", kind = 'class'", ""}) {
      CAPTURE(kind);
      CHECK(label_table(folder.dataset_of(labels_toml(
                std::string("file = 'y.csv', id_column = 'node_id'") + kind))) == kExpected);
    }
    CHECK(label_table(folder.dataset_of(
              labels_toml("file = 'y.csv', columns = ['label'], kind = 'class'"))) == kExpected);
  }
  const CaseFolder list({kPath, {"y.txt", "# classes\n1.0\nNaN\n0.0\n1e0\n"}});
  CHECK(label_table(list.dataset_of(labels_toml("file = 'y.txt', kind = 'class'"))) == kExpected);
  const CaseFolder stored(
      {kPath, {"y.npy", npy("<f8", "(4,)", bytes_of_values<double>({1, NAN, 0, 1}))}});
  CHECK(label_table(stored.dataset_of(labels_toml("file = 'y.npy', kind = 'class'"))) == kExpected);
}

TEST_CASE("classes of edges and of graphs may be whole floats too") {
  const CaseFolder folder({{"edges.csv", "src,dst,y\n0,1,2.0\n1,2,\n2,3,0.0\n"},
                           {"within.csv", "src,dst\n0,1\n2,3\n"},
                           {"g.csv", "graph\n0\n0\n1\n1\n"},
                           {"gy.csv", "y\n1.0\n0.0\n"}});
  const Dataset edges =
      folder.dataset_of(kPathEdges + "labels = { columns = ['y'], kind = 'class' }\n");
  CHECK(as_vector<std::int32_t>(edges.edge_labels("node__edge__node")) ==
        std::vector<std::int32_t>{2, -1, 0});
  const Dataset graphs = folder.dataset_of(
      "[[edges]]\nfile = 'within.csv'\n[graphs]\nmembership = { file = 'g.csv' }\nlabels = { file "
      "= 'gy.csv', kind = 'class' }\n");
  CHECK(graphs.schema().graphs->labels->kind == LabelKind::kClass);
  CHECK(graphs.schema().graphs->labels->width == 2);
}

TEST_CASE("labels that are no classes are refused, with file, line and column") {
  const auto refused = [](const std::string& cell, const Names& words) {
    CAPTURE(cell);
    const CaseFolder folder({kPath, {"y.csv", "label\n1.0\n0\n" + cell + "\n1\n"}});
    folder.refusal(labels_toml("file = 'y.csv', kind = 'class'"), "y.csv:4", words);
  };
  refused("0.5", {"column 'label'", "0.5 is no class"});
  refused("inf", {"column 'label'", "inf is no class"});
  refused("-2.0", {"column 'label'", "negative"});
  refused("3000000000", {"column 'label'", "number of classes"});
  refused("red", {"column 'label'", "'red' is not a number"});
}

TEST_CASE("the guess takes whole floats for classes, or says why they are amounts") {
  const auto described = [](const CaseFiles& files) {
    return CaseFolder(CaseFolder::Of{files}).describe();
  };
  const CaseFolder text({kPath, {"labels.csv", "label\n1.0\nNaN\n0.0\n1.0\n"}});
  CHECK(label_table(text.dataset_of("")) == kExpected);
  const std::string classes = npy("<f4", "(4,)", bytes_of_values<float>({1, NAN, 0, 1}));
  const CaseFolder stored({kPath, {"labels.npy", classes}});
  CHECK(label_table(stored.dataset_of("")) == kExpected);
  CHECK(says(stored.describe().toml, "floats"));

  const auto amounts = described({kPath, {"labels.csv", "price\n100.0\n250.0\n70.0\n8.0\n"}});
  CHECK(amounts.spec.nodes[0].labels.kind == LabelKindChoice::kRegression);
  CHECK(says(amounts.toml, "amounts"));
  const auto fractions = described({kPath, {"labels.csv", "score\n0.5\n1.0\n0.0\n2.0\n"}});
  CHECK(fractions.spec.nodes[0].labels.kind == LabelKindChoice::kRegression);
  CHECK(says(fractions.toml, "fractions"));
}

TEST_CASE("known layouts take whole floats for classes") {
  CaseFolder ogb;
  ogb.gz("d/raw/edge.csv.gz", "0,1\n1,2\n2,3\n");
  ogb.gz("d/raw/num-node-list.csv.gz", "4\n");
  ogb.gz("d/raw/node-label.csv.gz", "1.0\nnan\n0.0\n1.0\n");
  CHECK(label_table(ogb.dataset_of("")) == kExpected);
  const CaseFolder tu({{"D/D_A.txt", "1, 2\n2, 1\n3, 4\n"},
                       {"D/D_graph_indicator.txt", "1\n1\n2\n2\n"},
                       {"D/D_graph_labels.txt", "1.0\n0.0\n"}});
  const Dataset graphs = tu.dataset_of("");
  CHECK(graphs.schema().graphs->labels->kind == LabelKind::kClass);
  CHECK(kind_of(ogb.dataset_of("")) == LabelKind::kClass);
}
