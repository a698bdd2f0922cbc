// Ctrl-C while an epoch is planned.
#include "cli/train_support.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <set>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

using namespace sluice;
using namespace sluice::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// When a file was made, for its number alone may be that of one which was closed; empty where it is
// closed itself.
std::string born(const fs::path& path) {
  struct statx facts = {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_BTIME, &facts) != 0) return {};
  return std::to_string(facts.stx_btime.tv_sec) + "." + std::to_string(facts.stx_btime.tv_nsec);
}

// The nameless files that a process has open in a folder: an epoch plan's lists.
std::set<std::string> scratch_files(pid_t process, const fs::path& folder) {
  std::set<std::string> found;
  std::error_code problem;
  const fs::path open_files = "/proc/" + std::to_string(process) + "/fd";
  for (const auto& entry : fs::directory_iterator(open_files, problem)) {
    const std::string target = fs::read_symlink(entry.path(), problem).string();
    if (target.find(folder.string() + "/") != 0) continue;
    if (target.find("(deleted)") == std::string::npos) continue;
    const std::string when = born(entry.path());
    if (!when.empty()) found.insert(target + " " + when);
  }
  return found;
}

std::set<std::string> files_below(const fs::path& folder) {
  std::set<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) found.insert(fs::relative(entry.path(), folder).string());
  }
  return found;
}

bool has_ended(const Process& process) {
  std::error_code problem;
  return fs::is_empty("/proc/" + std::to_string(process.pid()) + "/fd", problem) || problem;
}

// Waits until the plan of an epoch after `epochs` others is being made: until it opens its lists.
// False where the run came to its end first.
bool wait_for_plan(const Process& process, const fs::path& run_dir, std::ptrdiff_t epochs) {
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
                     {{"--nodes", "60000"},
                      {"--edges", "600000"},
                      {"--train", "0.5"},
                      {"--valid", valid},
                      {"--test", "0.01"}});
    run_dir_ = fs::canonical(dir_.path()) / "run";
    config_ = dir_.write(
        "x.toml",
        "dataset.path = \"" + (dir_ / "data").string() + "\"\nrun.dir = \"" + run_dir_.string() +
            "\"\nmemory.host = \"128MiB\"\nmodel = { type = \"graphsage\", hidden = 8 }\n"
            "sampler.fanout = [10, 5]\neval.fanout = [10, 5]\nstorage.features = \"disk\"\n" +
            set + "\n[train]\nepochs = 2\nbatch_size = 256\ncompute_threads = 1\n");
    const Outcome uninterrupted = run(command());
    REQUIRE_MESSAGE(uninterrupted.code == 0, uninterrupted.err);
    whole_ = results(json::parse(uninterrupted.out));
    data_ = files_below(dir_ / "data");
  }

  const fs::path& run_dir() const { return run_dir_; }
  std::vector<std::string> command() const {
    return {tool("sluice-train"), "run", config_.string(), "--json"};
  }

  /// Of a run that was stopped: what it says and leaves, and that it goes on to the same end.
  /// Returns what it says when it does.
  std::string check(const Outcome& stopped) const {
    REQUIRE_MESSAGE(stopped.code == 130, stopped.err);
    CHECK(json::parse(stopped.out).at("error").at("code") == "interrupted");
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
    CHECK(results(json::parse(resumed.out)) == whole_);
    return resumed.err;
  }

 private:
  TempDir dir_;
  fs::path run_dir_;
  fs::path config_;
  json whole_;
  std::set<std::string> data_;
};

}  // namespace

TEST_CASE("Ctrl-C while an epoch is planned leaves a checkpoint to go on from, and nothing else") {
  // With a dataset that is followed no epoch is prepared beside the one before.
  const Interrupted test("0.01", "dataset.follow = true");
  for (const std::ptrdiff_t epochs : {0, 1}) {
    CAPTURE(epochs);
    bool planning = false;
    for (int attempt = 0; attempt < 10 && !planning; ++attempt) {
      fs::remove_all(test.run_dir());
      Process process(test.command());
      if (wait_for_plan(process, test.run_dir(), epochs)) process.signal(SIGINT);
      const Outcome stopped = process.finish();
      if (stopped.code == 0) continue;  // it was quicker
      planning = stopped.err.find("interrupted in epoch " + std::to_string(epochs + 1) +
                                  " after 0 of ") != std::string::npos;
      if (!planning) continue;
      CHECK(fs::exists(test.run_dir() / "metrics.jsonl") == (epochs > 0));
      CHECK(resumed_after(test.check(stopped)) == 0);
    }
    CHECK(planning);
  }
}

TEST_CASE("Ctrl-C while the next epoch is prepared beside the one that trains") {
  std::string valid = "0.0";
  SUBCASE("no validation between") {}
  SUBCASE("a validation between") {
    valid = "0.01";
  }
  const Interrupted test(valid);
  int stops = 0;
  for (const int milliseconds : {20, 60, 100, 150, 200, 300}) {
    CAPTURE(milliseconds);
    fs::remove_all(test.run_dir());
    Process process(test.command());
    REQUIRE(wait_for_plan(process, test.run_dir(), 0));
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    process.signal(SIGINT);
    const Outcome stopped = process.finish();
    if (stopped.code == 0) continue;  // it was quicker
    ++stops;
    test.check(stopped);
  }
  CHECK(stops > 0);
}
