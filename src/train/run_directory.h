// RunDirectory: everything a run leaves behind, in one folder that is locked while a program works
// on it.
//
//   config.resolved.toml   the config with every key, as the run uses it
//   metrics.jsonl          one line an epoch
//   checkpoints/last.ckpt  where the run stands; checkpoints/best.ckpt: the best epoch's weights
//   weights.safetensors    the weights that the run was tested with, for other programs
//   log.txt  report.json   what was said; what `--json` prints
//
// Throws Error. Not thread-safe.
#pragma once

#include "storage/io/directory_lock.h"
#include "train/checkpoint.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

class RunDirectory {
 public:
  enum class Mode {
    kNew,      ///< refuses a folder that holds a run
    kReplace,  ///< removes the run that is there
    kGoOn      ///< needs a run that is there
  };

  /// Refuses to write `out` over what a run in `path` keeps: its weights, its checkpoints and their
  /// rows. kUsage.
  static void check_output(const std::filesystem::path& path, const std::filesystem::path& out);
  /// What kNew and kGoOn refuse, without touching anything: kUsage.
  static void check(const std::filesystem::path& path, Mode mode);

  /// Creates and locks the folder. A lock that is held is a kUsage error.
  RunDirectory(std::filesystem::path path, Mode mode);
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  std::filesystem::path config_path() const { return path_ / "config.resolved.toml"; }
  std::filesystem::path log_path() const { return path_ / "log.txt"; }
  std::filesystem::path weights_path() const { return path_ / "weights.safetensors"; }
  std::filesystem::path checkpoint_path(CheckpointKind kind) const;
  bool has_checkpoint(CheckpointKind kind) const;

  void write_config(std::string_view text);
  void write_report(std::string_view json);
  /// Appends a line durably.
  void append_metrics(const std::string& line);
  /// Cuts the metrics back to their first `lines` lines; returns how many there are then.
  std::uint64_t keep_metrics(std::uint64_t lines);

 private:
  std::filesystem::path metrics_path() const { return path_ / "metrics.jsonl"; }
  void remove_old_run();

  std::filesystem::path path_;
  std::optional<DirectoryLock> lock_;
};

/// A run's best checkpoint where it is wanted and there, else its last. Throws kUsage where it has
/// none yet.
std::filesystem::path stored_checkpoint(const std::string& directory, CheckpointKind wanted);

}  // namespace sluice
