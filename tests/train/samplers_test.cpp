// Every sampler of the registry, and every snapshot mode, trains: the same bits wherever edges are.
#include "support/expect_error.h"
#include "support/generated_dataset.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

// The keys that a sampler needs to make two layers of small mini-batches.
std::vector<std::string> keys_of(const std::string& sampler) {
  if (sampler == "ladies") return {"sampler.nodes=[256, 256]"};
  if (sampler == "subgraph") return {"sampler.fanout=[5, 5]"};
  if (sampler == "walk") return {"sampler.length=3", "sampler.layers=2"};
  if (sampler == "cluster") return {"sampler.clusters=20", "sampler.layers=2"};
  return {"sampler.fanout=[5, 5]"};
}

RunReport train_sampled(const TempDir& dir,
                        const std::string& toml,
                        const std::vector<std::string>& sets) {
  Quiet quiet;
  std::filesystem::remove_all(dir / "run");
  return run_training(options_of(toml, sets), RunDirectory::Mode::kNew, quiet.context);
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
