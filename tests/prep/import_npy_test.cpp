// The .npy reader: every dtype, both orders, all versions, and headers that lie.
#include "import_support.h"

#include <limits>

using namespace sluice;
using namespace sluice::test;

namespace {

struct NpyFile {
  TempDir dir;
  MemoryLedger ledger;
  ThreadArena arena{1};
  TableFormats formats = table_formats();

  std::unique_ptr<TableReader> open(std::string_view bytes) {
    return formats.open({dir.write("a.npy", bytes), &ledger, &arena}, "auto", {});
  }

  std::vector<double> reals(std::string_view bytes) {
    const auto reader = open(bytes);
    reader->select({{"values", ColumnType::kReal}});
    std::vector<double> all;
    for (TableChunk chunk; reader->next(chunk);) {
      all.insert(all.end(), chunk.columns[0].reals.begin(), chunk.columns[0].reals.end());
    }
    return all;
  }

  std::string fault(std::string_view bytes) {
    const Error error = expect_error([&] { open(bytes); });
    CHECK(error.code() == ErrorCode::kData);
    CHECK(error.place().file == (dir / "a.npy").string());
    CHECK_FALSE(error.hint().empty());
    return error.message();
  }
};

template <class T>
std::string npy_of(const std::string& descr, const std::vector<T>& values) {
  return npy(descr, fmt::format("({},)", values.size()), bytes_of_values(values));
}

}  // namespace

