// Sparse matrices of SciPy's as features and labels: by their rows, zeros and all.
#include "roles_folder.h"

#include <sluice/random.h>

#include <algorithm>

using namespace sluice;
using namespace sluice::test;

namespace {

/// Entries of a matrix, and the matrix.
struct MadeMatrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<std::int32_t> row, column;
  std::vector<float> data;
  std::vector<float> dense;
};

MadeMatrix made_matrix(std::uint64_t seed, std::int64_t rows, std::int64_t columns, int entries) {
  MadeMatrix made{rows, columns, {}, {}, {}, {}};
  made.dense.assign(static_cast<std::size_t>(rows * columns), 0);
  for (int i = 0; i < entries; ++i) {
    const RandomKey key = RandomKey(seed).with(static_cast<std::uint64_t>(i));
    const auto r = static_cast<std::int32_t>(key.below(static_cast<std::uint64_t>(rows), 0));
    const auto c = static_cast<std::int32_t>(key.below(static_cast<std::uint64_t>(columns), 1));
    const auto value = static_cast<float>(key.below(9, 2)) + 1;
    made.row.push_back(r);
    made.column.push_back(c);
    made.data.push_back(value);
    made.dense[static_cast<std::size_t>(r * columns + c)] += value;
  }
  return made;
}

/// The order of entries by row (or column), stable, and the pointers.
std::vector<std::size_t> sorted_by(const std::vector<std::int32_t>& keys,
                                   std::int64_t count,
                                   std::vector<std::int32_t>& pointers) {
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(
      order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  pointers.assign(static_cast<std::size_t>(count) + 1, 0);
  for (const std::int32_t key : keys) ++pointers[static_cast<std::size_t>(key) + 1];
  std::partial_sum(pointers.begin(), pointers.end(), pointers.begin());
  return order;
}

template <class T>
std::vector<T> in_order(const std::vector<T>& values, const std::vector<std::size_t>& order) {
  std::vector<T> out;
  for (const std::size_t at : order) out.push_back(values[at]);
  return out;
}

Members sparse_members(const MadeMatrix& made,
                       const std::string& format,
                       const std::string& prefix = "",
                       bool say_format = true) {
  const std::string shape = npy_ids({made.rows, made.columns});
  Members members{{prefix + "shape.npy", shape}};
  if (say_format) members.push_back({prefix + "format.npy", npy("|S3", "()", format)});
  if (format == "coo") {
    members.push_back({prefix + "row.npy", npy_of("<i4", made.row)});
    members.push_back({prefix + "col.npy", npy_of("<i4", made.column)});
    members.push_back({prefix + "data.npy", npy_of("<f4", made.data)});
    return members;
  }
  std::vector<std::int32_t> pointers;
  const bool csr = format == "csr";
  const auto order =
      sorted_by(csr ? made.row : made.column, csr ? made.rows : made.columns, pointers);
  members.push_back({prefix + "indptr.npy", npy_of("<i4", pointers)});
  members.push_back(
      {prefix + "indices.npy", npy_of("<i4", in_order(csr ? made.column : made.row, order))});
  members.push_back({prefix + "data.npy", npy_of("<f4", in_order(made.data, order))});
  return members;
}

/// The rows of the case: 1 0 0 0, 0 1 0 0, 0 0 1 0, 0 0 0 1, 0 0 0 7.
MadeMatrix one_hot() {
  MadeMatrix made{5, 4, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 3}, {1, 1, 1, 1, 7}, {}};
  made.dense = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 7};
  return made;
}

const std::string kSparseToml = "[[nodes]]\nfeatures.file = 'x.npz'\n[[edges]]\nfile = 'e.csv'\n";

}  // namespace

