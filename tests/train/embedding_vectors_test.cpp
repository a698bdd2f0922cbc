// Learned rows that begin as vectors of a file, by the user's ids; the rows of a run in all three
// formats, and a run that begins where another one ended.
#include "storage/checkpoint/safetensors.h"
#include "support/expect_error.h"
#include "train/embedding_support.h"
#include "train/initial_vectors.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <sstream>

using namespace sluice;
using namespace sluice::test;
namespace fs = std::filesystem;

namespace {

using Rows = std::vector<std::vector<float>>;

constexpr const char* kTask = "loss = \"softmax\"\nshare = true\nnegatives = 8\neval_negatives = 5";

template <class T>
CheckpointTensor vectors_tensor(std::string name,
                                Array::Shape shape,
                                const std::vector<T>& values) {
  CheckpointTensor made{std::move(name), Array::make(dtype_of<T>, std::move(shape)).or_throw()};
  std::ranges::copy(values, made.value.as<T>().begin());
  return made;
}

// Vectors that tell their row and column.
std::vector<float> numbered(std::size_t rows, std::size_t dim) {
  std::vector<float> values;
  for (std::size_t i = 0; i < rows * dim; ++i) values.push_back(0.25f * static_cast<float>(i) - 3);
  return values;
}

fs::path write_vectors(const fs::path& path,
                       const std::vector<std::int64_t>& ids,
                       std::vector<float> values,
                       std::int64_t dim = 8) {
  SafetensorsContent content;
  const auto rows = static_cast<std::int64_t>(values.size()) / dim;
  content.tensors.push_back(vectors_tensor<float>("rows", {rows, dim}, values));
  if (!ids.empty())
    content.tensors.push_back(
        vectors_tensor<std::int64_t>("ids", {static_cast<std::int64_t>(ids.size())}, ids));
  write_safetensors(path, content);
  return path;
}

std::string set_vectors(const fs::path& path) {
  return fmt::format("embedding.vectors=\"{}\"", path.string());
}

Rows rows_of(const OpenParts& opened) {
  const Tensor rows = opened.parts.rows->in_place().at("rows.entity").contiguous();
  Rows all;
  for (std::int64_t row = 0; row < rows.size(0); ++row) {
    const float* const values = rows[row].const_data_ptr<float>();
    all.emplace_back(values, values + rows.size(1));
  }
  return all;
}

Rows rows_in_csv(const fs::path& path) {
  std::istringstream lines(read_all(path));
  std::string line, cell;
  std::getline(lines, line);
  Rows all;
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::getline(cells, cell, ',');
    CHECK(std::stoul(cell) == all.size());
    all.emplace_back();
    while (std::getline(cells, cell, ',')) all.back().push_back(std::stof(cell));
  }
  return all;
}

// Records of an id and the row.
Rows rows_in_npy(const fs::path& path, std::size_t dim) {
  const std::string bytes = read_all(path);
  REQUIRE(bytes.size() > 12);
  const std::size_t prefix = bytes[6] == 1 ? 10 : 12;  // by the format's version
  std::size_t at = prefix + static_cast<unsigned char>(bytes[8]) +
                   256 * std::size_t{static_cast<unsigned char>(bytes[9])};
  Rows all;
  for (; at + sizeof(std::int64_t) <= bytes.size();) {
    std::int64_t id = 0;
    std::memcpy(&id, bytes.data() + at, sizeof id);
    CHECK(id == std::ssize(all));
    at += sizeof id;
    all.emplace_back(dim);
    REQUIRE(at + dim * sizeof(float) <= bytes.size());
    std::memcpy(all.back().data(), bytes.data() + at, dim * sizeof(float));
    at += dim * sizeof(float);
  }
  CHECK(at == bytes.size());
  return all;
}

// Five nodes that are called by names.
fs::path import_named(const TempDir& dir) {
  dir.write("nodes.csv", "id\nash\nbirch\ncedar\n7\nelm\n");
  dir.write("edges.csv", "src,dst\nash,birch\nbirch,cedar\ncedar,7\n7,elm\nelm,ash\n");
  const auto config = dir.write("named.toml",
                                "[[nodes]]\ntype = \"entity\"\nids = \"string\"\n"
                                "id_list = { file = \"nodes.csv\", column = \"id\" }\n"
                                "[[edges]]\nfile = \"edges.csv\"\n");
  const Outcome made =
      run({tool("sluice-prep"), "import", "--config", config, "--out", dir / "named"});
  REQUIRE_MESSAGE(made.code == 0, made.err);
  return dir / "named";
}

}  // namespace

