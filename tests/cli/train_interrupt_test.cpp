// Ctrl-C while an epoch is planned.
#include "cli/train_support.h"

#include <doctest/doctest.h>

#include <set>

using namespace sluice;
using namespace sluice::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// The nameless files that a process has open in a folder: an epoch plan's lists.
std::set<std::string> scratch_files(pid_t process, const fs::path& folder) {
  std::set<std::string> found;
  std::error_code problem;
  const fs::path open_files = "/proc/" + std::to_string(process) + "/fd";
  for (const auto& entry : fs::directory_iterator(open_files, problem)) {
    const std::string target = fs::read_symlink(entry.path(), problem).string();
    if (target.find(folder.string() + "/") == 0 && target.find("(deleted)") != std::string::npos)
      found.insert(target);
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

// Waits until the plan of an epoch after `epochs` others is being made: until it opens its lists.
bool wait_for_plan(const Process& process, const fs::path& run_dir, std::ptrdiff_t epochs) {
  std::set<std::string> earlier;
  if (epochs > 0) {
    wait_for_metric_lines(run_dir, epochs);
    earlier = scratch_files(process.pid(), run_dir);
  }
  for (int i = 0; i < 60'000; ++i) {
    for (const std::string& file : scratch_files(process.pid(), run_dir)) {
      if (earlier.count(file) == 0) return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace

TEST_CASE("Ctrl-C while an epoch is planned leaves a checkpoint to go on from, and nothing else") {
  const TempDir dir;
  generate_dataset(dir / "data",
                   {{"--nodes", "60000"},
                    {"--edges", "600000"},
                    {"--train", "0.5"},
                    {"--valid", "0.0"},
                    {"--test", "0.01"}});
  const fs::path run_dir = fs::canonical(dir.path()) / "run";
  const fs::path config = dir.write(
      "x.toml",
      "dataset.path = \"" + (dir / "data").string() + "\"\nrun.dir = \"" + run_dir.string() +
          "\"\nmemory.host = \"128MiB\"\nmodel = { type = \"graphsage\", hidden = 8 }\n"
          "sampler.fanout = [10, 5]\nstorage.features = \"disk\"\n"
          "[train]\nepochs = 2\nbatch_size = 256\ncompute_threads = 1\n");
  const std::vector<std::string> command{tool("sluice-train"), "run", config.string(), "--json"};
  const Outcome uninterrupted = run(command);
  REQUIRE_MESSAGE(uninterrupted.code == 0, uninterrupted.err);
  const json whole = json::parse(uninterrupted.out);
  const std::set<std::string> data = files_below(dir / "data");
  for (const std::ptrdiff_t epochs : {0, 1}) {
    CAPTURE(epochs);
    bool planning = false;
    for (int attempt = 0; attempt < 10 && !planning; ++attempt) {
      fs::remove_all(run_dir);
      Process process(command);
      REQUIRE(wait_for_plan(process, run_dir, epochs));
      process.signal(SIGINT);
      const Outcome stopped = process.finish();
      if (stopped.code == 0) continue;  // it was quicker
      REQUIRE_MESSAGE(stopped.code == 130, stopped.err);
      CHECK(json::parse(stopped.out).at("error").at("code") == "interrupted");
      planning = stopped.err.find("interrupted in epoch " + std::to_string(epochs + 1) +
                                  " after 0 of ") != std::string::npos;
      if (!planning) continue;
      CHECK(stopped.err.find("a checkpoint is written") != std::string::npos);
      CHECK(stopped.err.find("go on with: sluice-train resume ") != std::string::npos);
      std::set<std::string> left{"config.resolved.toml", "log.txt", "checkpoints/last.ckpt"};
      if (epochs > 0) left.insert("metrics.jsonl");
      CHECK(files_below(run_dir) == left);
      CHECK(files_below(dir / "data") == data);
      const Outcome resumed = train({"resume", run_dir, "--json"});
      REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
      CHECK(resumed_after(resumed.err) == 0);
      CHECK(results(json::parse(resumed.out)) == results(whole));
    }
    CHECK(planning);
  }
}
