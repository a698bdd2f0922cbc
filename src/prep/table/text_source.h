// TextSource: the bytes of a text file from front to back, whether it lies there plain or
// compressed with gzip or zstd. What it is, its first bytes say, not its name. Used by one thread.
#pragma once

#include <sluice/memory.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

class TextSource {
 public:
  TextSource() = default;
  TextSource(const TextSource&) = delete;
  TextSource& operator=(const TextSource&) = delete;
  virtual ~TextSource() = default;

  /// Opens a file. A compressed one is decompressed by a thread of its own, which runs ahead of
  /// read(). Throws Error(kData) for compressions that are not known.
  static std::unique_ptr<TextSource> open(const std::filesystem::path& path, MemoryLedger* ledger);

  /// Fills `out`; less than that only at the end and before a fault, which the next call throws:
  /// so what stands before the fault is read, however it is asked for.
  virtual std::size_t read(std::span<std::byte> out) = 0;
  /// Whether all was read. A call of read() that finds the end makes it true.
  virtual bool ended() const = 0;
  /// How much text there is, where that is known.
  virtual std::optional<std::uint64_t> bytes() const = 0;
};

/// Length of the byte-order mark at the front of a text. Throws Error(kData) where that is none of
/// UTF-8.
std::size_t check_encoding(std::string_view front, const std::string& file);

/// A file's extension in lower case; that of compression is passed over: ".csv" of "a.csv.gz".
std::string text_extension(const std::filesystem::path& path);

/// Whether a name ends like one of a compressed file.
bool is_compressed_name(const std::filesystem::path& path);

}  // namespace sluice
