#include "train/run_directory.h"
#include "support/expect_error.h"
#include "support/temp_dir.h"
#include "train/epoch_line.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <thread>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sluice;
using namespace sluice::test;
using Mode = RunDirectory::Mode;

TEST_CASE("a run directory is not overwritten, not shared, and replaced only when told") {
  const TempDir dir;
  const std::filesystem::path path = dir / "runs/a";
  CHECK(expect_error([&] { RunDirectory::check(path, Mode::kGoOn); }).message() ==
        "this is no run directory (it has no config.resolved.toml)");
  {
    RunDirectory run(path, Mode::kNew);
    run.write_config("seed = 1\n");
    run.append_metrics("{}");
    CHECK(expect_error([&] { RunDirectory other(path, Mode::kGoOn); }).message() ==
          "another sluice-train works in this run directory");
  }
  const Error there = expect_error([&] { RunDirectory run(path, Mode::kNew); });
  CHECK(there.code() == ErrorCode::kUsage);
  CHECK(there.message() == "the run directory already holds a run");
  CHECK(there.hint().find("sluice-train resume " + path.string()) != std::string::npos);
  { const RunDirectory run(path, Mode::kGoOn); }
  CHECK(read_all(path / "metrics.jsonl") == "{}\n");
  dir.write("runs/a/notes.txt", "mine");
  { const RunDirectory run(path, Mode::kReplace); }
  CHECK_FALSE(std::filesystem::exists(path / "metrics.jsonl"));
  CHECK(read_all(path / "notes.txt") == "mine");
}

TEST_CASE("a kill while a run is replaced leaves its checkpoints whole, or none") {
  const int rows = 400;
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const TempDir dir;
  const std::filesystem::path path = dir / "run";
  int whole = 0;
  int gone = 0;
  for (int attempt = 0; attempt < 200 && (whole == 0 || gone < 5); ++attempt) {
    {
      RunDirectory run(path, Mode::kReplace);
      run.write_config("seed = 1\n");
      run.append_metrics("{}");
      dir.write("run/checkpoints/last.ckpt", "names the rows");
      std::filesystem::create_directories(path / "checkpoints/rows/node");
      for (int i = 0; i < rows; ++i)
        dir.write("run/checkpoints/rows/node/side-" + std::to_string(i) + ".rows", "rows");
    }
    const auto child = ::fork();
    if (child == 0) {
      { const RunDirectory run(path, Mode::kReplace); }
      ::_exit(0);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 8000));
    ::kill(child, SIGKILL);
    REQUIRE(::waitpid(child, nullptr, 0) == child);
    if (!std::filesystem::exists(path / "config.resolved.toml")) continue;  // it was replaced
    RunDirectory run(path, Mode::kGoOn);
    CHECK_FALSE(std::filesystem::exists(path / ".checkpoints.removed"));
    const std::filesystem::path kept = path / "checkpoints/rows/node";
    if (run.has_checkpoint(CheckpointKind::kLast)) {
      ++whole;
      CHECK(read_all(path / "metrics.jsonl") == "{}\n");
      CHECK(std::distance(std::filesystem::directory_iterator(kept), {}) == rows);
    } else {
      ++gone;
      CHECK_FALSE(std::filesystem::exists(kept));
    }
  }
  CHECK(whole > 0);
  CHECK(gone > 0);
}

TEST_CASE("metrics are cut back to the checkpoint's lines, a torn last line included") {
  const TempDir dir;
  RunDirectory run(dir / "a", Mode::kNew);
  CHECK(run.keep_metrics(2) == 0);
  for (const char* line : {"1", "2", "3"}) run.append_metrics(line);
  CHECK(run.keep_metrics(2) == 2);
  CHECK(read_all(dir / "a/metrics.jsonl") == "1\n2\n");
  dir.write("a/metrics.jsonl", "1\n2\n{\"to");
  CHECK(run.keep_metrics(2) == 2);
  CHECK(read_all(dir / "a/metrics.jsonl") == "1\n2\n");
  CHECK(run.keep_metrics(5) == 2);
}

TEST_CASE("the bound is compute when the trainer seldom waits, else the busiest stage") {
  const auto stages = [](double plan, double repack, double starved) {
    return std::vector<StageTimes>{{"sample", 2, 0, 0},
                                   {"plan", plan, 0, 0},
                                   {"repack", repack, 0, 0},
                                   {"fetch", 5, 0, 0},
                                   {"assemble", 2, 0, 0},
                                   {"step", 6, starved, 0}};
  };
  CHECK(bound_of(stages(0, 0, 0.5), 10, 0) == "compute");
  CHECK(bound_of(stages(0, 0, 4), 10, 0) == "disk");
  CHECK(bound_of(stages(2, 0, 4), 10, 0) == "sample");
  CHECK(bound_of(stages(2, 2, 4), 10, 0) == "disk");
  // Steps that wait for learned rows are not starved of mini-batches.
  CHECK(bound_of(stages(0, 0, 0.5), 10, 0.9) == "compute");
  CHECK(bound_of(stages(0, 0, 0.5), 10, 2) == "disk");
}
