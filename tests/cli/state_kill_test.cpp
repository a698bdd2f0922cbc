// Models that remember nodes, by the command line: killed at random moments and resumed, with rows
// of state on disk, a run is the one that nothing interrupted, with rows in memory.
#include "cli/train_support.h"
#include "support/timed_events.h"

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

std::vector<std::string> state_run(const std::filesystem::path& config,
                                   const std::vector<std::string>& sets) {
  std::vector<std::string> all{
      tool("sluice-train"), "run", config.string(), "--json", "--overwrite"};
  for (const std::string& set : sets) all.insert(all.end(), {"--set", set});
  return all;
}

json state_report(const Outcome& outcome) {
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return json::parse(outcome.out);
}

}  // namespace

TEST_CASE("what nodes remember outlives kills: rows of state on disk as in memory") {
  const TimedEvents events;
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (const char* model : kMemoryModelTables) {
    CAPTURE(model);
    const auto config = events.folder() / "run.toml";
    std::ofstream(config) << events.config(model);
    const json expected =
        results(state_report(run(state_run(config, {"storage.embeddings=memory"}))));
    const std::string lines = metric_lines(events.run_dir());

    const std::vector<std::string> begin =
        state_run(config,
                  {"storage.embeddings=disk",
                   "train.data_threads=2",
                   "train.checkpoint_minutes=1e-9"});  // after each mini-batch
    const auto before = std::chrono::steady_clock::now();
    CHECK(results(state_report(run(begin))) == expected);
    const auto longest =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                       std::chrono::steady_clock::now() - before)
                                       .count());
    std::filesystem::remove_all(events.run_dir());
    std::vector<std::string> command = begin;
    int kills = 0;
    constexpr int kWanted = 3;
    for (int attempt = 0; attempt < 20 * kWanted; ++attempt) {
      Process process(command);
      if (kills < kWanted) {
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % (longest + 1)));
        process.signal(SIGKILL);
      }
      const Outcome outcome = process.finish();
      if (outcome.code == -SIGKILL) {
        ++kills;
        if (std::filesystem::exists(events.run_dir() / "config.resolved.toml"))
          command = {tool("sluice-train"), "resume", events.run_dir().string(), "--json"};
        continue;
      }
      CHECK(results(state_report(outcome)) == expected);
      CHECK(metric_lines(events.run_dir()) == lines);
      if (kills >= kWanted) break;
      command = begin;
    }
    CHECK(kills == kWanted);
  }
}
