// Runs of models that remember nodes: in parts as in one, from disk as in memory, and what a test
// has seen when it begins.
#include "core/threads.h"
#include "support/timed_events.h"
#include "train/event_features.h"
#include "train/parts.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

// No figure is the same as none.
bool same_numbers(const Metrics& a, const Metrics& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first &&
           (x.second == y.second || (std::isnan(x.second) && std::isnan(y.second)));
  });
}

struct EventRun {
  const TimedEvents& events;
  std::string model;

  RunOptions options(const std::string& name, std::vector<std::string> sets) const {
    sets.push_back("run.dir=" + (events.folder() / name).string());
    return options_of(events.config(model), sets);
  }
  RunReport train(const std::string& name, std::vector<std::string> sets = {}) const {
    Quiet quiet;
    return run_training(options(name, std::move(sets)), RunDirectory::Mode::kNew, quiet.context);
  }
};

}  // namespace

TEST_CASE("runs of models that remember are functions of their seed, in parts and from disk") {
  const TimedEvents events;
  for (const char* model : kMemoryModelTables) {
    CAPTURE(model);
    const EventRun run{events, model};
    const std::string name = std::string(model).substr(8, 3);
    const RunReport whole = run.train(name + "whole");
    REQUIRE(whole.metrics.contains("test.ap"));

    (void)run.train(name + "parts", {"train.epochs=1"});
    Quiet quiet;
    const RunReport resumed = resume_training(
        (events.folder() / (name + "parts")).string(), {"train.epochs=3"}, quiet.context);
    CHECK(resumed.weights_xxh3 == whole.weights_xxh3);
    CHECK(same_numbers(resumed.metrics, whole.metrics));

    const RunReport disk = run.train(name + "disk", {"storage.embeddings=disk"});
    CHECK(disk.learned == "disk");
    CHECK(disk.weights_xxh3 == whole.weights_xxh3);
    CHECK(same_numbers(disk.metrics, whole.metrics));

    // A stored run has its best epoch's rows as training left them: validation comes anew.
    for (const char* stored : {"whole", "disk"}) {
      CAPTURE(stored);
      const std::string dir = (events.folder() / (name + stored)).string();
      for (int round = 0; round < 2; ++round) {
        const RunReport again = evaluate_run(dir, {}, {}, quiet.context);
        CHECK(again.metrics.at("test.ap") == whole.metrics.at("test.ap"));
      }
      EvaluateOptions valid;
      valid.part = Part::kValid;
      const RunReport validated = evaluate_run(dir, {}, valid, quiet.context);
      CHECK(validated.metrics.at("valid.ap") == whole.metrics.at("valid.ap"));
    }
  }
}

TEST_CASE("an epoch begins without what the one before it remembered") {
  const TimedEvents events;
  // Nothing is learned: so all epochs end the same. Walks begin with other random rows in each.
  for (const char* model : {kMemoryModelTables[0], kMemoryModelTables[1]}) {
    CAPTURE(model);
    const EventRun run{events, model};
    const std::string name = std::string(model).substr(8, 3);
    (void)run.train(name, {"train.optimizer.lr=0"});
    std::ifstream lines(events.folder() / name / "metrics.jsonl");
    std::vector<nlohmann::json> valid;
    for (std::string line; std::getline(lines, line);)
      valid.push_back(nlohmann::json::parse(line).at("metrics"));
    REQUIRE(valid.size() == 3);
    for (const char* metric : {"valid.ap", "valid.loss"}) {
      CAPTURE(metric);
      CHECK(valid[1].at(metric) == valid[0].at(metric));
      CHECK(valid[2].at(metric) == valid[0].at(metric));
    }
  }
}

TEST_CASE("features of events are those of their edge ids") {
  const TimedEvents events;
  const Dataset dataset = Dataset::open((events.folder() / "data").string());
  ThreadArena threads(1);
  EventFeatures features(dataset, 0, IoChoice::kAuto, &threads);
  const std::vector<std::uint64_t> ids{5, 0, TimedEvents::kEvents - 1, 5};
  Array asked = Array::make(DType::kU64, {4}).or_throw();
  std::ranges::copy(ids, asked.as<std::uint64_t>().begin());
  const torch::Tensor got = features.of(asked);
  REQUIRE(got.sizes() == torch::IntArrayRef({4, 2}));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    CHECK(got[row][0].item<float>() == TimedEvents::size_of(ids[i]));
    CHECK(got[row][1].item<float>() == TimedEvents::tone_of(ids[i]));
  }
}

TEST_CASE("a model that remembers wants events, in the order of time") {
  const TimedEvents events;
  const RunOptions options = EventRun{events, kMemoryModelTables[0]}.options("parts", {});
  Parts parts(options,
              RunDevice{},
              std::make_shared<MemoryLedger>(),
              PartsPlacement{Placement::kMemory, Placement::kMemory});
  const auto loader = parts.training_loader({});
  loader->start({});
  const auto first = loader->next();
  const auto second = loader->next();
  REQUIRE(second);
  parts.state.go_to(1);
  parts.state.begin(*second);
  parts.state.commit(*second);
  CHECK_THROWS_AS(parts.state.begin(*first), Error);
  parts.state.go_to(2);
  parts.state.begin(*first);
  parts.state.end();
  Batch nodes = *first;
  nodes.queries.kind = QueryKind::kNodes;
  nodes.queries.nodes = nodes.queries.sources;
  CHECK_THROWS_AS(parts.state.begin(nodes), Error);
}
