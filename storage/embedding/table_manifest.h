// TableManifest: one generation of an embedding table, as a file that appears whole or not at all.
// A checkpoint container (storage/checkpoint/container.h): what the table is as JSON, the side and
// the page checksums of each group as tensors, all of it checksummed.
#pragma once

#include "storage/embedding/row_layout.h"

#include <sluice/array.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

inline constexpr std::uint8_t kMostSides = 8;
inline constexpr std::uint8_t kNoSide = 0xff;  ///< of a group that was never written
inline constexpr int kTableVersion = 1;

struct TableManifest {
  std::uint64_t generation = 0;
  RowLayout layout;
  std::string optimizer;
  std::string initial;  ///< InitialValues::description
  Array sides;          ///< u8 [groups]
  Array page_sums;      ///< u32 [pages]
};

std::filesystem::path manifest_path(const std::filesystem::path& folder, std::uint64_t generation);
std::filesystem::path side_path(const std::filesystem::path& folder, std::uint8_t side);

/// Ascending. None where there is no such folder.
std::vector<std::uint64_t> list_generations(const std::filesystem::path& folder);

/// Returns the bytes written. Throws kResource, kIo.
std::uint64_t write_manifest(const std::filesystem::path& folder, const TableManifest& manifest);

/// Throws kData where it is damaged, not there, or of another kind, kUsage where a newer Sluice has
/// written it.
TableManifest read_manifest(const std::filesystem::path& folder,
                            std::uint64_t generation,
                            MemoryLedger* ledger);

/// The newest generation of a folder, but for one, that can be read; 0: none.
std::uint64_t newest_readable(const std::filesystem::path& folder,
                              std::uint64_t but_for,
                              MemoryLedger* ledger);

}  // namespace sluice
