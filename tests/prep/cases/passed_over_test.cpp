// Files that are not read are named, and so is the one that keeps a folder from being read.
#include "case_folder.h"
#include "prep/npz_file.h"

using namespace sluice;
using namespace sluice::test;

namespace {

/// A SciPy matrix of ones.
std::string sparse(std::int64_t nodes,
                   const std::vector<std::int32_t>& rows,
                   const std::vector<std::int32_t>& columns) {
  const auto shape = fmt::format("({},)", rows.size());
  return npz(
      {{"row.npy", npy("<i4", shape, bytes_of_values(rows))},
       {"col.npy", npy("<i4", shape, bytes_of_values(columns))},
       {"format.npy", npy("|S3", "()", "coo")},
       {"shape.npy", npy_ids({nodes, nodes})},
       {"data.npy", npy("<f8", shape, bytes_of_values(std::vector<double>(rows.size(), 1)))}});
}

bool any_says(const std::vector<std::string>& warnings, const std::string& text) {
  return std::any_of(warnings.begin(), warnings.end(), [&](const std::string& warning) {
    return has(warning, text);
  });
}

}  // namespace

TEST_CASE("passed over: files that may hold data are named, with the way out") {
  CaseFolder folder;
  folder.write("adj_full.npz", sparse(5, {0, 1, 2, 3, 4, 0}, {1, 2, 3, 4, 0, 2}));
  folder.write("adj_train.npz", sparse(5, {0, 1}, {1, 2}));
  folder.write("feats.npy", npy_rows(5, 2, std::vector<float>(10, 1)));
  folder.write("class_map.json", "{\"0\": 1}");
  folder.write("role.json", "{\"tr\": [0]}");
  folder.write("model.pkl", "x");
  folder.write("all.zip", "x");
  folder.write("photo.jpg", "x");
  folder.write("blob", "x");
  for (const char* quiet : {"README.md", "README.data", "LICENSE", "prepare.py", "run.log"})
    folder.write(quiet, "x");
  const auto described = folder.describe();
  for (const char* named : {"class_map.json: JSON is not read",
                            "role.json: JSON is not read",
                            "model.pkl: pickles are not read",
                            "all.zip: archives are not read",
                            "photo.jpg: no table format is known by the extension '.jpg'",
                            "blob: it has no extension",
                            "adj_train.npz: it is no split"})
    CHECK_MESSAGE(any_says(described.warnings, named), named);
  CHECK(described.warnings.size() == 7);
  CHECK(described.spec.splits.empty());
  const auto made = folder.by_guess(described);
  CHECK(made.dataset.schema().total_edges() == 6);
  CHECK(made.dataset.schema().nodes[0].features.at(0).dim == 2);
}

TEST_CASE("passed over: beside what other layouts read") {
  CaseFolder folder;
  folder.write("raw/edge.csv", "0,1\n1,2\n");
  folder.write("raw/num-node-list.csv", "3\n");
  folder.write("raw/extra.json", "{}");
  folder.write("mapping/ids.pkl", "x");
  folder.write("mapping/ids.csv", "0,a\n");  // known, and of no use
  const auto described = folder.describe();
  CHECK(any_says(described.warnings, "raw/extra.json: JSON is not read"));
  CHECK(any_says(described.warnings, "mapping/ids.pkl: pickles are not read"));
  CHECK(described.warnings.size() == 2);
}

TEST_CASE("passed over: a refusal names the file and its extension") {
  CaseFolder folder;
  folder.write("out.ratings", "% bip posweighted\n1 1 4 1100000000\n1 2 5 1100000100\n");
  folder.write("meta.ratings", "name: x\n");
  folder.write("README.ratings", "x\n");
  const std::string refused = folder.guess_refusal();
  CHECK(has(refused, "data|ROOT/raw/out.ratings: no edges can be told among these files"));
  CHECK(has(refused, "'.ratings'"));
  CHECK(has(refused, "meta.ratings"));
  CHECK_FALSE(has(refused, "README"));
  CHECK(has(refused, "format = "));
}

TEST_CASE("passed over: a refusal names the line that was at fault") {
  CaseFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n1,2,3\n");
  const std::string refused = folder.guess_refusal();
  CHECK(has(refused, "data|ROOT/raw/e.csv:3: no edges can be told among these files"));
  // Beside a file that is read, it is a warning with the line.
  folder.write("edges.csv", "src,dst\n0,1\n");
  CHECK(any_says(folder.describe().warnings, "e.csv:3: it could not be read"));
}

TEST_CASE("passed over: a layout that was asked for names what is there") {
  CaseFolder folder;
  folder.write("edges.csv", "src,dst\n0,1\n");
  CHECK(has(as_text(expect_error([&] { folder.describe({}, "ogb"); }), folder),
            "this is not of the layout 'ogb', by its files: edges.csv"));
}

TEST_CASE("passed over: arrays that are no edges are told why") {
  const auto refused = [](const std::string& content, const std::string& why) {
    CaseFolder folder;
    folder.write("edge_index.npy", content);
    folder.write("x.npy", npy_rows(2, 2, std::vector<float>(4, 1)));
    CHECK(has(folder.guess_refusal(), "edge_index.npy: " + why));
  };
  refused(npy("<f8", "(3, 2)", bytes_of_values(std::vector<double>(6, 1))), "it holds floats");
  refused(npy("|b1", "(3, 2)", std::string(6, '\1')), "it holds bool");
  refused(npy_pairs("(4, 3)", std::vector<std::int64_t>(12, 1)), "it has 3 numbers a row");
  refused(npy_pairs("(0, 2)", {}), "it has no rows");
}

TEST_CASE("passed over: ids that are written as floats, and tables without rows") {
  CaseFolder folder;
  folder.write("e.csv", "src,dst\n0.0,1.0\n1.0,2.0\n");
  const std::string text = folder.guess_refusal();
  CHECK(has(text, "e.csv could not be read: the ids of column 'src' are written with a point"));
  CHECK(has(text, ".astype(\"int64\")"));
  folder.write("e.csv", "0.0,1.0\n1.0,2.0\n2.0,0.0\n");
  CHECK(has(folder.guess_refusal(), "are written with a point"));
  folder.write("e.csv", "src,dst\n");
  CHECK(has(folder.guess_refusal(), "e.csv could not be read: it names columns and has no rows"));
  // Beside others they are left out, which is told.
  folder.write("edges.csv", "src,dst\n0,1\n1,2\n");
  const auto beside = folder.describe();
  CHECK(beside.spec.edges.size() == 1);
  CHECK(has(fmt::format("{}", fmt::join(beside.warnings, "\n")),
            "e.csv: it could not be read: it names columns and has no rows"));
  // Texts that are no numbers, and empty cells, are no floats.
  folder.write("e.csv", "src,dst\n0,nan\n1,2\n");
  CHECK(folder.describe({"e.csv"}).spec.edges.size() == 1);
}
