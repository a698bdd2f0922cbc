#include "train/predictions.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace sluice;
using namespace sluice::test;

namespace {

template <class T>
Array array(Array::Shape shape, const std::vector<T>& values) {
  Array made = Array::make(dtype_of<T>, std::move(shape)).or_throw();
  std::copy(values.begin(), values.end(), made.as<T>().begin());
  return made;
}

std::vector<Array> nodes_of(const std::vector<std::uint64_t>& nodes) {
  return {array<std::uint64_t>({static_cast<std::int64_t>(nodes.size())}, nodes)};
}

// Users' ids "a,b", "say \"x\"" and "c".
ExternalIds text_ids() {
  const std::string all = "a,bsay \"x\"c";
  return {IdKind::kString,
          {},
          array<std::uint64_t>({4}, {0, 3, 10, 11}),
          array<std::uint8_t>({11}, {all.begin(), all.end()})};
}

const std::vector<std::uint8_t> kOneKnown{1}, kBothKnown{1, 1}, kFirstUnknown{0, 1};

// The records of an .npy file.
std::string records_of(const std::string& bytes) {
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, 4);
  return bytes.substr(12 + length);
}

template <class T>
T value_at(const std::string& bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

TEST_CASE("CSV predictions carry the users' ids, quoted where they must be") {
  const TempDir dir;
  const std::vector<ExternalIds> ids{text_ids()};
  const auto file =
      PredictionFile::create(dir / "x.csv", ids, {{{"id", 7}}, {"class"}, DType::kI64, 3});
  file->append(nodes_of({1, 0}), array<std::int64_t>({2, 1}, {5, 6}), kBothKnown);
  CHECK_FALSE(std::filesystem::exists(dir / "x.csv"));
  file->append(nodes_of({2}), array<std::int64_t>({1, 1}, {-7}), kOneKnown);
  file->commit();
  CHECK(read_all(dir / "x.csv") == "id,class\n\"say \"\"x\"\"\",5\n\"a,b\",6\nc,-7\n");
}

TEST_CASE("NumPy predictions are records of id and values") {
  const TempDir dir;
  const std::vector<ExternalIds> dense{{IdKind::kDense, {}, {}, {}}};
  const auto file = PredictionFile::create(
      dir / "x.npy", dense, {{{"id"}}, {"target_0", "target_1"}, DType::kF32, 2});
  file->append(nodes_of({9, 4}), array<float>({2, 2}, {0.5f, 1.5f, 2.5f, 3.5f}), kBothKnown);
  file->commit();
  const std::string bytes = read_all(dir / "x.npy");
  CHECK(bytes.compare(0, 8, std::string("\x93NUMPY\x02\x00", 8)) == 0);
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, 4);
  CHECK((12 + length) % 64 == 0);
  CHECK(bytes.substr(12, length)
            .find("{'descr': [('id', '<i8'), ('target_0', '<f4'), ('target_1', '<f4')], "
                  "'fortran_order': False, 'shape': (2,), }") == 0);
  REQUIRE(bytes.size() == 12 + length + 2 * 16);
  std::int64_t id = 0;
  float value = 0;
  std::memcpy(&id, bytes.data() + 12 + length + 16, 8);
  std::memcpy(&value, bytes.data() + 12 + length + 28, 4);
  CHECK(id == 4);
  CHECK(value == 3.5f);
}

TEST_CASE("a NumPy file says how many rows were written, where they are fewer than were thought") {
  const TempDir dir;
  const std::vector<ExternalIds> dense{{IdKind::kDense, {}, {}, {}}};
  const PredictionSchema schema{{{"id"}}, {"score"}, DType::kF32, 1'000'000};
  const auto file = PredictionFile::create(dir / "x.npy", dense, schema);
  file->append(nodes_of({9, 4}), array<float>({2, 1}, {0.5f, 1.5f}), kBothKnown);
  file->commit();
  const std::string bytes = read_all(dir / "x.npy");
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, 4);
  CHECK((12 + length) % 64 == 0);
  CHECK(bytes.find("'shape': (2,), }  ") != std::string::npos);
  CHECK(bytes.at(11 + length) == '\n');
  const std::string records = records_of(bytes);
  REQUIRE(records.size() == 2 * 12);
  CHECK(value_at<std::int64_t>(records, 12) == 4);
  CHECK(value_at<float>(records, 20) == 1.5f);
}

