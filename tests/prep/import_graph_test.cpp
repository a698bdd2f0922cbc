// Imports that must succeed, checked against what brute force makes of the same raw files.
#include "import_support.h"

#include <sluice/random.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

Pairs random_edges(std::uint64_t nodes, std::uint64_t count, std::uint64_t seed) {
  const RandomKey key(seed);
  Pairs edges;
  for (std::uint64_t i = 0; i < count; ++i)
    edges.emplace_back(key.below(nodes, 2 * i), key.below(nodes, 2 * i + 1));
  return edges;
}

std::string csv_of(const Pairs& edges) {
  std::string text = "src,dst\n";
  for (const auto& [source, target] : edges) text += fmt::format("{},{}\n", source, target);
  return text;
}

}  // namespace

TEST_CASE("import: the smallest graph.toml") {
  ImportFolder folder;
  folder.write("edges.csv", "src,dst\n0,1\n2,1\n1,4\n");
  const ImportReport report = folder.run("[[edges]]\nfile = 'edges.csv'\n");
  CHECK(report.nodes == 5);
  CHECK(report.edges == 3);
  CHECK(report.bytes > 0);
  const Dataset dataset = Dataset::open(folder.out());
  CHECK((in_edges(dataset, "node__edge__node") == in_edges(5, {{0, 1}, {2, 1}, {1, 4}})));
  CHECK(folder.leftovers() == std::vector<std::string>{"graph"});
}

TEST_CASE("import: a relation without edges, and a type without nodes beside others") {
  ImportFolder folder;
  folder.write("a.csv", "src,dst\n0,1\n2,1\n");
  folder.write("none.csv", "src,dst\n");
  folder.run(
      "[[nodes]]\ntype = 'a'\n[[nodes]]\ntype = 'b'\ncount = 4\n[[nodes]]\ntype = 'empty'\n"
      "[[edges]]\nrelation = 'r'\nsource = 'a'\ntarget = 'a'\nfile = 'a.csv'\n"
      "[[edges]]\nrelation = 'none'\nsource = 'a'\ntarget = 'b'\nfile = 'none.csv'\n"
      "reverse = 'back'\n"
      "[[edges]]\nrelation = 'to'\nsource = 'a'\ntarget = 'empty'\nfile = 'none.csv'\n"
      "reverse = 'from'\n");
  const Dataset dataset = Dataset::open(folder.out());
  CHECK(dataset.schema().node_type("a")->count == 3);
  CHECK(dataset.schema().node_type("empty")->count == 0);
  CHECK((in_edges(dataset, "a__r__a") == in_edges(3, {{0, 1}, {2, 1}})));
  CHECK((in_edges(dataset, "a__none__b") == in_edges(4, {})));
  CHECK((in_edges(dataset, "b__back__a") == in_edges(3, {})));
  CHECK(in_edges(dataset, "a__to__empty").empty());
  CHECK((in_edges(dataset, "empty__from__a") == in_edges(3, {})));
}

