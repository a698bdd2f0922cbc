// Ids that 63 bits do not hold, and ids that are texts: what is hinted at works, what is guessed
// can be imported; and dense ids far beyond the rows.
#include "roles_folder.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using Named = std::set<std::pair<std::string, std::string>>;

const std::string kWideA = "18446744073709551615", kWideB = "9223372036854775813";
const Named kWideEdges{{kWideA, kWideB}, {kWideB, "7"}, {"7", kWideA}};
const std::vector<std::uint64_t> kWideSources{18446744073709551615u, 9223372036854775813u, 7};
const std::vector<std::uint64_t> kWideTargets{9223372036854775813u, 7, 18446744073709551615u};

std::shared_ptr<arrow::Table> wide_table() {
  return table_of({{"src", array_of(arrow::uint64(), fmt::format("[{},{},7]", kWideA, kWideB))},
                   {"dst", array_of(arrow::uint64(), fmt::format("[{},7,{}]", kWideB, kWideA))}});
}

std::shared_ptr<arrow::Table> wide_lists() {
  return table_of({{"e",
                    array_of(arrow::fixed_size_list(arrow::uint64(), 2),
                             fmt::format("[[{0},{1}],[{1},7],[7,{0}]]", kWideA, kWideB))}});
}

std::string wide_pairs() {
  std::vector<std::uint64_t> pairs;
  for (std::size_t i = 0; i < 3; ++i) {
    pairs.push_back(kWideSources[i]);
    pairs.push_back(kWideTargets[i]);
  }
  return npy("<u8", "(3, 2)", bytes_of_values(pairs));
}

/// Every way in which edges of such ids may be stored.
std::vector<std::pair<std::string, std::string>> wide_files() {
  return {
      {"u.parquet", parquet_of(*wide_table())},
      {"u.arrow", ipc_of(*wide_table())},
      {"l.parquet", parquet_of(*wide_lists())},
      {"l.arrow", ipc_of(*wide_lists())},
      {"u.npy", wide_pairs()},
      {"c.npz",
       npz({{"src.npy", npy_of("<u8", kWideSources)}, {"dst.npy", npy_of("<u8", kWideTargets)}})},
      {"u.csv", fmt::format("src,dst\n{0},{1}\n{1},7\n7,{0}\n", kWideA, kWideB)}};
}

}  // namespace

TEST_CASE("wide ids: as integers they are refused, and the hint works") {
  for (const auto& [name, content] : wide_files()) {
    CAPTURE(name);
    RolesFolder folder;
    folder.write(name, content);
    const std::string text =
        folder.refusal("[[nodes]]\nids = 'integer'\n[[edges]]\nfile = '" + name + "'\n");
    CHECK(says(text, "data|ROOT/raw/" + name));
    CHECK(says(text, "ids = \"string\""));
    folder.listen("[[nodes]]\nids = 'string'\n[[edges]]\nfile = '" + name + "'\n");
    CHECK(folder.edges("node__edge__node") == kWideEdges);
  }
}

TEST_CASE("wide ids: of lists too") {
  RolesFolder folder;
  folder.write("e.csv", fmt::format("src,dst\n{0},{1}\n{1},7\n7,{0}\n", kWideA, kWideB));
  folder.write("n.npy", npy_of("<u8", kWideSources));
  folder.write("n.parquet", parquet_of(*wide_table()));
  for (const std::string list : {"n.npy", "n.parquet"}) {
    CAPTURE(list);
    const std::string toml = "id_list.file = '" + list + "'\n[[edges]]\nfile = 'e.csv'\n";
    std::filesystem::remove_all(folder.out());
    const std::string text = folder.refusal("[[nodes]]\nids = 'integer'\n" + toml);
    CHECK(says(text, list));
    CHECK(says(text, "ids = \"string\""));
    folder.listen("[[nodes]]\nids = 'string'\n" + toml);
    CHECK(folder.edges("node__edge__node") == kWideEdges);
  }
}

TEST_CASE("wide ids: the guess takes them as names, and it can be imported") {
  for (const auto& [name, content] : wide_files()) {
    CAPTURE(name);
    RolesFolder folder;
    folder.write(name, content);
    folder.listen_to_guess({name});
    CHECK(folder.opened().schema().node_type("node")->ids == IdKind::kString);
    CHECK(folder.edges("node__edge__node") == kWideEdges);
  }
}