TEST_CASE("classes with names have both, number and name, in CSV and in NumPy") {
  const TempDir dir;
  const std::vector<ExternalIds> ids{text_ids()};
  // Names that are numbers are no class numbers: 10 is class 1, 7 class 0.
  PredictionSchema schema{{{"id", 7}}, {"class"}, DType::kI64, 2, {"7", "10", "a, \"b\""}};
  const std::vector<Array> nodes = nodes_of({0, 2});
  for (const char* name : {"x.csv", "x.npy"}) {
    const auto file = PredictionFile::create(dir / name, ids, schema);
    file->append(nodes, array<std::int64_t>({2, 1}, {1, 2}), kBothKnown);
    file->commit();
  }
  CHECK(read_all(dir / "x.csv") == "id,class,class_name\n\"a,b\",1,10\nc,2,\"a, \"\"b\"\"\"\n");
  const std::string npy = read_all(dir / "x.npy");
  CHECK(npy.find("[('id', '|S7'), ('class', '<i8'), ('class_name', '|S6')]") != std::string::npos);
  const std::string records = records_of(npy);
  REQUIRE(records.size() == 2 * (7 + 8 + 6));
  CHECK(value_at<std::int64_t>(records, 7) == 1);
  CHECK(records.substr(15, 6) == std::string("10\0\0\0\0", 6));
  CHECK(records.substr(21 + 15, 6) == "a, \"b\"");
}

TEST_CASE("names may stand in the place of the last column's numbers") {
  const TempDir dir;
  const std::vector<ExternalIds> dense{{IdKind::kDense, {}, {}, {}}};
  const PredictionSchema schema{
      {{"id"}}, {"score", "type"}, DType::kF32, 2, {"near", "far, off"}, ""};
  for (const char* name : {"x.csv", "x.npy"}) {
    const auto file = PredictionFile::create(dir / name, dense, schema);
    file->append(nodes_of({3, 4}), array<float>({2, 2}, {0.5f, 1, 2.5f, 0}), kBothKnown);
    file->commit();
  }
  CHECK(read_all(dir / "x.csv") == "id,score,type\n3,0.5,\"far, off\"\n4,2.5,near\n");
  const std::string npy = read_all(dir / "x.npy");
  CHECK(npy.find("[('id', '<i8'), ('score', '<f4'), ('type', '|S8')]") != std::string::npos);
  const std::string records = records_of(npy);
  REQUIRE(records.size() == 2 * (8 + 4 + 8));
  CHECK(value_at<float>(records, 8) == 0.5f);
  CHECK(records.substr(12, 8) == "far, off");
  CHECK(value_at<std::int64_t>(records, 20) == 4);
  CHECK(records.substr(32, 8) == std::string("near\0\0\0\0", 8));
}

TEST_CASE("columns may be called anything") {
  const TempDir dir;
  const std::vector<ExternalIds> dense{{IdKind::kDense, {}, {}, {}}};
  const PredictionSchema schema{{{"id"}}, {"class_it's, a\\b", "class_größe"}, DType::kI64, 1, {}};
  for (const char* name : {"x.csv", "x.npy"}) {
    const auto file = PredictionFile::create(dir / name, dense, schema);
    file->append(nodes_of({3}), array<std::int64_t>({1, 2}, {1, 0}), kOneKnown);
    file->commit();
  }
  CHECK(read_all(dir / "x.csv") == "id,\"class_it's, a\\b\",class_größe\n3,1,0\n");
  const std::string npy = read_all(dir / "x.npy");
  CHECK(npy[6] == 3);  // the header is UTF-8
  CHECK(npy.find(R"(('class_it\'s, a\\b', '<i8'), ('class_größe', '<i8'))") != std::string::npos);
}

