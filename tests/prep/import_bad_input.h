// The shape of a row of the bad-input tables, and what every row must do.
#pragma once

#include "import_support.h"

#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

struct Fault {
  std::string name;
  std::vector<std::pair<std::string, std::string>> files;
  std::string toml;
  std::string expected;
};

inline const std::string kEdges = "[[edges]]\nfile = 'e.csv'\n";
inline const std::pair<std::string, std::string> kGoodEdges{"e.csv", "src,dst\n0,1\n1,2\n"};

inline void check_all(const std::vector<Fault>& faults) {
  for (const Fault& fault : faults) {
    CAPTURE(fault.name);
    ImportFolder folder;
    for (const auto& [name, text] : fault.files) folder.write(name, text);
    const Error error = expect_error([&] { folder.run(fault.toml); });
    CHECK(as_text(error, folder) == fault.expected);
    CHECK(folder.leftovers().empty());
  }
}

inline Fault edges(const char* name,
                   const std::string& text,
                   const std::string& expected,
                   const std::string& keys = "") {
  return {name, {{"e.csv", text}}, kEdges + keys, expected};
}

inline Fault nodes(const char* name,
                   const std::string& file,
                   const std::string& content,
                   const std::string& keys,
                   const std::string& expected) {
  return {name, {kGoodEdges, {file, content}}, "[[nodes]]\n" + keys + "\n" + kEdges, expected};
}

inline std::string floats(float value, std::size_t rows = 3, std::size_t dim = 2) {
  std::vector<float> values(rows * dim, 1.0f);
  values[3] = value;
  return npy_rows(rows, dim, values);
}

}  // namespace sluice::test
