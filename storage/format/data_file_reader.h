// Reading data files of a dataset back whole, checked page by page.
#pragma once

#include "storage/format/file_cursor.h"
#include "storage/format/manifest.h"

#include <sluice/array.h>
#include <sluice/dataset.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

/// Passes the file through `take` in order, in pieces of a MiB, each verified before it is passed
/// (unless off).
Result<void> scan_file(const std::filesystem::path& root,
                       const FileEntry& entry,
                       const FileReading& how,
                       MemoryLedger* ledger,
                       const std::function<Result<void>(std::uint64_t offset,
                                                        std::span<const std::byte> bytes)>& take);

/// Fills `out` with the file's first bytes. A file that is shorter is a kData error.
/// @param ahead as FileReading::ahead
Result<void> fill_from_file(const std::filesystem::path& root,
                            const Manifest& manifest,
                            const std::string& path,
                            std::span<std::byte> out,
                            const DatasetOptions& options,
                            std::optional<IoChoice> ahead = std::nullopt);

/// The same as a new array, charged as `charge_name`.
Result<Array> load_array(const std::filesystem::path& root,
                         const Manifest& manifest,
                         const std::string& path,
                         DType dtype,
                         Array::Shape shape,
                         const DatasetOptions& options,
                         std::string_view charge_name,
                         std::optional<IoChoice> ahead = std::nullopt);

}  // namespace sluice
