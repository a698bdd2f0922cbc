#include "train/run_directory.h"

#include "storage/io/atomic_file.h"
#include "storage/io/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <system_error>
#include <utility>

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxMetricsBytes = kGiB;
constexpr const char* kCheckpoints = "checkpoints";
constexpr const char* kRemoved = ".checkpoints.removed";

Place place_of(const fs::path& path) {
  return Place{path.string(), -1, -1, -1};
}

bool holds_run(const fs::path& path) {
  std::error_code problem;
  return fs::exists(path / "config.resolved.toml", problem);
}

void create_folder(const fs::path& path) {
  std::error_code problem;
  fs::create_directories(path, problem);
  if (problem) throw system_error(problem.value(), "cannot create the folder", path);
}

void remove_whole(const fs::path& path) {
  std::error_code problem;
  fs::remove_all(path, problem);
  if (problem) throw system_error(problem.value(), "cannot remove", path);
}

// A file opened to append to; File knows only reading and making anew.
class AppendFile {
 public:
  explicit AppendFile(const fs::path& path) : path_(path) {
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd_ < 0) throw system_error(errno, "cannot open", path);
  }
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  ~AppendFile() { ::close(fd_); }

  void append(std::string_view text) {
    while (!text.empty()) {
      const ssize_t put = ::write(fd_, text.data(), text.size());
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) throw system_error(put < 0 ? errno : ENOSPC, "cannot write", path_);
      text.remove_prefix(static_cast<std::size_t>(put));
    }
    if (::fdatasync(fd_) != 0) throw system_error(errno, "cannot flush to the disk", path_);
  }

 private:
  fs::path path_;
  int fd_ = -1;
};

}  // namespace

void RunDirectory::check_output(const fs::path& path, const fs::path& out) {
  std::error_code problem;
  const fs::path run = fs::weakly_canonical(path, problem);
  const fs::path file = fs::weakly_canonical(fs::absolute(out), problem);
  const fs::path below = file.lexically_relative(run);
  if (below.empty() || *below.begin() == "..") return;
  // Beside the run's own files there may be others; in its folders there are none.
  const bool in_folder = std::distance(below.begin(), below.end()) > 1;
  const bool own = in_folder ? *below.begin() == "checkpoints" : below == "weights.safetensors";
  if (!own) return;
  throw Error(ErrorCode::kUsage,
              "this is a file of the run itself, which it would replace",
              "write to another file with --out",
              place_of(out));
}

void RunDirectory::check(const fs::path& path, Mode mode) {
  if (mode == Mode::kNew && holds_run(path)) {
    throw Error(ErrorCode::kUsage,
                "the run directory already holds a run",
                fmt::format("go on with it: sluice-train resume {}; start over: --overwrite; or "
                            "choose another place: "
                            "--set run.dir=DIR",
                            path.string()),
                place_of(path));
  }
  if (mode == Mode::kGoOn && !holds_run(path)) {
    throw Error(ErrorCode::kUsage,
                "this is no run directory (it has no config.resolved.toml)",
                "name the directory that `sluice-train run` wrote",
                place_of(path));
  }
}

RunDirectory::RunDirectory(fs::path path, Mode mode) : path_(std::move(path)) {
  check(path_, mode);
  if (mode != Mode::kGoOn) create_folder(path_);
  lock_ = DirectoryLock::try_lock(path_);
  if (!lock_) {
    throw Error(ErrorCode::kUsage,
                "another sluice-train works in this run directory",
                "wait for it to end, or choose another place: --set run.dir=DIR",
                place_of(path_));
  }
  check(path_, mode);              // somebody may have been quicker
  remove_whole(path_ / kRemoved);  // what a kill has left of a run that was replaced
  if (mode == Mode::kReplace) remove_old_run();
  create_folder(path_ / kCheckpoints);
}

void RunDirectory::remove_old_run() {
  // Checkpoints and the rows they name go at once: a kill in the middle must not leave a part of
  // them, which would be resumed. The config goes last: as long as it is there, this is a run
  // directory.
  std::error_code missing;
  if (fs::exists(path_ / kCheckpoints, missing)) {
    std::error_code problem;
    fs::rename(path_ / kCheckpoints, path_ / kRemoved, problem);
    if (problem) throw system_error(problem.value(), "cannot remove", path_ / kCheckpoints);
    sync_directory(path_).or_throw();
  }
  for (const char* name : {"report.json",
                           "weights.safetensors",
                           "metrics.jsonl",
                           "log.txt",
                           kRemoved,
                           "config.resolved.toml"})
    remove_whole(path_ / name);
}

fs::path RunDirectory::checkpoint_path(CheckpointKind kind) const {
  return path_ / kCheckpoints / (kind == CheckpointKind::kLast ? "last.ckpt" : "best.ckpt");
}

bool RunDirectory::has_checkpoint(CheckpointKind kind) const {
  std::error_code problem;
  return fs::exists(checkpoint_path(kind), problem);
}

void RunDirectory::write_config(std::string_view text) {
  write_text_file(config_path(), text);
}

void RunDirectory::write_report(std::string_view json) {
  write_text_file(path_ / "report.json", json);
}

void RunDirectory::append_metrics(const std::string& line) {
  AppendFile(metrics_path()).append(line + "\n");
}

std::uint64_t RunDirectory::keep_metrics(std::uint64_t lines) {
  std::error_code problem;
  if (!fs::exists(metrics_path(), problem)) return 0;
  const std::string text = read_text_file(metrics_path(), kMaxMetricsBytes).or_throw();
  std::size_t end = 0;
  std::uint64_t kept = 0;
  for (; kept < lines; ++kept) {
    const auto newline = text.find('\n', end);
    if (newline == std::string::npos) break;
    end = newline + 1;
  }
  if (end == text.size()) return kept;
  fs::resize_file(metrics_path(), end, problem);
  if (problem) throw system_error(problem.value(), "cannot shorten", metrics_path());
  return kept;
}

fs::path stored_checkpoint(const std::string& directory, CheckpointKind wanted) {
  const fs::path folder = fs::path(directory) / kCheckpoints;
  std::error_code problem;
  for (const char* name : {"best.ckpt", "last.ckpt"}) {
    const bool asked = wanted == CheckpointKind::kBest || name == std::string("last.ckpt");
    if (asked && fs::exists(folder / name, problem)) return folder / name;
  }
  throw Error(ErrorCode::kUsage,
              "the run has no checkpoint yet",
              fmt::format("train it first: sluice-train resume {}", directory),
              Place{directory, -1, -1, -1});
}

}  // namespace sluice
