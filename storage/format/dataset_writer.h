// DatasetWriter: builds one dataset directory, file by file, and publishes it whole. Throws Error.
// Not thread-safe.
#pragma once

#include "storage/format/data_file_writer.h"
#include "storage/format/manifest.h"
#include "storage/format/staging.h"

#include <sluice/memory.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace sluice {

class DatasetWriter {
 public:
  DatasetWriter(const std::filesystem::path& target, Overwrite overwrite, MemoryLedger* ledger);

  /// The schema as far as it is known; complete before commit().
  GraphSchema& schema() noexcept { return manifest_.schema; }
  const StagingDirectory& staging() const noexcept { return staging_; }
  MemoryLedger* ledger() const noexcept { return ledger_; }

  /// A new data file at `path` below the dataset; give it back to `add` when all is appended.
  std::unique_ptr<DataFileWriter> create(const std::string& path);
  void add(std::unique_ptr<DataFileWriter> file);

  /// A whole file from memory.
  template <class T>
  void write(const std::string& path, std::span<const T> values) {
    auto file = create(path);
    file->append_values(values);
    add(std::move(file));
  }

  /// Bytes of data files written so far.
  std::uint64_t bytes() const noexcept { return bytes_; }

  /// Writes the manifest and renames the dataset into place.
  void commit(std::string created_by);

 private:
  MemoryLedger* ledger_;
  StagingDirectory staging_;
  Manifest manifest_;
  std::uint64_t bytes_ = 0;
};

}  // namespace sluice
