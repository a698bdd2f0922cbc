// Training on appended events with replay, by the command line: killed at random moments, between
// steps of two mini-batches and within them, and resumed, a run is the one that nothing
// interrupted.
#include "cli/train_support.h"
#include "support/growing_events.h"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

using namespace sluice::test;
using nlohmann::json;

namespace {

json continued_report(const Outcome& outcome) {
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return json::parse(outcome.out);
}

json continued_results(const json& report) {
  return {results(report), report.at("continual")};
}

}  // namespace

TEST_CASE("a run with replay outlives kills") {
  GrowingEvents events;
  const auto config = events.folder / "run.toml";
  std::ofstream(config) << events.config();
  (void)continued_report(run({tool("sluice-train"), "run", config.string(), "--json"}));
  events.append();
  const std::string directory = events.run_dir("second");
  const std::vector<std::string> whole{tool("sluice-train"),
                                       "continue",
                                       events.run_dir("first"),
                                       "--json",
                                       "--overwrite",
                                       "--set",
                                       "run.dir=" + directory,
                                       "--set",
                                       "replay.choose=structure",
                                       "--set",
                                       "replay.size=8"};
  const json expected = continued_results(continued_report(run(whole)));
  const std::string lines = metric_lines(directory);
  CHECK(expected.at(1).at("replay").at("nodes") == 8);

  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  std::vector<std::string> begin = whole;
  begin.insert(begin.end(), {"--set", "train.checkpoint_minutes=1e-9"});  // after each step
  const auto before = std::chrono::steady_clock::now();
  CHECK(continued_results(continued_report(run(begin))) == expected);
  const auto longest =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                     std::chrono::steady_clock::now() - before)
                                     .count());
  std::filesystem::remove_all(directory);
  std::vector<std::string> command = begin;
  int kills = 0;
  constexpr int kWanted = 4;
  for (int attempt = 0; attempt < 20 * kWanted; ++attempt) {
    Process process(command);
    if (kills < kWanted) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % (longest + 1)));
      process.signal(SIGKILL);
    }
    const Outcome outcome = process.finish();
    if (outcome.code == -SIGKILL) {
      ++kills;
      if (std::filesystem::exists(events.folder / "second/config.resolved.toml"))
        command = {tool("sluice-train"), "resume", directory, "--json"};
      continue;
    }
    CHECK(continued_results(continued_report(outcome)) == expected);
    CHECK(metric_lines(directory) == lines);
    if (kills >= kWanted) break;
    command = begin;
  }
  CHECK(kills >= kWanted);
}