TEST_CASE("npy: every dtype reads as the numbers it holds") {
  NpyFile file;
  const std::vector<double> numbers{0, 1, 100};
  CHECK(file.reals(npy_of<float>("<f4", {0, 1, 100})) == numbers);
  CHECK(file.reals(npy_of<double>("<f8", {0, 1, 100})) == numbers);
  CHECK(file.reals(npy_of<std::uint8_t>("|u1", {0, 1, 100})) == numbers);
  CHECK(file.reals(npy_of<std::int8_t>("|i1", {0, -1, 100})) == std::vector<double>{0, -1, 100});
  CHECK(file.reals(npy_of<std::uint8_t>("|b1", {0, 1, 1})) == std::vector<double>{0, 1, 1});
  CHECK(file.reals(npy_of<std::int16_t>("<i2", {0, -1, 100})) == std::vector<double>{0, -1, 100});
  CHECK(file.reals(npy_of<std::uint16_t>("<u2", {0, 1, 65'535})) ==
        std::vector<double>{0, 1, 65'535});
  CHECK(file.reals(npy_of<std::int32_t>("<i4", {0, -1, 100})) == std::vector<double>{0, -1, 100});
  CHECK(file.reals(npy_of<std::int64_t>("<i8", {0, -1, 100})) == std::vector<double>{0, -1, 100});
  CHECK(file.reals(npy_of<std::uint32_t>("<u4", {0, 1, 4'000'000'000u})) ==
        std::vector<double>{0, 1, 4e9});
  CHECK(file.reals(npy_of<std::uint64_t>("<u8", {0, 1, 100})) == numbers);
  CHECK(
      file.reals(npy_of<std::uint16_t>("<f2", {0x0000, 0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00})) ==
      std::vector<double>{0, 1, -2, 0x1p-24, 65504, std::numeric_limits<double>::infinity()});
}

TEST_CASE("npy: Fortran order is turned, in one chunk or many") {
  NpyFile file;
  CHECK(file.reals(npy("<f4", "(2, 3)", bytes_of_values<float>({1, 4, 2, 5, 3, 6}), "True")) ==
        std::vector<double>{1, 2, 3, 4, 5, 6});
  constexpr std::size_t kRows = 700'000, kWidth = 3;
  std::vector<float> turned(kRows * kWidth);
  std::vector<double> expected(kRows * kWidth);
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t column = 0; column < kWidth; ++column) {
      expected[row * kWidth + column] = static_cast<double>(row * 2 + column);
      turned[column * kRows + row] = static_cast<float>(row * 2 + column);
    }
  }
  CHECK((file.reals(npy("<f4", "(700000, 3)", bytes_of_values(turned), "True")) == expected));
  CHECK(file.ledger.peak() < 20 * kMiB);
  CHECK(file.ledger.used() == 0);
}

TEST_CASE("npy: versions 2 and 3, keys in any order, no rows") {
  NpyFile file;
  const std::string header = "{\"shape\": (1,), 'fortran_order': False, 'descr': '<i4'}  \n";
  for (const char version : {'\x02', '\x03'}) {
    std::string bytes = "\x93NUMPY";
    bytes += {version, 0, static_cast<char>(header.size()), 0, 0, 0};
    CHECK(file.reals(bytes + header + std::string("\x2a\0\0\0", 4)) == std::vector<double>{42});
  }
  CHECK(file.reals(npy("<f4", "(0, 5)", "")).empty());
  CHECK(file.reals(npy("<f4", "(5, 0)", "")).empty());
}

TEST_CASE("npy: integers are never made of fractions and never wrap") {
  NpyFile file;
  const auto reader = file.open(npy_of<float>("<f4", {1}));
  const Error fraction = expect_error([&] { reader->select({{"values", ColumnType::kInteger}}); });
  CHECK(fraction.message() == "holds f32, where integers are asked");
  const auto large = file.open(npy_of<std::uint64_t>("<u8", {1, 1ull << 63}));
  large->select({{"values", ColumnType::kInteger}});
  TableChunk chunk;
  CHECK(expect_error([&] { large->next(chunk); }).message() ==
        "row 1: 9223372036854775808 is beyond a signed 64-bit integer");
}

TEST_CASE("npy: headers that lie") {
  NpyFile file;
  const std::string good = npy("<f4", "(2, 3)", std::string(24, 'x'));
  CHECK(file.fault("") == "is not an .npy file");
  CHECK(file.fault("PK\x03\x04") == "is not an .npy file");
  CHECK(file.fault(good.substr(0, 8)) == "ends within its header");
  CHECK(file.fault(good.substr(0, 11)) == "ends within its header");
  CHECK(file.fault(good.substr(0, 60)) == "ends within its header");
  CHECK(file.fault(std::string("\x93NUMPY\x04\x00\x10\x00", 10)) == "is of .npy version 4.0");
  CHECK(file.fault(std::string("\x93NUMPY\x02\x00\xff\xff\xff\x7f", 12)) ==
        "its header claims 2147483647 bytes");
  CHECK(file.fault(good.substr(0, good.size() - 1)) ==
        "the shape (2, 3) of '<f4' asks for 152 bytes, the file has 151");
  CHECK(file.fault(good + "x") == "the shape (2, 3) of '<f4' asks for 152 bytes, the file has 153");
  CHECK(file.fault(npy("<f4", "(99999999999999999, 99999999999999999)", "")) ==
        "the shape (99999999999999999, 99999999999999999) of '<f4' asks for far too many bytes, "
        "the file has 128");
  CHECK(file.fault(npy("<f4", "(9999999999999999999,)", "")) ==
        "the header is not a dictionary of descr, fortran_order and shape");
  CHECK(file.fault(npy(">f4", "(1,)", "xxxx")) == "is big-endian ('>f4')");
  CHECK(file.fault(npy("|O", "(1,)", "xxxx")) == "holds pickled Python objects");
  CHECK(file.fault(npy("<U10", "(1,)", "xxxx")) == "dtype '<U10' is not supported");
  CHECK(file.fault(npy("<i3", "(1,)", "abc")) == "dtype '<i3' is not supported");
  CHECK(file.fault(npy("<c8", "(1,)", "xxxxxxxx")) == "dtype '<c8' is not supported");
  CHECK(file.fault(npy("", "(1,)", "xx")) == "dtype '' is not supported");
  CHECK(file.fault(npy("<f4", "()", "xxxx")) == "has 0 dimensions");
  CHECK(file.fault(npy("<f4", "(1, 1, 1)", "xxxx")) == "has 3 dimensions");
  for (const char* shape : {"(-1,)", "(1", "1", "(1,,)", "(1 1)", "'a'", "(1,)}, {"}) {
    CAPTURE(shape);
    CHECK(file.fault(npy("<f4", shape, "xxxx")) ==
          "the header is not a dictionary of descr, fortran_order and shape");
  }
  CHECK(file.fault(npy("<f4', 'descr': '<f4", "(1,)", "xxxx")) ==
        "the header is not a dictionary of descr, fortran_order and shape");
  std::string structured = npy("<f4", "(1,)", "xxxxxxxx");
  structured.replace(structured.find("'<f4'"), 5, "[('a'");
  CHECK(file.fault(structured) == "has a structured dtype");
}
