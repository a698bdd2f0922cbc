// Every sampler of the registry, and every snapshot mode, trains: the same bits wherever edges are.
#include "support/expect_error.h"
#include "support/generated_dataset.h"
#include "train/support.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

using namespace sluice;
using namespace sluice::test;

namespace {

// The keys that a sampler needs to make two layers of small mini-batches.
std::vector<std::string> keys_of(const std::string& sampler) {
  if (sampler == "ladies") return {"sampler.nodes=[256, 256]"};
  if (sampler == "walk") return {"sampler.length=3", "sampler.layers=2"};
  if (sampler == "cluster") return {"sampler.clusters=20", "sampler.layers=2"};
  const std::vector<std::string> by_fanout = names_with(registry().samplers, "fanout");
  if (std::ranges::find(by_fanout, sampler) != by_fanout.end()) return {"sampler.fanout=[5, 5]"};
  return {};
}

RunReport train_sampled(const TempDir& dir,
                        const std::string& toml,
                        const std::vector<std::string>& sets) {
  Quiet quiet;
  std::filesystem::remove_all(dir / "run");
  return run_training(options_of(toml, sets), RunDirectory::Mode::kNew, quiet.context);
}

// Whose edges lead from nodes of the target's own class; the others' come from any.
enum class Tell { kEarly, kLate };

// 600 nodes of four classes that are asked about at time 100. Their own features say the class of
// five in eight; edges of before or of after that time tell it of all.
void import_timed_graph(const TempDir& dir, Tell which) {
  constexpr std::uint64_t kNodes = 600, kClasses = 4, kEdges = 8;
  const RandomKey key = RandomKey(3).with("timed graph");
  std::string nodes = "f0,f1,f2,f3,label,time\n", edges = "src,dst,time\n";
  const auto of_class = [&](std::uint64_t label, std::uint64_t draw) {
    return key.below(kNodes / kClasses, draw) * kClasses + label % kClasses;
  };
  std::uint64_t draw = 0;
  for (std::uint64_t node = 0; node < kNodes; ++node) {
    const std::uint64_t label = node % kClasses;
    const std::uint64_t shown = key.uniform(draw++) < 0.5 ? label : key.below(kClasses, draw++);
    for (std::uint64_t c = 0; c < kClasses; ++c) nodes += c == shown ? "1," : "0,";
    nodes += std::to_string(label) + ",100\n";
    const auto edge = [&](bool tells, std::uint64_t first_time) {
      const std::uint64_t from = tells ? label : key.below(kClasses, draw++);
      const std::uint64_t source = of_class(from, draw++);
      const std::uint64_t time = first_time + key.below(100, draw++);
      edges +=
          std::to_string(source) + "," + std::to_string(node) + "," + std::to_string(time) + "\n";
    };
    for (std::uint64_t i = 0; i < kEdges; ++i) {
      edge(which == Tell::kEarly, 0);
      edge(which == Tell::kLate, 100);
    }
  }
  dir.write("nodes.csv", nodes);
  dir.write("edges.csv", edges);
  dir.write("graph.toml",
            "[[nodes]]\ntype = \"node\"\ncount = 600\n"
            "features = { file = \"nodes.csv\", columns = [\"f0\", \"f1\", \"f2\", \"f3\"] }\n"
            "labels = { file = \"nodes.csv\", columns = [\"label\"] }\n"
            "times = { file = \"nodes.csv\", column = \"time\" }\n"
            "[[edges]]\nfile = \"edges.csv\"\ntime_column = \"time\"\n"
            "[[splits]]\nratio = [0.5, 0.2, 0.3]\n");
  const Outcome outcome = test::run({tool("sluice-prep"),
                                     "import",
                                     "--config",
                                     (dir / "graph.toml").string(),
                                     "--overwrite",
                                     "--root",
                                     dir.path().string(),
                                     "--out",
                                     (dir / "x").string()});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
}

// Trained with everything in memory and with all of it on disk: the same.
RunReport train_twice(const TempDir& dir, const std::string& toml, std::vector<std::string> sets) {
  sets.push_back("storage.features=memory");
  sets.push_back("storage.topology=memory");
  const RunReport memory = train_sampled(dir, toml, sets);
  sets.push_back("storage.features=disk");
  sets.push_back("storage.topology=disk");
  const RunReport disk = train_sampled(dir, toml, sets);
  CHECK(to_json(memory).at("batches_xxh3") == to_json(disk).at("batches_xxh3"));
  CHECK(to_json(memory).at("weights_xxh3") == to_json(disk).at("weights_xxh3"));
  return disk;
}

std::string config_without_sampler(const TempDir& dir) {
  std::string toml = short_config(dir, dir / "x");
  const std::string line = "sampler.fanout = [5, 5]\n";
  return toml.erase(toml.find(line), line.size());
}

}  // namespace

