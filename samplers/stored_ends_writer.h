// StoredEndsWriter: writes a file that StoredEnds reads: rows of ends, as numpy.save would write
// them. It appears whole or not at all.
//
// Throws Error. Not thread-safe.
#pragma once

#include "core/hash.h"
#include "storage/io/atomic_file.h"

#include <cstdint>
#include <filesystem>
#include <span>

namespace sluice {

class StoredEndsWriter {
 public:
  /// The folder must be there.
  StoredEndsWriter(const std::filesystem::path& path, std::uint64_t rows, std::uint64_t columns);

  /// The next rows, one behind the other; kNoNode where one has fewer.
  void append(std::span<const std::uint64_t> nodes);
  /// Makes the file durable. @return the hash of its rows @pre all rows were appended
  std::uint64_t commit();
  /// Of the file, with what was appended so far.
  std::uint64_t bytes() const noexcept { return file_.size(); }

 private:
  AtomicFile file_;
  Hasher hash_;
};

}  // namespace sluice
