#include "train/predictions.h"
#include "train/support.h"

#include <doctest/doctest.h>

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

// Users' ids "a,b", "say \"x\"" and "c".
ExternalIds text_ids() {
  const std::string all = "a,bsay \"x\"c";
  return {IdKind::kString,
          {},
          array<std::uint64_t>({4}, {0, 3, 10, 11}),
          array<std::uint8_t>({11}, {all.begin(), all.end()})};
}

}  // namespace

TEST_CASE("CSV predictions carry the users' ids, quoted where they must be") {
  const TempDir dir;
  const ExternalIds ids = text_ids();
  const auto file = PredictionFile::create(dir / "x.csv", ids, {{"class"}, DType::kI64, 3, 7});
  file->append(std::vector<std::uint64_t>{1, 0}, array<std::int64_t>({2, 1}, {5, 6}));
  CHECK_FALSE(std::filesystem::exists(dir / "x.csv"));
  file->append(std::vector<std::uint64_t>{2}, array<std::int64_t>({1, 1}, {-7}));
  file->commit();
  CHECK(read_all(dir / "x.csv") == "id,class\n\"say \"\"x\"\"\",5\n\"a,b\",6\nc,-7\n");
}

TEST_CASE("NumPy predictions are records of id and values") {
  const TempDir dir;
  const ExternalIds dense{IdKind::kDense, {}, {}, {}};
  const auto file =
      PredictionFile::create(dir / "x.npy", dense, {{"target_0", "target_1"}, DType::kF32, 2, 20});
  file->append(std::vector<std::uint64_t>{9, 4}, array<float>({2, 2}, {0.5f, 1.5f, 2.5f, 3.5f}));
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

TEST_CASE("other names are refused before anything runs") {
  const Error error = expect_error([] { PredictionFile::check_name("x.parquet"); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(std::string(error.what()) ==
        "x.parquet: predictions are written as .csv or .npy, and this name ends in neither");
}
