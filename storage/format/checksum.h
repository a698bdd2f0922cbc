// The `.sum` file beside each data file: XXH3-32 of every 4 KiB page (checked as pages are read)
// and XXH3-64 of every MiB (checked by `verify`), closed by a checksum of its own. Layout:
// FORMAT.md, "Checksum files".
#pragma once

#include <sluice/memory.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace sluice {

struct ChecksumFile {
  std::uint64_t data_bytes = 0;           ///< size of the data file, a whole number of pages
  std::vector<std::uint32_t> page_sums;   ///< one a page
  std::vector<std::uint64_t> block_sums;  ///< one a MiB; the last block may be shorter
  Charge charge;                          ///< the sums' memory, when loaded under a ledger

  /// XXH3-64 of the block sums: what the manifest records for the data file.
  std::uint64_t digest() const;

  /// Adds the sums of the next bytes. @pre all calls but the last pass whole blocks, the last whole
  /// pages.
  void append(std::span<const std::byte> bytes);

  std::vector<std::byte> serialize() const;

  /// Reads and checks a `.sum` file; kData errors name it. Charged to `ledger` as "page checksums".
  static Result<ChecksumFile> load(const std::filesystem::path& path, MemoryLedger* ledger);
};

}  // namespace sluice