TEST_CASE("rows begin as the vectors of a file, by ids in any order; others as they would") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  const Rows plain = rows_of(OpenParts(dir, kTask));
  // An id of no node is passed over.
  const std::vector<std::int64_t> ids{20, 3, 4, 1000, 29};
  const std::vector<float> values = numbered(ids.size(), 8);
  const fs::path path = write_vectors(dir / "vectors.safetensors", ids, values);
  const Rows rows = rows_of(OpenParts(dir, kTask, {set_vectors(path)}));
  REQUIRE(rows.size() == plain.size());
  for (std::size_t node = 0; node < rows.size(); ++node) {
    CAPTURE(node);
    const auto found = std::ranges::find(ids, static_cast<std::int64_t>(node));
    if (found == ids.end()) {
      CHECK(rows[node] == plain[node]);
      continue;
    }
    const auto first = values.begin() + 8 * (found - ids.begin());
    CHECK(rows[node] == std::vector<float>(first, first + 8));
  }
  // Without ids rows go by the nodes' numbers; a folder has a file a type.
  const std::vector<float> all = numbered(kEntities, 8);
  fs::create_directories(dir / "folder");
  write_vectors(dir / "folder/entity.safetensors", {}, all);
  const Rows whole = rows_of(OpenParts(dir, kTask, {set_vectors(dir / "folder")}));
  for (std::size_t node = 0; node < whole.size(); ++node)
    CHECK(whole[node] ==
          std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(8 * node),
                             all.begin() + static_cast<std::ptrdiff_t>(8 * node + 8)));
}

TEST_CASE("vectors find nodes whose ids are texts, whether theirs are texts or numbers") {
  const TempDir dir;
  const Dataset dataset = Dataset::open(import_named(dir).string());
  SafetensorsContent content;
  content.tensors.push_back(vectors_tensor<float>("rows", {3, 2}, {1, 2, 3, 4, 5, 6}));
  const std::string names = "elmoakbirch";
  content.tensors.push_back(vectors_tensor<std::uint8_t>(
      "ids", {11}, std::vector<std::uint8_t>(names.begin(), names.end())));
  content.tensors.push_back(vectors_tensor<std::int64_t>("ids.offsets", {4}, {0, 3, 6, 11}));
  write_safetensors(dir / "texts.safetensors", content);
  const ExternalIds own = dataset.ids("entity");
  REQUIRE(own.kind() == IdKind::kString);
  // Rows of nodes that have none stay as they are.
  const auto check = [&](const InitialVectors& vectors,
                         const std::map<std::string, std::vector<float>>& expected) {
    std::vector<float> out(10, 0.5f);
    const std::vector<std::uint64_t> nodes{0, 1, 2, 3, 4};
    vectors.read(nodes, out);
    for (const std::uint64_t node : nodes) {
      const std::string name = own.text(node);
      CAPTURE(name);
      const auto found = expected.find(name);
      CHECK(vectors.has(node) == (found != expected.end()));
      const std::vector<float> none(2, 0.5f);
      CHECK(std::vector<float>{out[2 * node], out[2 * node + 1]} ==
            (found == expected.end() ? none : found->second));
    }
  };
  const InitialVectors texts(dir / "texts.safetensors", dataset, "entity", 2);
  check(texts, {{"elm", {1, 2}}, {"birch", {5, 6}}});
  write_vectors(dir / "numbers.safetensors", {8, 7}, {1, 2, 3, 4}, 2);
  const InitialVectors numbers(dir / "numbers.safetensors", dataset, "entity", 2);
  check(numbers, {{"7", {3, 4}}});
  CHECK(numbers.hash() != texts.hash());
  // Ends of texts that lead nowhere.
  content.tensors.back() = vectors_tensor<std::int64_t>("ids.offsets", {4}, {0, 6, 3, 11});
  write_safetensors(dir / "texts.safetensors", content);
  const Error error =
      expect_error([&] { (void)InitialVectors(dir / "texts.safetensors", dataset, "entity", 2); });
  CHECK(error.message().find("do not lead through") != std::string::npos);
}

