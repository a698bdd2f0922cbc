// Files as numpy.save writes them.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::test {

/// The bytes of an .npy file of version 1. @param shape as Python writes it: "(3, 2)"
inline std::string npy(const std::string& descr,
                       const std::string& shape,
                       std::string_view data,
                       const char* fortran = "False") {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr, fortran, shape);
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string file = "\x93NUMPY";
  file += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return file + header + std::string(data);
}

template <class T>
std::string bytes_of_values(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Of int64, `columns` a row.
inline std::string npy_table(const std::vector<std::int64_t>& values, std::size_t columns) {
  return npy(
      "<i8", fmt::format("({}, {})", values.size() / columns, columns), bytes_of_values(values));
}

}  // namespace sluice::test