TEST_CASE("wide ids: texts that look like numbers are guessed as the texts they are") {
  RolesFolder folder;
  const auto table = table_of({{"src", array_of(arrow::utf8(), R"(["0","1","2"])")},
                               {"dst", array_of(arrow::utf8(), R"(["1","2","0"])")}});
  folder.write("e.parquet", parquet_of(*table));
  folder.listen_to_guess({"e.parquet"});
  CHECK(folder.edges("node__edge__node") == Named{{"0", "1"}, {"1", "2"}, {"2", "0"}});
  std::filesystem::remove_all(folder.out());
  CHECK(says(folder.refusal("[[edges]]\nfile = 'e.parquet'\n"),
             "column 'src' holds texts, where integers are asked|for ids that are text say ids"));
}

TEST_CASE("wide ids: numbers of arrays can be names, of two types at both ends too") {
  RolesFolder folder;
  folder.write("e.npy", npy("<i4", "(2, 2)", bytes_of_values<std::int32_t>({-5, 7, 7, 9})));
  folder.listen("[[nodes]]\nids = 'string'\n[[edges]]\nfile = 'e.npy'\n");
  CHECK(folder.edges("node__edge__node") == Named{{"-5", "7"}, {"7", "9"}});
  folder.listen(
      "[[nodes]]\ntype = 'a'\nids = 'integer'\n[[nodes]]\ntype = 'b'\nids = 'string'\n"
      "[[edges]]\nsource = 'a'\ntarget = 'b'\nfile = 'e.npy'\n");
  CHECK(folder.edges("a__edge__b") == Named{{"-5", "7"}, {"7", "9"}});
}

TEST_CASE("dense ids: the largest far beyond the rows is refused where it stands") {
  const std::vector<std::pair<std::string, std::string>> files{
      {"e.csv", "src,dst\n0,9223372036854775806\n76561198000000001,0\n"},
      {"e.txt", "0 9223372036854775806\n76561198000000001 0\n"},
      {"e.npy", npy_ids({0, 9223372036854775806, 76561198000000001, 0})}};
  for (const auto& [name, content] : files) {
    CAPTURE(name);
    RolesFolder folder;
    folder.budget = kGiB;
    const bool array = name == "e.npy";
    folder.write(
        name,
        array ? npy("<i8",
                    "(2, 2)",
                    bytes_of_values<std::int64_t>({0, 9223372036854775806, 76561198000000001, 0}))
              : content);
    const std::string text = folder.refusal("[[edges]]\nfile = '" + name + "'\n");
    CHECK(says(text, array ? "e.npy: row 0" : name + (name == "e.csv" ? ":2:" : ":1:")));
    CHECK(says(text, "the id 9223372036854775806 would make 9223372036854775807 nodes"));
    CHECK(says(text, "and the edges name 4"));
    CHECK(says(text, "ids = \"integer\""));
    folder.listen("[[nodes]]\nids = 'integer'\n[[edges]]\nfile = '" + name + "'\n");
    CHECK(folder.opened().schema().node_type("node")->count == 3);
  }
}

TEST_CASE("dense ids: a few gaps are nodes without edges, and many are said") {
  RolesFolder folder;
  folder.write("e.csv", "src,dst\n0,2000000\n7,0\n");
  const std::string said = folder.listen("[[edges]]\nfile = 'e.csv'\n");
  CHECK(says(said, "would make 2000001 nodes"));
  CHECK(folder.opened().schema().node_type("node")->count == 2'000'001);
  folder.write("e.csv", "src,dst\n0,900\n7,0\n");
  CHECK(folder.listen("[[edges]]\nfile = 'e.csv'\n").empty());
  CHECK(folder.opened().schema().node_type("node")->count == 901);
  folder.write("e.csv", "src,dst\n0,4999999\n7,0\n");  // said to be there
  CHECK(folder.listen("[[nodes]]\ncount = 5000000\n[[edges]]\nfile = 'e.csv'\n").empty());
  CHECK(folder.opened().schema().node_type("node")->count == 5'000'000);
}
