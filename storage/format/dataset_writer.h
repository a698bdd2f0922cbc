// DatasetWriter: builds one dataset directory, file by file, and publishes it whole. Throws Error.
// Not thread-safe.
#pragma once

#include "storage/format/data_file_writer.h"
#include "storage/format/manifest.h"
#include "storage/format/staging.h"

#include <sluice/memory.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace sluice {

class DatasetWriter {
 public:
  DatasetWriter(const std::filesystem::path& target,
                Overwrite overwrite,
                MemoryLedger* ledger,
                Resume resume = {});

  /// Runs a stage, which must change nothing but this writer's schema and files; or, in a resumed
  /// directory where the stage was finished, takes its outcome over. Stages come in one order.
  void stage(const std::string& name, const std::function<void()>& produce);
  /// Stages that were taken over.
  std::uint64_t stages_taken_over() const noexcept { return taken_over_; }

  /// The schema as far as it is known; complete before commit().
  GraphSchema& schema() noexcept { return manifest_.schema; }
  const StagingDirectory& staging() const noexcept { return staging_; }
  MemoryLedger* ledger() const noexcept { return ledger_; }

  /// A new data file at `path` below the dataset; give it back to `add` when all is appended. No
  /// file is there that was added, adopted or shared: else kInternal.
  std::unique_ptr<DataFileWriter> create(const std::string& path);
  void add(std::unique_ptr<DataFileWriter> file);

  /// A file that was added. @pre there is one
  const FileEntry& entry(const std::string& path) const { return manifest_.files.at(path); }

  /// A whole file from memory.
  template <class T>
  void write(const std::string& path, std::span<const T> values) {
    auto file = create(path);
    file->append_values(values);
    add(std::move(file));
  }

  /// Takes a file of another dataset as it is, with its checksums: by a hard link, or a copy where
  /// the file system has none. The bytes are not checked. Throws as create().
  void adopt(const std::filesystem::path& dataset, const FileEntry& entry);

  /// A file that was added, under a second path: one content on the disk, by a hard link where the
  /// file system has them.
  void share(const std::string& path, const std::string& as);

  /// Of the dataset to be; 1 unless told otherwise.
  void set_generation(std::uint64_t generation) { manifest_.generation = generation; }

  /// Bytes of data files written so far.
  std::uint64_t bytes() const noexcept { return bytes_; }

  /// Writes the manifest and renames the dataset into place.
  void commit(std::string created_by);

 private:
  MemoryLedger* ledger_;
  StagingDirectory staging_;
  Manifest manifest_;
  std::uint64_t bytes_ = 0;
  bool keeps_stages_ = false;
  std::uint64_t stages_ = 0;
  std::uint64_t taken_over_ = 0;
};

}  // namespace sluice