TEST_CASE("import: options of edges against brute force") {
  constexpr std::uint64_t kNodes = 200;
  Pairs edges = random_edges(kNodes, 5'000, 3);
  ImportFolder folder;
  folder.write("edges.csv", csv_of(edges));
  const auto check = [&](const std::string& keys, const Pairs& expected) {
    CAPTURE(keys);
    folder.run(
        fmt::format("[[nodes]]\ncount = {}\n[[edges]]\nfile = 'edges.csv'\n{}", kNodes, keys),
        Overwrite::kReplace);
    CHECK(
        (in_edges(Dataset::open(folder.out()), "node__edge__node") == in_edges(kNodes, expected)));
  };
  check("", edges);
  Pairs both, no_loops, with_loops, once;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (const auto& [source, target] : edges) {
    both.emplace_back(source, target);
    if (source != target) both.emplace_back(target, source);
    if (source != target) no_loops.emplace_back(source, target);
    if (seen.emplace(source, target).second) once.emplace_back(source, target);
  }
  with_loops = no_loops;
  for (std::uint64_t node = 0; node < kNodes; ++node) with_loops.emplace_back(node, node);
  check("undirected = true", both);
  check("self_loops = 'drop'", no_loops);
  check("self_loops = 'add'", with_loops);
  check("duplicates = 'drop'", once);
  check("source_column = 'src'\ntarget_column = 'dst'", edges);
  Pairs reversed;
  for (const auto& [source, target] : edges) reversed.emplace_back(target, source);
  check("source_column = 'dst'\ntarget_column = 'src'", reversed);
}

TEST_CASE("import: integer and string ids round trip, in order of first appearance") {
  const Pairs edges = random_edges(300, 2'000, 5);
  const auto check = [&](const char* kind, auto&& name) {
    CAPTURE(kind);
    ImportFolder folder;
    std::string text = "from,to\n";
    std::vector<std::string> order;
    std::map<std::string, std::uint64_t> dense;
    Pairs expected;
    for (const auto& [source, target] : edges) {
      text += fmt::format("{},{}\n", name(source), name(target));
      for (const std::uint64_t node : {source, target}) {
        if (dense.emplace(name(node), order.size()).second) order.push_back(name(node));
      }
      expected.emplace_back(dense[name(source)], dense[name(target)]);
    }
    folder.write("edges.csv", text);
    folder.run(fmt::format("[[nodes]]\nids = '{}'\n[[edges]]\nfile = 'edges.csv'\n", kind));
    const Dataset dataset = Dataset::open(folder.out());
    const ExternalIds ids = dataset.ids("node");
    REQUIRE(dataset.schema().nodes[0].count == order.size());
    for (std::size_t node = 0; node < order.size(); ++node) CHECK(ids.text(node) == order[node]);
    CHECK((in_edges(dataset, "node__edge__node") == in_edges(order.size(), expected)));
  };
  check("integer", [](std::uint64_t node) {
    return std::to_string(static_cast<std::int64_t>(node * 7919) - 1'000'000);
  });
  check("string",
        [](std::uint64_t node) { return fmt::format("p{}{}", node, std::string(node % 40, 'z')); });
}

TEST_CASE("import: many ids, found again after the table has grown") {
  ImportFolder folder;
  std::string text = "a,b\n";
  for (int i = 0; i < 100'000; ++i) text += fmt::format("n{},n{}\n", i, i * 3);
  folder.write("edges.csv", text);
  const ImportReport report =
      folder.run("[[nodes]]\nids = 'string'\n[[edges]]\nfile = 'edges.csv'\n");
  CHECK(report.nodes == 100'000 + 100'000 - 33'334);
  CHECK(report.edges == 100'000);
}

TEST_CASE("import: a list of ids gives the order; features, labels and splits follow it") {
  ImportFolder folder;
  folder.write("nodes.csv", "name,x,y,class\nc,1,2,0\na,3,4,\nb,5,6,1\n");
  folder.write("edges.csv", "s,t\na,b\nb,c\n");
  folder.write("train.csv", "name\nc\n");
  folder.write("test.csv", "name\nb\n");
  folder.run(R"(
    [[nodes]]
    type = "thing"
    ids = "string"
    id_list = { file = "nodes.csv" }
    features = { file = "nodes.csv", columns = ["y", "x"] }
    labels = { file = "nodes.csv", columns = ["class"] }
    [[edges]]
    file = "edges.csv"
    [[splits]]
    train = "train.csv"
    test = "test.csv"
  )");
  const Dataset dataset = Dataset::open(folder.out());
  CHECK(dataset.ids("thing").text(1) == "a");
  CHECK((in_edges(dataset, "thing__edge__thing") == in_edges(3, {{1, 2}, {2, 0}})));
  CHECK(stored_f32_rows(folder.out(), "thing", 3, 2) == std::vector<float>{2, 1, 4, 3, 6, 5});
  const Array labels = dataset.labels("thing");
  CHECK(std::vector<std::int32_t>(labels.as<std::int32_t>().begin(),
                                  labels.as<std::int32_t>().end()) ==
        std::vector<std::int32_t>{0, -1, 1});
  CHECK(dataset.schema().nodes[0].labels->width == 2);
  const Split split = dataset.split("default");
  CHECK(as_vector(split.train) == std::vector<std::uint64_t>{0});
  CHECK(as_vector(split.test) == std::vector<std::uint64_t>{2});
}

TEST_CASE("import: features of every dtype, converted or kept") {
  const auto stored = [](const std::string& file, const std::string& keys) {
    ImportFolder folder;
    folder.write("edges.csv", "s,t\n0,1\n");
    folder.write("x.npy", file);
    folder.run(fmt::format(
        "[[nodes]]\nfeatures = {{ file = 'x.npy'{} }}\n[[edges]]\nfile = 'edges.csv'\n", keys));
    const Dataset dataset = Dataset::open(folder.out());
    const FeatureSchema features = dataset.schema().nodes[0].features[0];
    const std::string bytes = read_all(folder.out() / "nodes/node/features.bin");
    std::vector<double> values;
    for (std::size_t row = 0; row < features.rows;
         ++row) {  // dim 2: rows of f32 and f16 fill a page exactly
      for (std::size_t i = 0; i < features.dim; ++i) {
        const std::size_t at = row * features.dim + i;
        float wide = 0;
        _Float16 narrow = 0;
        if (features.dtype == DType::kF32) std::memcpy(&wide, bytes.data() + at * 4, 4);
        if (features.dtype == DType::kF16) std::memcpy(&narrow, bytes.data() + at * 2, 2);
        values.push_back(features.dtype == DType::kF32 ? static_cast<double>(wide)
                                                       : static_cast<double>(narrow));
      }
    }
    return std::pair(features.dtype, values);
  };
  const std::vector<double> small{0, 1, 2, 100};
  const auto same = [&](DType dtype) { return std::pair(dtype, small); };
  CHECK((stored(npy("<f4", "(2, 2)", bytes_of_values<float>({0, 1, 2, 100})), "") ==
         same(DType::kF32)));
  CHECK((stored(npy("<f8", "(2, 2)", bytes_of_values<double>({0, 1, 2, 100})), "") ==
         same(DType::kF32)));
  CHECK((stored(npy("|u1", "(2, 2)", bytes_of_values<std::uint8_t>({0, 1, 2, 100})), "") ==
         same(DType::kF32)));
  CHECK((stored(npy("<i4", "(2, 2)", bytes_of_values<std::int32_t>({0, 1, 2, 100})), "") ==
         same(DType::kF32)));
  CHECK((stored(npy("<i8", "(2, 2)", bytes_of_values<std::int64_t>({0, 1, 2, 100})), "") ==
         same(DType::kF32)));
  CHECK((stored(npy("<f4", "(2, 2)", bytes_of_values<float>({0, 2, 1, 100}), "True"), "") ==
         same(DType::kF32)));
  const std::string half =
      npy("<f2", "(2, 2)", bytes_of_values<std::uint16_t>({0, 0x3c00, 0x4000, 0x5640}));
  CHECK((stored(half, "") == same(DType::kF16)));
  CHECK((stored(half, ", dtype = 'f32'") == same(DType::kF32)));
  const std::string rounding =
      npy("<f4", "(2, 2)", bytes_of_values<float>({0.1f, 2049, 2051, 65519}));
  CHECK((stored(rounding, ", dtype = 'f16'") ==
         std::pair(DType::kF16, std::vector<double>{0.0999755859375, 2048, 2052, 65504})));
}

TEST_CASE("import: values that are not finite are kept when asked") {
  ImportFolder folder;
  folder.write("edges.csv", "s,t\n0,1\n");
  folder.write("x.csv", "a,b\n1,\n,inf\n");
  folder.run(
      "[[nodes]]\nfeatures = { file = 'x.csv', not_finite = 'keep' }\n[[edges]]\nfile = "
      "'edges.csv'\n");
  const std::vector<float> rows = stored_f32_rows(folder.out(), "node", 2, 2);
  CHECK(rows[0] == 1);
  CHECK(std::isnan(rows[1]));
  CHECK(std::isnan(rows[2]));
  CHECK(std::isinf(rows[3]));
}

TEST_CASE("import: wide features, read in many chunks, are the file's bytes") {
  constexpr std::size_t kRows = 9'000, kDim = 300;
  std::vector<float> values(kRows * kDim);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(RandomKey(1).uniform(i));
  ImportFolder folder;
  folder.write("x.npy", npy_rows(kRows, kDim, values));
  folder.write("edges.csv", "s,t\n0,1\n");
  const ImportReport report =
      folder.run("[[nodes]]\nfeatures.file = 'x.npy'\n[[edges]]\nfile = 'edges.csv'\n");
  CHECK(report.nodes == kRows);
  CHECK((stored_f32_rows(folder.out(), "node", kRows, kDim) == values));
}

TEST_CASE("import: labels of each kind, by position and by id") {
  ImportFolder folder;
  folder.write("edges.csv", "s,t\n0,1\n2,0\n");
  const auto labels = [&](const std::string& keys) {
    folder.run(fmt::format("[[nodes]]\nlabels = {{ {} }}\n[[edges]]\nfile = 'edges.csv'\n", keys),
               Overwrite::kReplace);
    return Dataset::open(folder.out());
  };
  SUBCASE("classes") {
    folder.write("y.npy", npy_ids({2, -1, 0}));
    const Dataset dataset = labels("file = 'y.npy'");
    const Array array = dataset.labels("node");
    CHECK(std::ranges::equal(array.as<std::int32_t>(), std::vector<std::int32_t>{2, -1, 0}));
    CHECK(dataset.schema().nodes[0].labels->kind == LabelKind::kClass);
    CHECK(dataset.schema().nodes[0].labels->width == 3);
    CHECK(labels("file = 'y.npy', classes = 10").schema().nodes[0].labels->width == 10);
  }
  SUBCASE("several labels a node") {
    std::vector<std::uint8_t> bits(3 * 9, 0);
    bits[0] = bits[8] = bits[9 + 3] = 1;
    folder.write("y.npy", npy("|b1", "(3, 9)", bytes_of_values(bits)));
    const Dataset dataset = labels("file = 'y.npy'");
    const Array array = dataset.labels("node");
    CHECK(
        std::ranges::equal(array.as<std::uint8_t>(), std::vector<std::uint8_t>{1, 1, 8, 0, 0, 0}));
    CHECK(dataset.schema().nodes[0].labels->kind == LabelKind::kMultiLabel);
    CHECK(dataset.schema().nodes[0].labels->width == 9);
  }
  SUBCASE("targets") {
    folder.write("y.npy", npy("<f8", "(3,)", bytes_of_values<double>({0.5, std::nan(""), -2})));
    const Dataset dataset = labels("file = 'y.npy'");
    const Array array = dataset.labels("node");
    CHECK(array.as<float>()[0] == 0.5f);
    CHECK(std::isnan(array.as<float>()[1]));
    CHECK(dataset.schema().nodes[0].labels->kind == LabelKind::kRegression);
  }
  SUBCASE("under ids, not all of them") {
    folder.write("y.csv", "id,label\n2,1\n0,4\n");
    const Array array = labels("file = 'y.csv', id_column = 'id'").labels("node");
    CHECK(std::ranges::equal(array.as<std::int32_t>(), std::vector<std::int32_t>{4, -1, 1}));
    folder.write("z.csv", "v,w,id\n1.5,,2\n2.5,3,0\n");
    const Array two =
        labels("file = 'z.csv', id_column = 'id', columns = ['v', 'w'], kind = 'regression'")
            .labels("node");
    CHECK(two.as<float>()[0] == 2.5f);
    CHECK(std::isnan(two.as<float>()[2]));
    CHECK(std::isnan(two.as<float>()[5]));
  }
}

TEST_CASE("import: splits by ratio are drawn from the labelled nodes, the same for the same seed") {
  ImportFolder folder;
  std::vector<std::int64_t> labels(1'000);
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = i % 2 == 0 ? -1 : static_cast<std::int64_t>(i % 5);
  folder.write("y.npy", npy_ids(labels));
  folder.write("edges.csv", "s,t\n0,1\n");
  const std::string toml =
      "[[nodes]]\nlabels.file = 'y.npy'\n[[edges]]\nfile = 'edges.csv'\n[[splits]]\nratio = [0.5, "
      "0.25, 0.25]\n";
  folder.run(toml);
  const Dataset dataset = Dataset::open(folder.out());
  const Split split = dataset.split("default");
  std::set<std::uint64_t> all;
  for (const Array* part : {&split.train, &split.valid, &split.test}) {
    for (const std::uint64_t id : as_vector(*part)) {
      CHECK(labels[id] >= 0);
      CHECK(all.insert(id).second);
    }
  }
  CHECK(split.train.numel() == 250);
  CHECK(split.valid.numel() == 125);
  CHECK(split.test.numel() == 125);
  folder.run_into(toml, folder.dir / "out/again");
  CHECK(as_vector(Dataset::open(folder.dir / "out/again").split("default").train) ==
        as_vector(split.train));
  folder.run_into(toml + "seed = 2\n", folder.dir / "out/other");
  CHECK(as_vector(Dataset::open(folder.dir / "out/other").split("default").train) !=
        as_vector(split.train));
}

TEST_CASE("import: two node types, two relations, ids of each kind, edges from .npy") {
  ImportFolder folder;
  folder.write("writes.csv", "author,paper\nann,10\nbob,20\nann,20\n");
  folder.write("cites.npy", npy("<i4", "(2, 2)", bytes_of_values<std::int32_t>({20, 10, 30, 20})));
  const std::string toml = R"(
    [[nodes]]
    type = "author"
    ids = "string"
    [[nodes]]
    type = "paper"
    ids = "integer"
    [[edges]]
    relation = "writes"
    source = "author"
    target = "paper"
    file = "writes.csv"
    [[edges]]
    relation = "cites"
    source = "paper"
    target = "paper"
    file = "cites.npy"
  )";
  folder.run(toml);
  const Dataset dataset = Dataset::open(folder.out());
  CHECK(dataset.schema().total_nodes() == 5);
  CHECK(dataset.ids("paper").integer(2) == 30);
  CHECK((in_edges(dataset, "author__writes__paper") ==
         std::vector<std::vector<std::uint64_t>>{{0}, {1, 0}, {}}));
  CHECK((in_edges(dataset, "paper__cites__paper") ==
         std::vector<std::vector<std::uint64_t>>{{1}, {2}, {}}));
}

TEST_CASE("import: the same bytes for any number of threads") {
  ImportFolder folder;
  std::string text = "a,b\n";
  for (const auto& [source, target] : random_edges(5'000, 60'000, 9))
    text += fmt::format("k{},k{}\n", source, target);
  folder.write("edges.csv", text);
  const std::string toml =
      "[csv]\nblock = '16KiB'\n[[nodes]]\nids = 'string'\n[[edges]]\nfile = "
      "'edges.csv'\nundirected = true\n";
  folder.threads = 1;
  folder.run_into(toml, folder.dir / "out/one");
  folder.threads = 4;
  folder.run_into(toml, folder.dir / "out/four");
  CHECK(read_all(folder.dir / "out/one/manifest.json") ==
        read_all(folder.dir / "out/four/manifest.json"));
}

TEST_CASE("import: id maps beyond the budget are refused with the table of where the bytes are") {
  ImportFolder folder;
  std::string text = "a,b\n";
  for (int i = 0; i < 200'000; ++i) text += fmt::format("{},{}\n", i * 11, i * 7);
  folder.write("edges.csv", text);
  folder.budget = 8 * kMiB;
  const Error error = expect_error([&] {
    folder.run(
        "[csv]\nblock = '256KiB'\n[[nodes]]\nids = 'integer'\n[[edges]]\nfile = 'edges.csv'\n");
  });
  CHECK(error.code() == ErrorCode::kResource);
  CHECK(std::string(error.what()).find("id map") != std::string::npos);
  CHECK(folder.leftovers().empty());
}
