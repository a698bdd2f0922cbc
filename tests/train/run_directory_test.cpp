#include "train/run_directory.h"
#include "support/expect_error.h"
#include "train/epoch_line.h"
#include "train/support.h"

#include <doctest/doctest.h>

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
  CHECK(bound_of(stages(0, 0, 0.5), 10) == "compute");
  CHECK(bound_of(stages(0, 0, 4), 10) == "disk");
  CHECK(bound_of(stages(2, 0, 4), 10) == "sample");
  CHECK(bound_of(stages(2, 2, 4), 10) == "disk");
}
