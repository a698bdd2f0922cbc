// A data file of a dataset and the checksums beside it, as the manifest means them.
#pragma once

#include "storage/format/checksum.h"
#include "storage/format/manifest.h"

#include <sluice/memory.h>

#include <filesystem>
#include <string>

namespace sluice {

/// The manifest's entry of `path`, after checking that the file is there with the size it should
/// have (else kData).
Result<FileEntry> find_file(const std::filesystem::path& root,
                            const Manifest& manifest,
                            const std::string& path);

/// Loads the file's checksums and checks that they are the ones the manifest means.
Result<ChecksumFile> load_checksums(const std::filesystem::path& root,
                                    const FileEntry& entry,
                                    MemoryLedger* ledger);

/// A kData error for a file that is not what the manifest means.
Error damaged_file(const std::filesystem::path& path, std::string what);

}  // namespace sluice
