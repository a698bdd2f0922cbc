// Runs that are interrupted while an epoch is planned, and what they leave.
#pragma once

#include "cli/train_support.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <set>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

namespace sluice::test {

// When a file was made, for its number alone may be that of one which was closed; empty where it is
// closed itself.
inline std::string born(const std::filesystem::path& path) {
  struct statx facts = {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_BTIME, &facts) != 0) return {};
  return std::to_string(facts.stx_btime.tv_sec) + "." + std::to_string(facts.stx_btime.tv_nsec);
}

// The nameless files that a process has open in a folder: an epoch plan's lists.
inline std::set<std::string> scratch_files(pid_t process, const std::filesystem::path& folder) {
  std::set<std::string> found;
  std::error_code problem;
  const std::filesystem::path open_files = "/proc/" + std::to_string(process) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(open_files, problem)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), problem).string();
    if (target.find(folder.string() + "/") != 0) continue;
    if (target.find("(deleted)") == std::string::npos) continue;
    const std::string when = born(entry.path());
    if (!when.empty()) found.insert(target + " " + when);
  }
  return found;
}

inline std::set<std::string> files_below(const std::filesystem::path& folder) {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file())
      found.insert(std::filesystem::relative(entry.path(), folder).string());
  }
  return found;
}

inline bool has_ended(const Process& process) {
  std::error_code problem;
  return std::filesystem::is_empty("/proc/" + std::to_string(process.pid()) + "/fd", problem) ||
         problem;
}

// Waits until the plan of an epoch after `epochs` others is being made: until it opens its lists.
// False where the run came to its end first.
inline bool wait_for_plan(const Process& process,
                          const std::filesystem::path& run_dir,
                          std::ptrdiff_t epochs) {
  std::set<std::string> earlier;
  for (int i = 0; !has_ended(process); ++i) {
    REQUIRE(i < 60'000);
    // What is open while fewer epochs are done belongs to these: looked for before they are
    // counted.
    const std::set<std::string> open = scratch_files(process.pid(), run_dir);
    if (epochs > 0 && metric_lines_of(run_dir) < epochs) {
      earlier.insert(open.begin(), open.end());
    } else if (!std::ranges::includes(earlier, open)) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

// A dataset, and a run of two epochs on it.
class Interrupted {
 public:
  /// @param valid share of the nodes. @param set a key = value of the config
  explicit Interrupted(const std::string& valid, const std::string& set = "") {
    generate_dataset(dir_ / "data",
                     {{"--nodes", "30000"},
                      {"--edges", "300000"},
                      {"--train", "0.5"},
                      {"--valid", valid},
                      {"--test", "0.01"}});
    run_dir_ = std::filesystem::canonical(dir_.path()) / "run";
    config_ = dir_.write(
        "x.toml",
        "dataset.path = \"" + (dir_ / "data").string() + "\"\nrun.dir = \"" + run_dir_.string() +
            "\"\nmemory.host = \"128MiB\"\nmodel = { type = \"graphsage\", hidden = 8 }\n"
            "sampler.fanout = [10, 5]\neval.fanout = [10, 5]\nstorage.features = \"disk\"\n" +
            set + "\n[train]\nepochs = 2\nbatch_size = 128\ncompute_threads = 1\n");
    const Outcome uninterrupted = run(command());
    REQUIRE_MESSAGE(uninterrupted.code == 0, uninterrupted.err);
    whole_ = results(nlohmann::json::parse(uninterrupted.out));
    data_ = files_below(dir_ / "data");
  }

  const std::filesystem::path& run_dir() const { return run_dir_; }
  std::vector<std::string> command() const {
    return {tool("sluice-train"), "run", config_.string(), "--json"};
  }

  /// Of a run that was stopped: what it says and leaves, and that it goes on to the same end.
  /// Returns what it says when it does.
  std::string check(const Outcome& stopped) const {
    REQUIRE_MESSAGE(stopped.code == 130, stopped.err);
    CHECK(nlohmann::json::parse(stopped.out).at("error").at("code") == "interrupted");
    CHECK(stopped.err.find("a checkpoint is written") != std::string::npos);
    CHECK(stopped.err.find("go on with: sluice-train resume ") != std::string::npos);
    std::set<std::string> left = files_below(run_dir_);
    left.erase("metrics.jsonl");          // of a whole epoch
    left.erase("checkpoints/best.ckpt");  // likewise
    CHECK(left ==
          std::set<std::string>{"config.resolved.toml", "log.txt", "checkpoints/last.ckpt"});
    CHECK(files_below(dir_ / "data") == data_);
    const Outcome resumed = train({"resume", run_dir_, "--json"});
    REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
    CHECK(results(nlohmann::json::parse(resumed.out)) == whole_);
    return resumed.err;
  }

 private:
  TempDir dir_;
  std::filesystem::path run_dir_;
  std::filesystem::path config_;
  nlohmann::json whole_;
  std::set<std::string> data_;
};

// Stops a run at several moments after its first plan was begun.
/// @param valid share of the nodes
inline void check_stops(const std::string& valid) {
  const Interrupted test(valid);
  int stops = 0;
  for (const int milliseconds : {20, 60, 100, 150, 200, 300}) {
    CAPTURE(milliseconds);
    std::filesystem::remove_all(test.run_dir());
    Process process(test.command());
    REQUIRE(wait_for_plan(process, test.run_dir(), 0));
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    process.signal(SIGINT);
    const Outcome stopped = process.finish();
    if (stopped.code == 0) continue;  // it was quicker
    if (stopped.code == -SIGINT && metric_lines_of(test.run_dir()) == 2) continue;  // as it ended
    ++stops;
    test.check(stopped);
  }
  CHECK(stops > 0);
}

}  // namespace sluice::test
