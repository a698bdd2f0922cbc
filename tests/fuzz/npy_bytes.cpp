#include "fuzz/npy_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace sluice::fuzz {
namespace {

// As many rows as the bytes make, so that the size is right.
std::string sound_npy(Input& input) {
  constexpr std::string_view kDescrs[] = {
      "<f2", "<f4", "<f8", "|u1", "|i1", "|b1", "<i4", "<i8", "<u4", "<u8"};
  constexpr std::size_t kBytes[] = {2, 4, 8, 1, 1, 1, 4, 8, 4, 8};
  const unsigned dtype = input.choose(10);
  const std::size_t width = input.choose(5);  // 0: of one dimension
  const bool fortran = input.choose(2) == 1;
  const std::size_t row_bytes = kBytes[dtype] * std::max<std::size_t>(width, 1);
  const std::string_view data = input.rest();
  const std::size_t rows = data.size() / row_bytes;
  const std::string shape =
      width == 0 ? fmt::format("({},)", rows) : fmt::format("({}, {})", rows, width);
  const std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}",
                                         kDescrs[dtype],
                                         fortran ? "True" : "False",
                                         shape);
  return npy_file(header, data.substr(0, rows * row_bytes));
}

}  // namespace

std::string npy_file(std::string_view header, std::string_view data) {
  const auto length = static_cast<unsigned>(std::min<std::size_t>(header.size() + 1, 0xffff));
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(length & 0xff);
  file += static_cast<char>(length >> 8);
  file += header;
  file += '\n';
  file += data;
  return file;
}

std::string npy_file(std::string_view descr, std::string_view shape, std::string_view data) {
  return npy_file(
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr, shape), data);
}

std::string choose_npy(Input& input) {
  const unsigned choice = input.choose(3);
  if (choice == 0) return std::string(input.rest());
  if (choice == 2) return sound_npy(input);
  const std::string_view text = input.rest();
  const std::size_t end = std::min(text.find('\n'), text.size());
  return npy_file(text.substr(0, end), text.substr(std::min(end + 1, text.size())));
}

}  // namespace sluice::fuzz
