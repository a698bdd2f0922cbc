// Embeddings of nodes from files: each format, by ids of texts and in order, and what is refused.
#include "probe/embedding_file.h"
#include "probe/support.h"
#include "storage/checkpoint/safetensors.h"
#include "support/expect_error.h"
#include "support/npy_file.h"
#include "support/temp_dir.h"

#include <sluice/dataset.h>
#include <sluice/memory.h>
#include <sluice/nn/tensor_view.h>

#include <doctest/doctest.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::test;
using torch::Tensor;

namespace {

const std::vector<std::string> kNames{"ann", "b,o", "c"};

struct Fixture {
  Fixture() {
    NamedGraph{kNames, {{0, 1}}, {}, {}}.write(dir / "x");
    dataset.emplace(Dataset::open((dir / "x").string()));
  }
  Tensor read(const std::string& name, std::string_view bytes) const {
    return probe::read_embeddings(dir.write(name, bytes), *dataset, "n");
  }
  Error refused(const std::string& name, std::string_view bytes) const {
    return expect_error([&] { (void)read(name, bytes); });
  }

  TempDir dir;
  std::optional<Dataset> dataset;
};

// By node.
Tensor expected() {
  return torch::tensor({1.0f, -2.0f, 0.5f, 4.0f, 8.25f, 16.0f}).view({3, 2});
}

// The records of NumPy that `sluice-train embed` writes, in another order than the nodes'.
std::string records(const std::string& last_id = "c") {
  std::string header =
      "{'descr': [('id', '|S3'), ('e0', '<f4'), ('e1', '<f8')], 'fortran_order': False, "
      "'shape': (3,), }";
  header.append(63 - (12 + header.size()) % 64, ' ');
  header += '\n';
  const auto length = static_cast<std::uint32_t>(header.size());
  std::string file("\x93NUMPY\x02\x00", 8);
  file.append(reinterpret_cast<const char*>(&length), 4);
  file += header;
  const auto add = [&file](std::string id, float e0, double e1) {
    id.resize(3, '\0');
    file += id;
    file.append(reinterpret_cast<const char*>(&e0), sizeof e0);
    file.append(reinterpret_cast<const char*>(&e1), sizeof e1);
  };
  add(last_id, 8.25f, 16);
  add("ann", 1, -2);
  add("b,o", 0.5f, 4);
  return file;
}

// Ids of 100 letters each, and a value behind each of them.
constexpr std::size_t kLongIds = 4000, kIdLetters = 100;

std::string long_id(std::size_t row) {
  std::string id = std::to_string(row);
  id.resize(kIdLetters, 'x');
  return id;
}

std::string csv_of_long_ids() {
  std::string text = "id,e0\n";
  for (std::size_t row = 0; row < kLongIds; ++row) text += long_id(row) + ",1\n";
  return text;
}

std::string npy_of_long_ids() {
  std::string header =
      "{'descr': [('id', '|S100'), ('e0', '<f4')], 'fortran_order': False, 'shape': (4000,), }";
  header.append(63 - (12 + header.size()) % 64, ' ');
  header += '\n';
  const auto length = static_cast<std::uint32_t>(header.size());
  const float value = 1;
  std::string file("\x93NUMPY\x02\x00", 8);
  file.append(reinterpret_cast<const char*>(&length), 4);
  file += header;
  for (std::size_t row = 0; row < kLongIds; ++row) {
    file += long_id(row);
    file.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return file;
}

bool says(const Error& error, const std::string& text) {
  return error.message().find(text) != std::string::npos;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "CSV by quoted ids, and by the nodes' order with a header and without") {
  CHECK(read("a.csv", "id,e0,e1\nc,8.25,16\n\"b,o\",0.5,4\r\nann,1,-2\n").equal(expected()));
  CHECK(read("b.csv", "e0,e1\n1,-2\n0.5,4\n8.25,16\n").equal(expected()));
  CHECK(read("c.csv", "1,-2\n0.5,4\n8.25,1.6e1").equal(expected()));
}

TEST_CASE_FIXTURE(Fixture, "NumPy's arrays of each float, in both orders, and records with ids") {
  const std::vector<float> values{1, -2, 0.5f, 4, 8.25f, 16};
  const std::vector<double> wide(values.begin(), values.end());
  const std::vector<std::uint16_t> half{0x3c00, 0xc000, 0x3800, 0x4400, 0x4820, 0x4c00};
  const std::vector<float> turned{1, 0.5f, 8.25f, -2, 4, 16};
  CHECK(read("a.npy", npy("<f4", "(3, 2)", bytes_of_values(values))).equal(expected()));
  CHECK(read("b.npy", npy("<f8", "(3, 2)", bytes_of_values(wide))).equal(expected()));
  CHECK(read("c.npy", npy("<f2", "(3, 2)", bytes_of_values(half))).equal(expected()));
  CHECK(read("d.npy", npy("<f4", "(3, 2)", bytes_of_values(turned), "True")).equal(expected()));
  CHECK(read("e.npy", records()).equal(expected()));
}

TEST_CASE_FIXTURE(Fixture, "safetensors by ids of texts, and without ids") {
  const auto array = [](std::vector<std::int64_t> values) {
    return nn::as_array(torch::tensor(values, torch::kInt64));
  };
  const std::string text = "cannb,o";
  Array bytes = Array::make(DType::kU8, {7}).or_throw();
  std::memcpy(bytes.data(), text.data(), text.size());
  const Tensor rows = expected().index_select(0, torch::tensor({2, 0, 1}, torch::kInt64));
  const std::filesystem::path path = dir / "a.safetensors";
  (void)write_safetensors(
      path,
      {{}, {{"rows", nn::as_array(rows)}, {"ids", bytes}, {"ids.offsets", array({0, 1, 4, 7})}}});
  CHECK(probe::read_embeddings(path, *dataset, "n").equal(expected()));
  (void)write_safetensors(path, {{}, {{"rows", nn::as_array(expected())}}});
  CHECK(probe::read_embeddings(path, *dataset, "n").equal(expected()));
  (void)write_safetensors(path, {{}, {{"vectors", nn::as_array(expected())}}});
  const Error unnamed = expect_error([&] { (void)probe::read_embeddings(path, *dataset, "n"); });
  CHECK(unnamed.code() == ErrorCode::kData);
  CHECK(says(unnamed, "'rows'"));
}

TEST_CASE_FIXTURE(Fixture,
                  "rows that are not the nodes': how many, whose, twice, without a number") {
  CHECK(refused("a.parquet", "").code() == ErrorCode::kUsage);
  const Error none =
      expect_error([&] { (void)probe::read_embeddings(dir / "none.csv", *dataset, "n"); });
  CHECK(says(none, "no such file"));
  const Error few = refused("a.csv", "e0\n1\n2\n");
  CHECK(few.code() == ErrorCode::kData);
  CHECK(says(few, "2 rows, and 3 nodes of type 'n'"));
  const Error unknown = refused("b.csv", "id,e0\nann,1\nwho,2\nc,3\n");
  CHECK(says(unknown, "1 of its 3 ids are of no node, the first in row 1: 'who'"));
  CHECK(says(refused("a.npy", records("x")), "'x'"));
  CHECK(says(refused("c.csv", "id,e0\nann,1\nann,2\nc,3\n"), "'ann' stands in rows 0 and 1"));
  const Error word = refused("d.csv", "e0,e1\n1,2\n3,x\n5,6\n");
  CHECK(word.place().line == 3);
  CHECK(says(word, "'x' in column 2 is no number"));
  CHECK(refused("e.csv", "e0,e1\n1,2\n3\n5,6\n").place().line == 3);
  CHECK(refused("f.csv", "").code() == ErrorCode::kData);
  CHECK(says(refused("h.csv", "id,e0\n"), "0 rows, and 3 nodes"));
  CHECK(refused("g.csv", "id\nann\nc\n").code() == ErrorCode::kData);
}

TEST_CASE_FIXTURE(Fixture, "a column of ids that is not called id is no value") {
  for (const char* name : {"node_id", "ID", "Id", "node", "name", "index", "paper id", ""}) {
    CAPTURE(name);
    const Error error = refused("a.csv", std::string(name) + ",e0,e1\n7,1,2\n8,3,4\n9,5,6\n");
    CHECK(error.code() == ErrorCode::kData);
    CHECK(error.place().line == 1);
    CHECK(says(error, "read as a value"));
  }
  CHECK(read("b.csv", "grid,nodes_seen\n1,-2\n0.5,4\n8.25,16\n").equal(expected()));
}

TEST_CASE("a first column of each node's id is refused, whatever the file; other numbers are not") {
  TempDir dir;
  std::vector<std::string> names;
  for (int id = 0; id < 12; ++id) names.push_back(std::to_string(100 + id));
  NamedGraph{names, {{0, 1}}, {}, {}}.write(dir / "x");
  const Dataset dataset = Dataset::open((dir / "x").string());
  const auto rows_of = [](int first) {
    std::string csv;
    std::vector<float> values;
    for (int row = 0; row < 12; ++row) {
      const int id = first + row * 5 % 12;
      csv += std::to_string(id) + ",0.5\n";
      values.push_back(static_cast<float>(id));
      values.push_back(0.5f);
    }
    return std::pair(csv, npy("<f4", "(12, 2)", bytes_of_values(values)));
  };
  const auto [csv, array] = rows_of(100);
  for (const auto& [name, bytes] : {std::pair("a.csv", csv), std::pair("a.npy", array)}) {
    CAPTURE(name);
    const Error error =
        expect_error([&] { (void)probe::read_embeddings(dir.write(name, bytes), dataset, "n"); });
    CHECK(error.code() == ErrorCode::kData);
    CHECK(says(error, "each node's id once"));
  }
  const auto [other, other_array] = rows_of(101);
  CHECK(probe::read_embeddings(dir.write("b.csv", other), dataset, "n").size(1) == 2);
  CHECK(probe::read_embeddings(dir.write("b.npy", other_array), dataset, "n").size(1) == 2);
}

TEST_CASE_FIXTURE(Fixture, "damaged .npy files, and those of other values") {
  const std::vector<float> values{1, -2, 0.5f, 4, 8.25f, 16};
  const std::string sound = npy("<f4", "(3, 2)", bytes_of_values(values));
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{7}, std::size_t{30}, sound.size() - 1}) {
    CAPTURE(size);
    CHECK(refused("a.npy", std::string_view(sound).substr(0, size)).code() == ErrorCode::kData);
  }
  for (std::size_t at = 0; at < 80; ++at) {
    // Whatever one byte does to the header: rows, or an error of the user's.
    std::string broken = sound;
    broken[at] = '(';
    try {
      (void)read("b.npy", broken);
    } catch (const Error& error) {
      CAPTURE(at);
      CHECK(error.code() == ErrorCode::kData);
    }
  }
  CHECK(says(refused("c.npy", npy("<i8", "(3, 2)", std::string(48, '\0'))), "holds no floats"));
  CHECK(says(refused("d.npy", npy("<c8", "(3, 2)", std::string(48, '\0'))), "'<c8'"));
  CHECK(says(refused("e.npy", npy("<f4", "(6,)", bytes_of_values(values))), "1 dimensions"));
  CHECK(says(refused("f.npy", npy("<f4", "(4, 2)", bytes_of_values(values))), "as long as"));
  // Sizes whose product wraps around, or that leave nothing to read.
  CHECK(says(refused("g.npy", npy("<f4", "(9223372036854775808, 2)", "")), "as long as"));
  CHECK(says(refused("h.npy", npy("<f4", "(9223372036854775807, 0)", "")), "column of floats"));
  CHECK(says(refused("i.npy", npy("<f4", "(0, 9223372036854775808)", "")), "no rows"));
}

