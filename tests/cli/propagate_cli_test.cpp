// sluice-prep propagate as its users meet it: what it says, what a dry run leaves, SIGKILLs at
// random moments, and a training over its tables.
#include "support/generated_dataset.h"
#include "support/process.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace sluice::test {
namespace {

using nlohmann::json;

constexpr int kPropagateKills = sanitized(30, 4);

std::vector<std::string> propagate(const std::string& dataset, std::vector<std::string> more) {
  std::vector<std::string> command{tool("sluice-prep"), "propagate", dataset};
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

}  // namespace

TEST_CASE("propagate says its tables, panels and bytes; a dry run says the same and does nothing") {
  const TempDir dir;
  const std::string out = dir / "x";
  generate_dataset(out);
  const std::vector<std::string> sign{"--method", "sign", "--hops", "2", "--panel", "6", "--json"};
  std::vector<std::string> dry = sign;
  dry.push_back("--dry-run");
  const std::string before = read_all(dir / "x/manifest.json");
  const Outcome planned = run(propagate(out, dry));
  CAPTURE(planned.err);
  REQUIRE(planned.code == 0);
  CHECK(read_all(dir / "x/manifest.json") == before);
  const Outcome done = run(propagate(out, sign));
  CAPTURE(done.err);
  REQUIRE(done.code == 0);
  const json plan = json::parse(planned.out), report = json::parse(done.out);
  for (const char* key : {"tables", "panels", "passes", "bytes", "least_memory"})
    CHECK(plan.at(key) == report.at(key));
  CHECK(report.at("generation") == 2);
  CHECK(report.at("tables").at(0).at("name") == "sign-1");
  CHECK(report.at("tables").at(1).at("columns") == 20);
  const json panels = report.at("panels").at(0);
  CHECK(panels.at("panels") == 4);
  CHECK(report.at("passes") == 8);
  // Rows in, 4 bytes an edge and panel, rows out, of each hop; the first hop reads f32.
  const std::uint64_t edges =
      json::parse(run({tool("sluice-prep"), "inspect", out, "--json"}).out).at("edges");
  CHECK(report.at("bytes").at("formula") ==
        2000 * 20 * (4 + 2 + 2 + 2) + std::uint64_t{4} * 4 * edges * 2);
  CHECK(run({tool("sluice-prep"), "verify", out}).code == 0);
  CHECK(run(propagate(out, {"--method", "sgd"})).code == 2);
  CHECK(run(propagate(out, {})).code == 2);
  CHECK(run(propagate(dir / "none", {"--method", "sgc"})).code == 3);
  CHECK(run(propagate(out, {"--method", "sgc", "--memory", "1MiB"})).code == 4);
}

TEST_CASE("a flag that the method does not look at is refused, and nothing changes") {
  const TempDir dir;
  const std::string out = dir / "x";
  generate_dataset(out);
  const std::string before = read_all(dir / "x/manifest.json");
  struct Row {
    const char* method;
    std::vector<std::string> flag;
    const char* methods;
  };
  for (const Row& row :
       {Row{"sgc", {"--predictions", "scores"}, "labels"},
        Row{"sign", {"--backwards"}, "metapaths, random_projection, labels"},
        Row{"sgc", {"--seed", "1"}, "random_projection, labels"},
        Row{"metapaths", {"--relation", "node__edge__node"}, "sgc, sign"},
        Row{"metapaths", {"--columns", "8"}, "random_projection"},
        Row{"random_projection", {"--parts", "3"}, "labels"},
        Row{"random_projection", {"--split", "default"}, "labels"},
        Row{"labels", {"--features", "features"}, "sgc, sign, metapaths, random_projection"}}) {
    CAPTURE(row.method);
    std::vector<std::string> words{"--method", row.method};
    words.insert(words.end(), row.flag.begin(), row.flag.end());
    const Outcome outcome = run(propagate(out, words));
    CHECK(outcome.code == 2);
    CHECK(outcome.err == std::string("error: --method ") + row.method + " has no use for " +
                             row.flag.front() + "\n  hint: leave it out: it is of --method " +
                             row.methods + "\n");
  }
  CHECK(read_all(dir / "x/manifest.json") == before);
  const Outcome used = run(propagate(out, {"--method", "random_projection", "--seed", "4"}));
  CHECK_MESSAGE(used.code == 0, used.err);
}

TEST_CASE("SIGKILLs during propagate leave the dataset before or after, whole") {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint64_t kSeed = 31;
  MESSAGE("seed " << kSeed);
  const TempDir dir;
  const std::string out = dir / "x";
  generate_dataset(out, {{"--nodes", "20000"}, {"--edges", "200000"}, {"--features", "48"}});
  const std::vector<std::string> command = propagate(
      out, {"--method", "sign", "--hops", "3", "--panel", "10", "--replace", "--memory", "40MiB"});
  const auto begin = Clock::now();
  REQUIRE(run(command).code == 0);
  Clock::duration longest = Clock::now() - begin;
  const auto table = [&] { return read_all(dir / "x/nodes/node/sign-3.bin"); };
  const std::string whole = table();
  int killed = 0, finished = 0;
  for (std::uint64_t draw = 0; killed < kPropagateKills && draw < 10 * kPropagateKills; ++draw) {
    CAPTURE(draw);
    Process process(command);
    std::this_thread::sleep_for(
        std::chrono::duration_cast<Clock::duration>(longest * RandomKey(kSeed).uniform(draw)));
    process.signal(SIGKILL);
    const bool hit = process.finish().code == -SIGKILL;
    (hit ? killed : finished) += 1;
    longest += hit ? longest / 32 : -longest / 8;  // settles where most hit
    REQUIRE(run({tool("sluice-prep"), "verify", out}).code == 0);
    CHECK(table() == whole);
  }
  MESSAGE(killed << " killed, " << finished << " had finished");
  CHECK(killed == kPropagateKills);
  REQUIRE(run(command).code == 0);
  std::size_t names = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir.path()))
    ++names;
  CHECK(names == 1);  // what was left of killed runs is swept
}

}  // namespace sluice::test
