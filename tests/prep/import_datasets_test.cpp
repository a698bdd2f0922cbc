// The real data sets, each imported by its ready config and compared with its raw files as a small
// parser of the test's own reads them. Skipped where they are not there.
#include "round_trip.h"

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <tuple>

using namespace sluice;
using namespace sluice::test;

namespace {

std::filesystem::path folder_of(const char* variable, const char* below_source) {
  if (const char* set = std::getenv(variable)) return set;
  const char* source = std::getenv("SLUICE_SOURCE");
  return std::filesystem::path(source != nullptr ? source : ".") / below_source;
}

/// A data set's folder, or nothing, said.
std::optional<std::filesystem::path> data(const std::string& name) {
  std::filesystem::path folder = folder_of("SLUICE_DATA", "../shared/data") / name;
  if (std::filesystem::exists(folder)) return folder;
  MESSAGE("skipped: no ", name, " at ", folder.string(), "; set SLUICE_DATA");
  return std::nullopt;
}

std::string config(const std::string& name) {
  const char* source = std::getenv("SLUICE_SOURCE");
  return read_all(std::filesystem::path(source != nullptr ? source : ".") / "configs" /
                  (name + "-graph.toml"));
}

/// Lines of fields by white space.
std::vector<CsvRow> words(const std::filesystem::path& path) {
  std::istringstream lines(read_all(path));
  std::vector<CsvRow> rows;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    rows.emplace_back();
    for (std::string field; fields >> field;) rows.back().push_back(field);
  }
  return rows;
}

struct Imported {
  TempDir dir;
  Datasets datasets{dir};
  std::filesystem::path path;
  Content content;

  /// @param only the tables that are looked at; empty: all
  Imported(const std::string& name,
           const std::filesystem::path& raw,
           const std::set<std::string>& only = {})
      : path(datasets.import(config(name), raw)), content(datasets.content(path, only)) {}
};

/// The elements of a .npy file of version 1, whose header's length is the u16 at byte 8.
template <class T>
std::vector<T> npy_elements(const std::filesystem::path& path) {
  const std::string file = read_all(path);
  std::uint16_t header = 0;
  std::memcpy(&header, file.data() + 8, sizeof header);
  const std::size_t at = 10 + std::size_t{header};
  std::vector<T> values((file.size() - at) / sizeof(T));
  std::memcpy(values.data(), file.data() + at, values.size() * sizeof(T));
  return values;
}

/// A csr matrix of u16 columns with all its zeros. @tparam T of its values
template <class T>
std::vector<float> dense_rows(const std::filesystem::path& stem, std::size_t columns) {
  const auto part = [&](const char* name) { return stem.string() + "_" + name + ".npy"; };
  const auto pointers = npy_elements<std::int64_t>(part("indptr"));
  const auto indices = npy_elements<std::uint16_t>(part("indices"));
  const auto values = npy_elements<T>(part("values"));
  std::vector<float> rows((pointers.size() - 1) * columns, 0.0f);
  for (std::size_t row = 0; row + 1 < pointers.size(); ++row)
    for (auto e = static_cast<std::size_t>(pointers[row]);
         e < static_cast<std::size_t>(pointers[row + 1]);
         ++e)
      rows[row * columns + indices[e]] = static_cast<float>(values[e]);
  return rows;
}

/// The features of a type, stored sparse as its schema says.
std::vector<float> sparse_features(const std::filesystem::path& path, const NodeTypeSchema& type) {
  const FeatureSchema& table = type.features.at(0);
  return stored_sparse_rows(path, type.name, type.count, table.dim, table.entries);
}

}  // namespace

