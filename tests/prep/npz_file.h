// Archives of NumPy arrays, made without NumPy.
#pragma once

#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <zip.h>
#include <zipconf.h>

#include <string>
#include <utility>
#include <vector>

namespace sluice::test {

using Members = std::vector<std::pair<std::string, std::string>>;

/// The bytes of an archive. @param method ZIP_CM_STORE as numpy.savez, or ZIP_CM_DEFLATE
inline std::string npz(const Members& members, int method = ZIP_CM_STORE) {
  TempDir dir;
  const std::string path = (dir / "a.zip").string();
  int problem = 0;
  zip_t* const archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &problem);
  REQUIRE(archive != nullptr);
  for (const auto& [name, bytes] : members) {
    zip_source_t* const source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    const auto index = zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    REQUIRE(index >= 0);
    REQUIRE(zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), method, 6) == 0);
  }
  REQUIRE(zip_close(archive) == 0);
  return read_all(path);
}

}  // namespace sluice::test
