// Disk equals memory for models of events, by the command line: edges with their times, features of
// events, and rows of state of nodes, each in memory and on disk, with any number of data threads,
// and after a kill in the middle of an epoch.
//
// By default each place by itself and all together; SLUICE_FULL_MATRIX=1 runs every combination.
#include "cli/killed_run.h"
#include "support/timed_events.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdint>
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
  // plan: of theirs nothing may be left to read. More of them are read below.
  if (places.features_on_disk) CHECK(report.at("bytes").at("read") > 0);
}

// Events enough that their times are larger than the cache of pages that a budget of kFewBytes has:
// a 32nd of it. A tick each, from kFirstTime on.
constexpr std::uint64_t kManyEvents = 600'000;
constexpr std::uint64_t kFewBytes = 96 << 20;
constexpr std::uint64_t kFirstTime = 1'600'000'000;
static_assert(kManyEvents * sizeof(std::int64_t) > kFewBytes / 32 + 1'500'000);

// A run over the last of many events, whose nodes are all over the files.
Outcome run_over_many(const TempDir& dir, bool edges_on_disk, int threads) {
  const auto last_time = [](std::uint64_t left) { return kFirstTime + kManyEvents - left - 1; };
  const auto config =
      dir.write("many.toml",
                fmt::format("dataset.path = \"{}\"\nrun.dir = \"{}\"\n"
                            "model = {{ type = \"tf_tgn\", hidden = 12, feed_forward = 24 }}\n"
                            "[sampler]\ntype = \"temporal\"\ncount = [4]\n"
                            "[task]\ntype = \"temporal_link_prediction\"\nwidth = 12\n"
                            "decoder_hidden = 12\nsplit_by = \"time\"\nsplit_times = [{}, {}, {}]\n"
                            "[train]\nepochs = 1\nbatch_size = 40\ncompute_threads = 1\n"
                            "[eval]\nbatch_size = 40\n",
                            (dir / "many").string(),
                            (dir / "run").string(),
                            last_time(3000),
                            last_time(1000),
                            last_time(500)));
  return train({"run",
                config,
                "--overwrite",
                "--json",
                "--set",
                fmt::format("memory.host={}B", edges_on_disk ? kFewBytes : 4 * kFewBytes),
                "--set",
                fmt::format("storage.topology={}", EventPlaces::name(edges_on_disk)),
                "--set",
                fmt::format("train.data_threads={}", threads)});
}

}  // namespace

TEST_CASE("disk equals memory for events that are read from their files, not from the cache") {
  const TempDir dir;
  const Outcome made = run({tool("sluice-prep"),
                            "generate",
                            "temporal",
                            "--nodes",
                            "20000",
                            "--events",
                            std::to_string(kManyEvents),
                            "--start",
                            std::to_string(kFirstTime),
                            "--seconds",
                            std::to_string(kManyEvents - 1),
                            "--repeat",
                            "0",
                            "--in-turn",
                            "1",
                            "--features",
                            "0",
                            "--out",
                            dir / "many"});
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const Outcome in_memory = run_over_many(dir, false, 1);
  REQUIRE_MESSAGE(in_memory.code == 0, in_memory.err);
  const json expected = json::parse(in_memory.out);
  CHECK(expected.at("bytes").at("read") == 0);
  for (const int threads : {1, 4}) {
    CAPTURE(threads);
    const Outcome from_disk = run_over_many(dir, true, threads);
    REQUIRE_MESSAGE(from_disk.code == 0, from_disk.err);
    const json report = json::parse(from_disk.out);
    CHECK(results(report) == results(expected));
    CHECK(report.at("storage").at("topology") == "disk");
    // Nothing else is on disk: these are the relation's.
    CHECK(report.at("bytes").at("read") > 1'000'000);
  }
}

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