TEST_CASE("data sets: ACM") {
  const auto raw = data("acm");
  if (!raw) return;
  // Without the nodes, whose 21 million features nothing here is compared with.
  const Imported acm("acm",
                     *raw,
                     {"paper__written-by__author",
                      "author__writes__paper",
                      "paper__about__subject",
                      "subject__of__paper"});
  const Dataset dataset = Dataset::open(acm.path);
  CHECK(dataset.schema().node_type("paper")->count == 4'019);
  CHECK(dataset.schema().node_type("author")->count == 7'167);
  CHECK(dataset.schema().node_type("subject")->count == 60);
  CHECK(dataset.schema().node_type("author")->features.at(0).dim == 1'902);
  CHECK(dataset.schema().node_type("paper")->labels->width == 3);
  CHECK(dataset.split("20").train.size(0) == 60);
  for (const auto& [file, there, back] :
       {std::tuple{"paper__author.csv", "paper__written-by__author", "author__writes__paper"},
        {"paper__subject.csv", "paper__about__subject", "subject__of__paper"}}) {
    std::vector<CsvRow> rows = parse_csv(read_all(*raw / file));
    rows[0] = {"source", "target"};
    CHECK((acm.content.at(there) == sorted_rows(rows)));
    for (std::size_t i = 1; i < rows.size(); ++i) std::swap(rows[i][0], rows[i][1]);
    CHECK((acm.content.at(back) == sorted_rows(rows)));
  }
}

TEST_CASE("data sets: HGB's IMDB keeps its sparse features, and movies their genres") {
  const auto raw = data("hgb_imdb");
  if (!raw) return;
  const TempDir dir;
  Datasets datasets{dir};
  const auto path = datasets.import(config("hgb-imdb"), *raw);
  const Dataset dataset = Dataset::open(path);
  const GraphSchema& schema = dataset.schema();
  CHECK(schema.total_nodes() == 21'420);
  CHECK(schema.total_edges() == 86'642);  // each both ways
  CHECK(schema.node_type("keyword")->features.empty());
  for (const auto& [type, entries] :
       {std::pair{"movie", 39u}, {"director", 147u}, {"actor", 285u}}) {
    CAPTURE(type);
    const NodeTypeSchema& node = *schema.node_type(type);
    REQUIRE(node.features.at(0).entries == entries);
    CHECK(sparse_features(path, node) ==
          dense_rows<float>(*raw / (std::string(type) + "_features"), node.features[0].dim));
  }
  CHECK(schema.node_type("movie")->labels->kind == LabelKind::kMultiLabel);
  CHECK(schema.node_type("movie")->labels->width == 5);
  std::uint64_t labels = 0;
  const Array bits = dataset.labels("movie");
  for (const std::uint8_t byte : bits.as<std::uint8_t>())
    for (int bit = 0; bit < 8; ++bit) labels += byte >> bit & 1u;
  CHECK(labels == 7'963);
  const Split split = dataset.split("default");
  CHECK(split.train.size(0) == 1'097);
  CHECK(split.valid.size(0) == 274);
  CHECK(split.test.size(0) == 3'202);
}

TEST_CASE("data sets: HGB's ACM and HeCo's Freebase, types with and without features") {
  if (const auto raw = data("hgb_acm")) {
    const TempDir dir;
    Datasets datasets{dir};
    const auto path = datasets.import(config("hgb-acm"), *raw);
    const Dataset dataset = Dataset::open(path);
    const GraphSchema& schema = dataset.schema();
    CHECK(schema.total_nodes() == 3'025 + 5'959 + 56 + 1'902);
    CHECK(schema.total_edges() == 547'872);
    const NodeTypeSchema& paper = *schema.node_type("paper");
    REQUIRE(paper.features.at(0).entries == 196);
    CHECK(sparse_features(path, paper) == dense_rows<std::uint8_t>(*raw / "paper_features", 1'902));
    // The fullest subject has all columns but a few.
    CHECK(schema.node_type("subject")->features.at(0).entries == 0);
    CHECK(paper.labels->width == 3);
    CHECK(dataset.split("default").train.size(0) == 726);
    CHECK(dataset.split("default").valid.size(0) == 181);
    CHECK(dataset.split("default").test.size(0) == 2'118);
  }
  if (const auto raw = data("heco_freebase")) {
    const TempDir dir;
    Datasets datasets{dir};
    const Dataset dataset = Dataset::open(datasets.import(config("heco-freebase"), *raw));
    CHECK(dataset.schema().total_nodes() == 43'854);
    CHECK(dataset.schema().total_edges() == 2 * (65'341 + 3'762 + 6'414));
    for (const NodeTypeSchema& node : dataset.schema().nodes) CHECK(node.features.empty());
    for (const auto& [name, train] : {std::pair{"20", 60}, {"40", 120}, {"60", 180}}) {
      CHECK(dataset.split(name).train.size(0) == train);
      CHECK(dataset.split(name).valid.size(0) == 1'000);
      CHECK(dataset.split(name).test.size(0) == 1'000);
    }
  }
}

TEST_CASE("data sets: Amazon") {
  const auto raw = data("amazon");
  if (!raw) return;
  const Imported amazon("amazon", *raw);
  std::map<std::string, std::vector<CsvRow>> expected;
  std::set<std::string> ids;
  for (const CsvRow& row : words(*raw / "train.txt")) {
    auto& rows = expected["product__with_" + row.at(0) + "__product"];
    rows.push_back({row.at(1), row.at(2)});
    if (row[1] != row[2]) rows.push_back({row[2], row[1]});
    ids.insert({row[1], row[2]});
  }
  REQUIRE(expected.size() == 2);
  for (auto& [name, rows] : expected) {
    rows.insert(rows.begin(), {"source", "target"});
    CHECK((amazon.content.at(name) == sorted_rows(rows)));
  }
  const Dataset dataset = Dataset::open(amazon.path);
  const EdgeSplit split = dataset.edge_split("default");
  const ExternalIds names = dataset.ids("product");
  for (const auto& [file, part] :
       {std::pair{"valid.txt", &split.valid}, {"test.txt", &split.test}}) {
    const std::vector<CsvRow> rows = words(*raw / file);
    REQUIRE(static_cast<std::size_t>(part->size(0)) == rows.size());
    const auto stored = part->as<std::uint64_t>();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto at = stored.subspan(i * 5, 5);
      const RelationSchema& relation = dataset.schema().relations.at(at[0]);
      const CsvRow row{
          relation.name.substr(5), names.text(at[2]), names.text(at[3]), std::to_string(at[4])};
      if (row != rows[i]) FAIL_CHECK("row ", i, " of ", file);
      ids.insert({rows[i][1], rows[i][2]});
    }
  }
  CHECK(dataset.schema().nodes.at(0).count == ids.size());
}

TEST_CASE("data sets: WN18RR") {
  const auto raw = data("wn18rr");
  if (!raw) return;
  const Imported wordnet("wn18rr", *raw);
  const Dataset dataset = Dataset::open(wordnet.path);
  CHECK(dataset.schema().nodes.at(0).count == 40'943);
  CHECK(dataset.schema().relations.size() == 11);
  std::map<std::string, std::vector<CsvRow>> expected;
  for (const CsvRow& row : words(*raw / "train.txt"))
    expected[row.at(1)].push_back({row.at(0), row.at(2)});
  for (const RelationSchema& relation : dataset.schema().relations) {
    auto& rows = expected.at(relation.title.empty() ? relation.name : relation.title);
    rows.insert(rows.begin(), {"source", "target"});
    CHECK((wordnet.content.at(relation.key()) == sorted_rows(rows)));
  }
  const EdgeSplit split = dataset.edge_split("default");
  const ExternalIds names = dataset.ids("entity");
  const std::vector<CsvRow> rows = words(*raw / "test.txt");
  REQUIRE(static_cast<std::size_t>(split.test.size(0)) == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto at = split.test.as<std::uint64_t>().subspan(i * 5, 5);
    const RelationSchema& relation = dataset.schema().relations.at(at[0]);
    CHECK((CsvRow{names.text(at[2]), relation.title, names.text(at[3])} == rows[i]));
  }
}

TEST_CASE("data sets: UCI") {
  const auto raw = data("uci");
  if (!raw) return;
  const Imported uci("uci", *raw);
  std::vector<CsvRow> rows = parse_csv(read_all(*raw / "uci.csv"));
  rows[0] = {"source", "target", "time", "weight"};
  std::vector<CsvRow> stored = uci.content.at("student__writes__student");
  CHECK((stored == sorted_rows(rows)));
  CHECK(uci.content.at("student").size() == 1'900);
  CHECK(uci.content.at("student")[1][0] == "1");
  const EdgeSplit split = Dataset::open(uci.path).edge_split("default");
  CHECK(split.train.size(0) + split.valid.size(0) + split.test.size(0) == 59'835);
}

TEST_CASE("data sets: MUTAG and IMDB-BINARY") {
  for (const auto& [name, file, graphs] :
       {std::tuple{"mutag", "MUTAG.txt", 188}, {"imdbbinary", "IMDBBINARY.txt", 1'000}}) {
    const auto raw = data(name);
    if (!raw) continue;
    const Imported all(name, *raw);
    const std::vector<CsvRow> lines = words(*raw / file);
    std::vector<CsvRow> edges{{"source", "target"}}, nodes{{"id", "label", "graph"}};
    std::vector<CsvRow> labels{{"graph", "nodes", "label"}};
    std::size_t at = 1, first = 0;
    for (int graph = 0; graph < graphs; ++graph) {
      const std::size_t count = std::stoul(lines.at(at).at(0));
      labels.push_back({std::to_string(graph), lines[at][0], lines[at].at(1)});
      for (std::size_t i = 0; i < count; ++i) {
        const CsvRow& line = lines.at(at + 1 + i);
        nodes.push_back({std::to_string(first + i), line.at(0), std::to_string(graph)});
        for (std::size_t n = 0; n < std::stoul(line.at(1)); ++n)
          edges.push_back(
              {std::to_string(first + i), std::to_string(first + std::stoul(line.at(2 + n)))});
      }
      at += count + 1;
      first += count;
    }
    CHECK((all.content.at("node__edge__node") == sorted_rows(edges)));
    CHECK((all.content.at("node") == sorted_rows(nodes)));
    CHECK((all.content.at("graphs") == sorted_rows(labels)));
  }
}