TEST_CASE("a run's rows are the same in every format, and another run begins as them") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  Quiet quiet;
  const std::string run = (dir / "run").string();
  (void)run_training(options_of(config_of(dir, kTask)), RunDirectory::Mode::kNew, quiet.context);
  for (const char* name : {"rows.csv", "rows.npy", "rows.safetensors"})
    CHECK(embed_run(run, {}, {}, {}, dir / name, quiet.context).rows == kEntities);
  const SafetensorsContent content = read_safetensors(dir / "rows.safetensors", nullptr).or_throw();
  const auto tensor = [&](const std::string& name) {
    return std::ranges::find(content.tensors, name, &CheckpointTensor::name)->value;
  };
  const Array values = tensor("rows"), ids = tensor("ids");
  REQUIRE(values.shape() == Array::Shape{kEntities, 8});
  Rows rows;
  for (std::int64_t row = 0; row < kEntities; ++row) {
    CHECK(ids.as<std::int64_t>()[static_cast<std::size_t>(row)] == row);
    const auto of_row = values.as<float>().subspan(static_cast<std::size_t>(row) * 8, 8);
    rows.emplace_back(of_row.begin(), of_row.end());
  }
  CHECK(rows_in_csv(dir / "rows.csv") == rows);
  CHECK(rows_in_npy(dir / "rows.npy", 8) == rows);
  CHECK(rows_of(OpenParts(dir, kTask, {set_vectors(dir / "rows.safetensors")})) == rows);

  // On disk, by partitions' tables or not, and after a stop, training goes as it does in memory.
  const auto train = [&](const std::string& where, const std::vector<std::string>& more) {
    std::vector<std::string> sets{set_vectors(dir / "rows.safetensors"),
                                  "run.dir=\"" + (dir / where).string() + "\""};
    sets.insert(sets.end(), more.begin(), more.end());
    return run_training(
               options_of(config_of(dir, kTask), sets), RunDirectory::Mode::kNew, quiet.context)
        .weights_xxh3;
  };
  const std::uint64_t memory = train("memory", {"storage.embeddings=\"memory\""});
  CHECK(train("disk", {"storage.embeddings=\"disk\""}) == memory);
  (void)train("parts", {"storage.embeddings=\"disk\"", "train.epochs=1"});
  const std::string parts = (dir / "parts").string();
  CHECK(resume_training(parts, {"train.epochs=3"}, quiet.context).weights_xxh3 == memory);
  // Other vectors under the same name: rows that were never trained would be others.
  write_vectors(dir / "rows.safetensors", {}, numbered(kEntities, 8));
  const Error other =
      expect_error([&] { (void)resume_training(parts, {"train.epochs=4"}, quiet.context); });
  CHECK(other.code() == ErrorCode::kUsage);
}

TEST_CASE("vectors that are not those of the nodes are refused, and said why") {
  const Graph graph;
  const TempDir dir;
  graph.import(dir);
  const auto refused = [&](const std::vector<std::int64_t>& ids,
                           std::vector<float> values,
                           std::int64_t dim = 8,
                           std::vector<std::string> more = {}) {
    const fs::path path = write_vectors(dir / "v.safetensors", ids, std::move(values), dim);
    more.push_back(set_vectors(path));
    return expect_error([&] { (void)OpenParts(dir, kTask, more); });
  };
  const auto says = [](const Error& error, const char* words) {
    CAPTURE(error.message());
    CHECK(error.message().find(words) != std::string::npos);
  };
  says(refused({1, 2}, numbered(2, 4), 4), "4 columns, and embedding.dim is 8");
  says(refused({1, 2, 1}, numbered(3, 8)), "id '1' stands in rows");
  says(refused({1, 2, 3}, numbered(2, 8)), "2 rows and 3 ids");
  says(refused({100, 200}, numbered(2, 8)), "none of its 2 ids");
  says(refused({}, numbered(2, 8)), "2 rows without ids, and 30 nodes");
  std::vector<float> broken = numbered(2, 8);
  broken[11] = std::numeric_limits<float>::quiet_NaN();
  says(refused({1, 2}, broken), "row 1, column 3 is nan");
  says(refused({1, 2}, numbered(2, 8), 8, {"dataset.follow=true"}), "followed");
  const Error none =
      expect_error([&] { (void)OpenParts(dir, kTask, {set_vectors(dir / "none.safetensors")}); });
  CHECK(none.place().file == (dir / "none.safetensors").string());
}
