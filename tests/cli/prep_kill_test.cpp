// 100 SIGKILLs at random moments of import, append and compact: what is there is a whole dataset,
// every time, and the next run sweeps up.
#include "support/process.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

using namespace sluice;
using sluice::test::Outcome;
using sluice::test::Process;
using sluice::test::TempDir;
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kKills = test::sanitized(100, 6);
constexpr std::uint64_t kRounds = test::sanitized(12u, 5u);

void write_edges(const fs::path& path, std::uint64_t count, std::uint64_t nodes, RandomKey key) {
  std::ofstream out(path);
  out << "src,dst\n";
  for (std::uint64_t i = 0; i < count; ++i)
    out << key.below(nodes, 2 * i) << ',' << key.below(nodes, 2 * i + 1) << '\n';
}

/// A command that is killed at a moment within about its own length.
struct Step {
  std::vector<std::string> command;
  Clock::duration longest{};
  int killed = 0;
  int finished = 0;
};

}  // namespace

TEST_CASE("SIGKILLs during import, append and compact leave a whole dataset, every time") {
  constexpr std::uint64_t kSeed = 11;
  MESSAGE("seed " << kSeed);
  const TempDir dir;
  constexpr std::uint64_t kNodes = 20'000;
  write_edges(dir / "edges.csv", 200'000, kNodes, RandomKey(1));
  write_edges(dir / "more.csv", 50'000, kNodes, RandomKey(2));
  dir.write("graph.toml", "[[nodes]]\ncount = 20000\n[[edges]]\nfile = \"edges.csv\"\n");
  // The first append after an import brings nodes too.
  dir.write("more.toml", "[[nodes]]\ncount = 20500\n[[edges]]\nfile = \"more.csv\"\n");
  const std::string tool = test::tool("sluice-prep");
  const std::string out = dir / "x";
  const auto verify = [&] { return test::run({tool, "verify", out}).code; };
  // A small budget, so that edges spill.
  std::vector<Step> steps{{{tool,
                            "import",
                            "--config",
                            dir / "graph.toml",
                            "--out",
                            out,
                            "--overwrite",
                            "--memory",
                            "24MiB"}},
                          {{tool, "append", out, "--config", dir / "more.toml"}},
                          {{tool, "compact", out, "--memory", "24MiB"}}};
  for (Step& step : steps) {
    const auto begin = Clock::now();
    const Outcome outcome = test::run(step.command);
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    REQUIRE(verify() == 0);
    step.longest = Clock::now() - begin;
  }
  int killed = 0;
  for (std::uint64_t draw = 0; killed < kKills && draw < 10 * kKills; ++draw) {
    Step& step = steps[draw % steps.size()];
    Process process(step.command);
    std::this_thread::sleep_for(
        std::chrono::duration_cast<Clock::duration>(step.longest * RandomKey(kSeed).uniform(draw)));
    process.signal(SIGKILL);
    const bool hit = process.finish().code == -SIGKILL;
    (hit ? step.killed : step.finished) += 1;
    killed += hit ? 1 : 0;
    step.longest += hit ? step.longest / 32 : -step.longest / 8;  // settles where most hit
    CAPTURE(draw);
    REQUIRE(verify() == 0);
  }
  for (const Step& step : steps) {
    MESSAGE(step.command[1] << ": " << step.killed << " killed, " << step.finished
                            << " had finished");
    CHECK(step.killed > 0);
  }
  CHECK(killed == kKills);
  REQUIRE(test::run(steps[0].command).code == 0);
  CHECK(verify() == 0);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir.path()))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"edges.csv", "graph.toml", "more.csv", "more.toml", "x"});
}

TEST_CASE("--resume keeps finished stages, and gives the dataset that no kill would have given") {
  constexpr std::uint64_t kSeed = 12;
  MESSAGE("seed " << kSeed);
  const TempDir dir;
  const std::string tool = test::tool("sluice-prep");
  const auto command = [&](const std::string& out) {
    return std::vector<std::string>{tool,
                                    "generate",
                                    "sbm",
                                    "--nodes",
                                    "60000",
                                    "--edges",
                                    "1500000",
                                    "--features",
                                    "64",
                                    "--out",
                                    out,
                                    "--memory",
                                    "40MiB",
                                    "--resume"};
  };
  const auto begin = Clock::now();
  REQUIRE(test::run(command(dir / "whole")).code == 0);
  const auto longest = Clock::now() - begin;
  int taken_over = 0;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::string out = dir / "x";
    for (std::uint64_t kill = 0; kill < 2; ++kill) {
      Process process(command(out));
      const double moment = 0.2 + 0.8 * RandomKey(kSeed).uniform(2 * round + kill);
      std::this_thread::sleep_for(std::chrono::duration_cast<Clock::duration>(longest * moment));
      process.signal(SIGKILL);
      process.finish();
      if (fs::exists(out)) fs::remove_all(out);
    }
    const Outcome outcome = test::run(command(out));
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    taken_over += outcome.err.find("took over") != std::string::npos ? 1 : 0;
    CHECK(test::read_all(dir / "x/manifest.json") == test::read_all(dir / "whole/manifest.json"));
    REQUIRE(test::run({tool, "verify", out}).code == 0);
    fs::remove_all(out);
  }
  MESSAGE(taken_over << " of " << kRounds << " runs took stages over");
  CHECK(taken_over > 0);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir.path()))
    names.push_back(entry.path().filename());
  CHECK(names == std::vector<std::string>{"whole"});
}
