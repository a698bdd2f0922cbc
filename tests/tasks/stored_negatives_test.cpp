// Stored negatives as NumPy writes them, and what is no such file.
#include "tasks/stored_negatives.h"

#include "support/expect_error.h"
#include "support/temp_dir.h"

#include <sluice/no_node.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

// What numpy.save writes of an array of int64 with two dimensions.
std::string npy_of(const std::vector<std::int64_t>& values,
                   const std::string& shape,
                   const std::string& type = "<i8") {
  std::string head = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  while ((10 + head.size() + 1) % 64 != 0) head += ' ';
  head += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(head.size() & 0xFF);
  text += static_cast<char>(head.size() >> 8);
  text += head;
  const std::size_t begin = text.size();
  text.resize(begin + values.size() * sizeof(std::int64_t));
  std::memcpy(text.data() + begin, values.data(), values.size() * sizeof(std::int64_t));
  return text;
}

Array read_valid(const TempDir& dir, std::uint64_t events) {
  return tasks::read_stored_negatives(dir.path().string(), Part::kValid, events, 10, nullptr);
}

// Two events, by their destinations.
ListedLinks events_to(std::uint64_t first, std::uint64_t second) {
  const auto column = [](DType dtype) { return Array::make(dtype, {2}).or_throw(); };
  LinkArrays links{column(DType::kU64), column(DType::kU64), column(DType::kU64), {}, {}};
  std::ranges::fill(links.sources.as<std::uint64_t>(), 0u);
  std::ranges::fill(links.ids.as<std::uint64_t>(), 0u);
  links.targets.as<std::uint64_t>()[0] = first;
  links.targets.as<std::uint64_t>()[1] = second;
  return ListedLinks(std::move(links));
}

}  // namespace

TEST_CASE("stored negatives are rows of destinations, -1 where there is none") {
  const TempDir dir;
  dir.write("valid.npy", npy_of({3, 9, 0, -1, 5, 5}, "(3, 2)"));
  const Array read = read_valid(dir, 3);
  REQUIRE(read.shape() == Array::Shape{3, 2});
  const auto nodes = read.as<std::uint64_t>();
  CHECK(std::vector<std::uint64_t>(nodes.begin(), nodes.end()) ==
        std::vector<std::uint64_t>{3, 9, 0, kNoNode, 5, 5});
}

TEST_CASE("what is no list of negatives is refused, and said why") {
  const TempDir dir;
  const std::string whole = npy_of({3, 9, 0, 1}, "(2, 2)");
  struct Bad {
    std::string text, words;
  };
  const std::vector<Bad> all{{"src,dst\n1,2\n", "no .npy file"},
                             {whole.substr(0, 40), "cut off"},
                             {whole.substr(0, whole.size() - 1), "as long as"},
                             {whole + 'x', "as long as"},
                             {npy_of({3, 9, 0, 1}, "(4,)"), "two dimensions"},
                             {npy_of({3, 9, 0, 1}, "(2, 2)", "<f8"), "int64"},
                             {npy_of({3, 9, 0, 1}, "(2, 1000000)"), "as long as"},
                             {npy_of({3, 9}, "(1, 2)"), "1 rows, and the part 2 events"},
                             {npy_of({3, 9, 10, 1}, "(2, 2)"), "row 1, column 0: 10"}};
  for (const Bad& bad : all) {
    CAPTURE(bad.words);
    dir.write("valid.npy", bad.text);
    const Error error = expect_error([&] { (void)read_valid(dir, 2); });
    CHECK(error.code() == ErrorCode::kData);
    CHECK(error.message().find(bad.words) != std::string::npos);
  }
  dir.write("valid.npy", npy_of({3, 9, 0, -1}, "(2, 2)"));
  const auto check = [&](std::uint64_t first, std::uint64_t second) {
    tasks::check_beside(
        read_valid(dir, 2), dir.path().string(), Part::kValid, events_to(first, second));
  };
  check(9999, 9);
  const Error own = expect_error([&] { check(2, 0); });
  CHECK(own.code() == ErrorCode::kData);
  CHECK(own.message().find("row 1, column 0: 0") != std::string::npos);
  const TempDir none;
  CHECK(expect_error([&] { (void)read_valid(none, 2); }).code() == ErrorCode::kIo);
}
