#include "storage/format/data_file.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

namespace sluice {

Error damaged_file(const std::filesystem::path& path, std::string what) {
  return Error(ErrorCode::kData,
               std::move(what),
               "the dataset is damaged: restore it from a copy or prepare it again",
               Place{path.string(), -1, -1, -1});
}

Result<FileEntry> find_file(const std::filesystem::path& root,
                            const Manifest& manifest,
                            const std::string& path) {
  const auto found = manifest.files.find(path);
  if (found == manifest.files.end())
    return damaged_file(root / path, "the manifest does not list this file");
  std::error_code problem;
  const std::uint64_t bytes = std::filesystem::file_size(root / path, problem);
  if (problem)
    return damaged_file(root / path, fmt::format("cannot look at the file: {}", problem.message()));
  if (bytes != found->second.bytes) {
    return damaged_file(
        root / path,
        fmt::format("the file has {} bytes, the manifest says {}", bytes, found->second.bytes));
  }
  return found->second;
}

Result<ChecksumFile> load_checksums(const std::filesystem::path& root,
                                    const FileEntry& entry,
                                    MemoryLedger* ledger) {
  const std::filesystem::path path = root / sum_path(entry.path);
  auto sums = ChecksumFile::load(path, ledger);
  if (!sums) return sums;
  if (sums.value().data_bytes != entry.bytes || sums.value().digest() != entry.digest) {
    return damaged_file(path, "the checksum file is not the one the manifest means");
  }
  return sums;
}

}  // namespace sluice