TEST_CASE_FIXTURE(Fixture, "ids are charged before they are kept, in every format") {
  (void)dir.write("a.csv", csv_of_long_ids());
  (void)dir.write("a.npy", npy_of_long_ids());
  std::vector<std::int64_t> ends{0};
  std::string letters;
  for (std::size_t row = 0; row < kLongIds; ++row) {
    letters += long_id(row);
    ends.push_back(static_cast<std::int64_t>(letters.size()));
  }
  Array bytes = Array::make(DType::kU8, {std::ssize(letters)}).or_throw();
  std::memcpy(bytes.data(), letters.data(), letters.size());
  const Tensor rows = torch::ones({static_cast<std::int64_t>(kLongIds), 1});
  (void)write_safetensors(dir / "a.safetensors",
                          {{},
                           {{"rows", nn::as_array(rows)},
                            {"ids", bytes},
                            {"ids.offsets", nn::as_array(torch::tensor(ends, torch::kInt64))}}});
  for (const char* name : {"a.csv", "a.npy", "a.safetensors"}) {
    CAPTURE(name);
    MemoryLedger small(256 << 10), large(8 << 20);  // the letters alone are 390 KiB
    const Error none = expect_error([&] { (void)probe::read_embedding_file(dir / name, &small); });
    CHECK(none.code() == ErrorCode::kResource);
    CHECK(small.used() == 0);
    {
      const probe::EmbeddingFile read = probe::read_embedding_file(dir / name, &large);
      const auto& texts = std::get<probe::EmbeddingFile::Texts>(read.ids);
      REQUIRE(texts.size() == kLongIds);
      CHECK(texts.back() == long_id(kLongIds - 1));
      CHECK(large.used() >= kLongIds * kIdLetters);
    }
    CHECK(large.used() == 0);
  }
}