TEST_CASE("a node without a prediction has empty fields, -1 or NaN, and no name") {
  const TempDir dir;
  const std::vector<ExternalIds> dense{{IdKind::kDense, {}, {}, {}}};
  const std::vector<Array> nodes = nodes_of({3, 4});
  const auto write = [&](const char* name, const PredictionSchema& schema, const Array& values) {
    const auto file = PredictionFile::create(dir / name, dense, schema);
    file->append(nodes, values, kFirstUnknown);
    file->commit();
    return read_all(dir / name);
  };
  const Array classes = array<std::int64_t>({2, 1}, {0, 1});
  const PredictionSchema named{{{"id"}}, {"class"}, DType::kI64, 2, {"x", "y"}};
  CHECK(write("c.csv", named, classes) == "id,class,class_name\n3,,\n4,1,y\n");
  const std::string records = records_of(write("c.npy", named, classes));
  CHECK(value_at<std::int64_t>(records, 8) == -1);
  CHECK(records.substr(16, 1) == std::string("\0", 1));
  CHECK(records.substr(17 + 16, 1) == "y");
  const Array targets = array<float>({2, 2}, {7, 8, 0.5f, 1.5f});
  const PredictionSchema two{{{"id"}}, {"target_0", "target_1"}, DType::kF32, 2, {}};
  CHECK(write("t.csv", two, targets) == "id,target_0,target_1\n3,,\n4,0.5,1.5\n");
  CHECK(std::isnan(value_at<float>(records_of(write("t.npy", two, targets)), 8)));
  // More digits than f32 has.
  const Array scores = array<double>({2, 1}, {7, -16777217});
  const PredictionSchema one{{{"id"}}, {"score"}, DType::kF64, 2, {}};
  CHECK(write("s.csv", one, scores) == "id,score\n3,\n4,-16777217\n");
  const std::string wide = write("s.npy", one, scores);
  CHECK(wide.find("('score', '<f8')") != std::string::npos);
  CHECK(std::isnan(value_at<double>(records_of(wide), 8)));
  CHECK(value_at<double>(records_of(wide), 24) == -16777217);
}

TEST_CASE("a row about two nodes has both ids, each of its own kind") {
  const TempDir dir;
  const std::vector<ExternalIds> ids{text_ids(), {IdKind::kDense, {}, {}, {}}};
  const PredictionSchema schema{{{"source", 7}, {"target"}}, {"probability"}, DType::kF32, 2, {}};
  std::vector<Array> nodes = nodes_of({2, 0});
  nodes.push_back(nodes_of({5, 6})[0]);
  for (const char* name : {"l.csv", "l.npy"}) {
    const auto file = PredictionFile::create(dir / name, ids, schema);
    file->append(nodes, array<float>({2, 1}, {0.5f, 0.25f}), kBothKnown);
    file->commit();
  }
  CHECK(read_all(dir / "l.csv") == "source,target,probability\nc,5,0.5\n\"a,b\",6,0.25\n");
  const std::string records = records_of(read_all(dir / "l.npy"));
  REQUIRE(records.size() == 2 * (7 + 8 + 4));
  CHECK(records.substr(0, 7) == std::string("c\0\0\0\0\0\0", 7));
  CHECK(value_at<std::int64_t>(records, 7) == 5);
  CHECK(value_at<float>(records, 19 + 15) == 0.25f);
}

TEST_CASE("other names are refused before anything runs") {
  const Error error = expect_error([] { PredictionFile::check_name("x.parquet"); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(std::string(error.what()) ==
        "x.parquet: predictions are written as .csv or .npy, and this name ends in neither");
}