TEST_CASE("sparse rows: csr, csc and coo of any shape are features by their rows") {
  const std::uint64_t seed = random_seed();
  CAPTURE(seed);
  const std::vector<MadeMatrix> matrices{one_hot(),
                                         made_matrix(seed, 40, 7, 0),
                                         made_matrix(seed + 1, 1, 5, 3),
                                         made_matrix(seed + 2, 300, 3, 900),
                                         made_matrix(seed + 3, 5000, 37, 20'000)};
  for (const MadeMatrix& made : matrices) {
    for (const std::string format : {"csr", "csc", "coo"}) {
      CAPTURE(made.rows);
      CAPTURE(format);
      RolesFolder folder;
      folder.write("x.npz", npz(sparse_members(made, format), ZIP_CM_DEFLATE));
      folder.write("e.csv", "src,dst\n0,0\n");
      folder.listen(kSparseToml);
      CHECK(folder.features(static_cast<std::size_t>(made.rows),
                            static_cast<std::size_t>(made.columns)) == made.dense);
      folder.check_sound();
    }
  }
}

TEST_CASE("sparse rows: memory that holds a part of the rows alone is enough") {
  const MadeMatrix made = made_matrix(7, 30'000, 300, 60'000);  // 36 MB of f32
  for (const std::string format : {"csr", "csc", "coo"}) {
    CAPTURE(format);
    RolesFolder folder;
    folder.budget = 40 * kMiB;
    folder.write("x.npz", npz(sparse_members(made, format)));
    folder.write("e.csv", "src,dst\n0,0\n");
    folder.listen(kSparseToml);
    CHECK(folder.features(30'000, 300) == made.dense);
  }
}

TEST_CASE("sparse rows: integers and truth values are labels") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst\n0,1\n1,2\n");
  const Members many{{"shape.npy", npy_ids({3, 2})},
                     {"format.npy", npy("|S3", "()", "coo")},
                     {"row.npy", npy_of<std::int32_t>("<i4", {0, 2, 2})},
                     {"col.npy", npy_of<std::int32_t>("<i4", {1, 0, 1})},
                     {"data.npy", npy_ids({1, 1, 1})}};
  folder.write("y.npz", npz(many));
  folder.listen("[[nodes]]\nlabels.file = 'y.npz'\n[[edges]]\nfile = 'e.csv'\n");
  CHECK(folder.opened().schema().node_type("node")->labels->kind == LabelKind::kMultiLabel);
  CHECK(as_vector<std::uint8_t>(folder.opened().labels("node")) ==
        std::vector<std::uint8_t>{2, 0, 3});

  Members truths = many;  // as SciPy adds them: True and True is True
  truths[2].second = npy_of<std::int32_t>("<i4", {0, 2, 2});
  truths[3].second = npy_of<std::int32_t>("<i4", {1, 0, 0});
  truths[4].second = npy_bools({1, 1, 1});
  folder.write("y.npz", npz(truths));
  folder.listen("[[nodes]]\nlabels.file = 'y.npz'\n[[edges]]\nfile = 'e.csv'\n");
  CHECK(as_vector<std::uint8_t>(folder.opened().labels("node")) ==
        std::vector<std::uint8_t>{2, 0, 1});

  Members reals = many;
  reals[4].second = npy_of<double>("<f8", {1, 1, 1});
  folder.write("y.npz", npz(reals));
  folder.listen(
      "[[nodes]]\nlabels = { file = 'y.npz', kind = 'multi_label' }\n[[edges]]\nfile = 'e.csv'\n");
  CHECK(as_vector<std::uint8_t>(folder.opened().labels("node")) ==
        std::vector<std::uint8_t>{2, 0, 3});
}

TEST_CASE("sparse rows: the guess takes them for features and labels") {
  RolesFolder folder;
  folder.write("edges.csv", "src,dst\n0,1\n1,2\n2,3\n3,4\n");
  folder.write("features.npz", npz(sparse_members(one_hot(), "csc")));
  folder.listen_to_guess();
  CHECK(folder.features(5, 4) == one_hot().dense);
}

TEST_CASE("sparse rows: a file of several matrices in parts, each by its name") {
  RolesFolder folder;
  MadeMatrix adjacency{5, 5, {0, 1, 2, 3}, {1, 2, 3, 4}, {1, 1, 1, 1}, {}};
  for (const std::string parted : {"_", "."}) {
    Members members = sparse_members(adjacency, "csr", "adj" + parted, false);
    for (auto& part : sparse_members(one_hot(), "csr", "attr" + parted, false))
      members.push_back(std::move(part));
    members.push_back({"labels.npy", npy_ids({0, 1, 0, 1, 0})});
    folder.write("g.npz", npz(members));
    folder.listen(
        "[[nodes]]\nfeatures.file = 'g.npz#attr'\nlabels = { file = 'g.npz', columns = ['labels'] "
        "}\n[[edges]]\nfile = 'g.npz#adj'\n");
    CHECK(folder.features(5, 4) == one_hot().dense);
    CHECK(folder.classes() == std::vector<std::int32_t>{0, 1, 0, 1, 0});
    CHECK(in_edges(folder.opened(), "node__edge__node") ==
          std::vector<std::vector<std::uint64_t>>{{}, {0}, {1}, {2}, {3}});
  }
  std::filesystem::remove_all(folder.out());
  folder.write("e.csv", "src,dst\n0,1\n");
  for (const std::string toml : {"[[nodes]]\nfeatures.file = 'g.npz'\n[[edges]]\nfile = 'e.csv'\n",
                                 "[[nodes]]\nfeatures = { file = 'g.npz', columns = ['attr.data'] "
                                 "}\n[[edges]]\nfile = 'e.csv'\n",
                                 "[[nodes]]\nlabels.file = 'g.npz'\n[[edges]]\nfile = 'e.csv'\n",
                                 "[[edges]]\nfile = 'g.npz'\n"}) {
    CAPTURE(toml);
    const std::string text = folder.refusal(toml);
    CHECK(says(text,
               "ROOT/raw/g.npz: holds sparse matrices in parts: adj, attr|name one: file = "
               "\"g.npz#adj\""));
  }
  CHECK(says(as_text(expect_error([&] { folder.describe({"g.npz"}); }), folder),
             "holds sparse matrices in parts: adj, attr"));
  CHECK(says(folder.refusal("[[edges]]\nfile = 'g.npz#ajd'\n"),
             "there is no sparse matrix 'ajd'|its matrices: adj, attr"));
}

TEST_CASE("sparse rows: as edges a matrix is its entries, and beside them data is a column") {
  RolesFolder folder;
  const MadeMatrix made{3, 3, {0, 1, 2}, {1, 2, 0}, {2, 4, 8}, {}};
  folder.write("a.npz", npz(sparse_members(made, "csr")));
  folder.listen(
      "[[nodes]]\ncount = 3\n[[edges]]\nfile = 'a.npz'\nweight_column = 'data'\n"
      "features.columns = ['data']\n");
  CHECK(in_edges(folder.opened(), "node__edge__node") ==
        std::vector<std::vector<std::uint64_t>>{{2}, {0}, {1}});
  CHECK(folder.opened().schema().relations.front().features.front().dim == 1);
  folder.write("e.csv", "src,dst\n0,1\n1,2\n");
  std::filesystem::remove_all(folder.out());
  CHECK(says(folder.refusal("[[nodes]]\nfeatures = { file = 'a.npz', columns = ['data'] }\n"
                            "[[edges]]\nfile = 'e.csv'\n"),
             "a.npz: is a sparse matrix, which is taken by its rows"));
}
