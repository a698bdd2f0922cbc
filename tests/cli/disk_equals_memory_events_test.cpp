// Disk equals memory for models of events, by the command line: edges with their times, features of
// events, and rows of state of nodes, each in memory and on disk, with any number of data threads,
// and after a kill in the middle of an epoch.
//
// By default each place by itself and all together; SLUICE_FULL_MATRIX=1 runs every combination.
#include "cli/killed_run.h"
#include "support/timed_events.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace sluice::test;
using nlohmann::json;

namespace {

enum class StateOf { kNothing, kNodes };

struct EventModel {
  std::string table;
  StateOf state;
};

const EventModel kEventModels[] = {
    {"type = \"tf_tgn\", hidden = 12, feed_forward = 24", StateOf::kNothing},
    {"type = \"tgn\", hidden = 12", StateOf::kNodes},
    {"type = \"tpnet\", hidden = 12, events = 4, walks = 2, walk_width = 20, walk_decay = 0.001",
     StateOf::kNodes}};

// Where a run keeps what, and how it goes.
struct EventPlaces {
  bool edges_on_disk = false;
  bool features_on_disk = false;
  bool rows_on_disk = false;
  int threads = 1;  // for data
  bool killed = false;

  static const char* name(bool on_disk) { return on_disk ? "disk" : "memory"; }
  std::vector<std::string> sets() const {
    return {fmt::format("storage.topology={}", name(edges_on_disk)),
            fmt::format("storage.features={}", name(features_on_disk)),
            fmt::format("storage.embeddings={}", name(rows_on_disk)),
            fmt::format("train.data_threads={}", threads)};
  }
  std::string text() const {
    return fmt::format("edges in {}, features in {}, rows in {}, {} threads{}",
                       name(edges_on_disk),
                       name(features_on_disk),
                       name(rows_on_disk),
                       threads,
                       killed ? ", killed and resumed" : "");
  }
};

std::vector<EventPlaces> places_to_try() {
  if (std::getenv("SLUICE_FULL_MATRIX") == nullptr)
    return {{true, false, false, 1},
            {false, true, false, 2},
            {false, false, true, 4},
            {true, true, true, 1},
            {true, true, true, 4},
            {true, true, true, 2, true}};
  std::vector<EventPlaces> all;
  for (const bool killed : {false, true}) {
    for (const int threads : {1, 2, 4}) {
      for (int places = 0; places < 8; ++places)
        all.push_back({(places & 1) != 0, (places & 2) != 0, (places & 4) != 0, threads, killed});
    }
  }
  return all;
}

class EventGround {
 public:
  explicit EventGround(const std::string& model) : config_(events_.folder() / "run.toml") {
    std::ofstream(config_) << events_.config(model);
  }

  std::filesystem::path run_dir() const { return events_.run_dir(); }

  Outcome run(const EventPlaces& places) const { return sluice::test::run(command(places)); }

  std::vector<std::string> command(const EventPlaces& places) const {
    std::filesystem::remove_all(run_dir());
    std::vector<std::string> all{tool("sluice-train"), "run", config_.string(), "--json"};
    for (const std::string& set : places.sets()) all.insert(all.end(), {"--set", set});
    return all;
  }

 private:
  TimedEvents events_;
  std::filesystem::path config_;
};

// Of what a run says of itself: where things lay, and that features on disk were read there.
void check_places(const json& report, const EventPlaces& places, StateOf state) {
  const json& storage = report.at("storage");
  CHECK(storage.at("topology") == EventPlaces::name(places.edges_on_disk));
  CHECK(storage.at("features") == EventPlaces::name(places.features_on_disk));
  if (state == StateOf::kNodes)
    CHECK(storage.at("embeddings") == EventPlaces::name(places.rows_on_disk));
  // So few edges are all in the cache of pages before the first epoch, by what is sampled for the
  // plan: of theirs nothing may be left to read.
  if (places.features_on_disk) CHECK(report.at("bytes").at("read") > 0);
}

}  // namespace

TEST_CASE("disk equals memory for models of events: edges, features of events, rows of state") {
  for (const EventModel& model : kEventModels) {
    CAPTURE(model.table);
    const EventGround ground(model.table);
    const Outcome reference = ground.run({});
    REQUIRE_MESSAGE(reference.code == 0, reference.err);
    const json expected = results(json::parse(reference.out));
    REQUIRE(expected.at(2).contains("test.ap"));
    const std::string lines = metric_lines(ground.run_dir());
    for (const EventPlaces& places : places_to_try()) {
      CAPTURE(places.text());
      const auto check = [&](const Outcome& outcome) {
        REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
        const json report = json::parse(outcome.out);
        CHECK(results(report) == expected);
        CHECK(metric_lines(ground.run_dir()) == lines);
        check_places(report, places, model.state);
      };
      if (places.killed) {
        run_killed(ground.command(places), ground.run_dir(), check);
      } else {
        check(ground.run(places));
      }
    }
  }
}
