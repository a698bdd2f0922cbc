// StagingDirectory: where a dataset is built before it exists. A hidden sibling of the target,
// locked while its owner lives; commit() renames it into place in one step, so that a kill at any
// instant leaves the old state or the new.
//
// Throws Error. Not thread-safe.
#pragma once

#include "storage/io/directory_lock.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

enum class Overwrite { kRefuse, kReplace };

/// Going on where a killed run of the same work was.
struct Resume {
  /// What the work is: command, inputs, options. Kept beside the stages; empty: none are kept.
  std::string fingerprint;
  /// Whether to take over what a killed run of that fingerprint left, rather than to sweep it.
  bool wanted = false;
};

class StagingDirectory {
 public:
  /// Creates the staging directory beside `target`, after sweeping what dead owners left there.
  /// Refuses (kUsage) a target that exists, unless told to replace it; then the target must be a
  /// dataset.
  StagingDirectory(const std::filesystem::path& target, Overwrite overwrite, Resume resume = {});
  StagingDirectory(const StagingDirectory&) = delete;
  StagingDirectory& operator=(const StagingDirectory&) = delete;
  /// Removes everything that was not committed.
  ~StagingDirectory();

  const std::filesystem::path& path() const noexcept { return path_; }
  /// What a killed run had left here and was removed.
  const std::vector<std::string>& swept() const noexcept { return swept_; }

  /// Whether this is a killed run's directory.
  bool resumed() const noexcept { return resumed_; }
  /// Where notes of finished stages are kept until commit().
  std::filesystem::path notes() const { return path_ / ".stages"; }

  /// Makes the content durable and gives it the target's name. @pre every file in it is fsynced
  void commit();

 private:
  void create();
  void sweep_leftovers();
  bool take_over(const std::filesystem::path& leftover, DirectoryLock& lock);
  void begin_notes();
  void remove_quietly(const std::filesystem::path& path) noexcept;

  std::filesystem::path target_;
  std::filesystem::path path_;
  Overwrite overwrite_;
  std::optional<DirectoryLock> lock_;
  std::vector<std::string> swept_;
  Resume resume_;
  bool resumed_ = false;
  bool committed_ = false;
};

}  // namespace sluice