TEST_CASE("every sampler trains to what the graph teaches, from memory and from disk alike") {
  const TempDir dir;
  generate_dataset(dir / "x");
  for (const auto& entry : registry().samplers.list()) {
    CAPTURE(entry.name);
    const auto method = registry().samplers.create({entry.name, nullptr});
    if (method->needs_times()) continue;  // below: this graph has none
    std::vector<std::string> sets = keys_of(entry.name);
    sets.insert(sets.begin(), "sampler.type=" + entry.name);
    sets.insert(sets.end(), {"train.epochs=8", "train.optimizer.lr=0.01"});
    const RunReport report = train_twice(dir, config_without_sampler(dir), sets);
    CHECK(report.metrics.at("test.accuracy") > 0.7);
    CHECK(report.ledger_peak <= report.budget);
  }
}

TEST_CASE("whole lists kept of hot nodes change no bit, samples of them are the same anywhere") {
  const TempDir dir;
  generate_dataset(dir / "x");
  const std::string config = short_config(dir, dir / "x");
  const RunReport off = train_twice(dir, config, {});
  for (const char* mode : {"full", "refresh", "on_the_fly"}) {
    CAPTURE(std::string(mode));
    const RunReport report = train_twice(dir,
                                         config,
                                         {std::string("sampler.snapshot.mode=") + mode,
                                          "sampler.snapshot.period=2",
                                          "sampler.snapshot.alpha=1",
                                          "sampler.snapshot.hot=0.5"});
    CHECK((to_json(report).at("batches_xxh3") == to_json(off).at("batches_xxh3")) ==
          (std::string(mode) == "full"));
  }
}

TEST_CASE("weights are asked of a dataset that has them") {
  const TempDir dir;
  generate_dataset(dir / "x");
  const Error error = expect_error(
      [&] { train_sampled(dir, short_config(dir, dir / "x"), {"sampler.weighted=true"}); });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(error.message() == "[sampler] weighted is set, but no relation of the dataset has weights");
}

TEST_CASE("the temporal sampler sees what was before each node's time, and nothing later") {
  const TempDir dir;
  const auto accuracy = [&](Tell which, std::vector<std::string> sets) {
    import_timed_graph(dir, which);
    sets.insert(sets.end(), {"train.epochs=20", "train.optimizer.lr=0.01"});
    const RunReport report = train_twice(dir, config_without_sampler(dir), sets);
    const double reached = report.metrics.at("test.accuracy");
    const bool timed = sets.front() == "sampler.type=temporal";
    CHECK(to_json(report).value("visibility", "none") == (timed ? "strict" : "none"));
    MESSAGE(sets.front(), std::string(which == Tell::kEarly ? ", early: " : ", late: "), reached);
    return reached;
  };
  const std::vector<std::string> temporal{"sampler.type=temporal", "sampler.count=[5, 5]"};
  const std::vector<std::string> neighbor{"sampler.type=neighbor", "sampler.fanout=[5, 5]"};
  CHECK(accuracy(Tell::kEarly, temporal) > 0.9);
  const double blind = accuracy(Tell::kLate, temporal);
  CHECK(blind < 0.7);
  CHECK(accuracy(Tell::kLate, neighbor) > blind + 0.1);  // it is told what came later
  std::vector<std::string> other = temporal;
  other.push_back("eval.fanout=[5, 5]");
  const Error eval = expect_error([&] { accuracy(Tell::kEarly, other); });
  CHECK(eval.message().find("eval.fanout") != std::string::npos);
}

TEST_CASE("times are asked of a dataset that has them") {
  const TempDir dir;
  generate_dataset(dir / "x");
  const Error error = expect_error([&] {
    train_sampled(
        dir, config_without_sampler(dir), {"sampler.type=temporal", "sampler.count=[5, 5]"});
  });
  CHECK(error.code() == ErrorCode::kUsage);
  CHECK(error.message().find("time") != std::string::npos);
}
