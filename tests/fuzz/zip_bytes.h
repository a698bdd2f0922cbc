// Zip archives in memory whose members are stored as they are.
#pragma once

#include <string>
#include <vector>

namespace sluice::fuzz {

struct ZipEntry {
  std::string name;
  std::string content;
};

std::string stored_zip(const std::vector<ZipEntry>& entries);

}  // namespace sluice::fuzz
