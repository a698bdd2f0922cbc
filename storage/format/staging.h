// StagingDirectory: where a dataset is built before it exists. A hidden sibling of the target,
// locked while its owner lives; commit() renames it into place in one step, so that a kill at any
// instant leaves the old state or the new.
//
// Throws Error. Not thread-safe.
#pragma once

#include "storage/format/directory_lock.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

enum class Overwrite { kRefuse, kReplace };

class StagingDirectory {
 public:
  /// Creates the staging directory beside `target`, after sweeping what dead owners left there.
  /// Refuses (kUsage) a target that exists, unless told to replace it; then the target must be a
  /// dataset.
  StagingDirectory(const std::filesystem::path& target, Overwrite overwrite);
  StagingDirectory(const StagingDirectory&) = delete;
  StagingDirectory& operator=(const StagingDirectory&) = delete;
  /// Removes everything that was not committed.
  ~StagingDirectory();

  const std::filesystem::path& path() const noexcept { return path_; }
  /// What a killed run had left here and was removed.
  const std::vector<std::string>& swept() const noexcept { return swept_; }

  /// Makes the content durable and gives it the target's name. @pre every file in it is fsynced
  void commit();

 private:
  void create();
  void sweep_leftovers();
  void remove_quietly(const std::filesystem::path& path) noexcept;

  std::filesystem::path target_;
  std::filesystem::path path_;
  Overwrite overwrite_;
  std::optional<DirectoryLock> lock_;
  std::vector<std::string> swept_;
  bool committed_ = false;
};

}  // namespace sluice
