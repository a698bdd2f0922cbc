// Training that goes on while its dataset grows: dataset.follow.
#include "support/expect_error.h"
#include "support/generated_dataset.h"
#include "train/support.h"

#include <doctest/doctest.h>
#include <spdlog/sinks/base_sink.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr int kNodes = 2000;  // of generate_dataset

// Calls back for every line of the log.
class LineSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit LineSink(std::function<void(const std::string&)> call) : call_(std::move(call)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    call_(std::string(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}
  std::function<void(const std::string&)> call_;
};

// Runs sluice-prep on the dataset; its exit code is 0.
void prep(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), tool("sluice-prep"));
  const Outcome outcome = run(arguments);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
}

// A tenth more edges, in the log of appended ones.
void append_edges(const TempDir& dir, std::uint64_t salt = 1) {
  std::ofstream edges(dir / "more.csv");
  edges << "source,target\n";
  for (std::uint64_t i = 0; i < 1000; ++i)
    edges << (i * 7919 + salt) % kNodes << ',' << (i * 104729 + 3 * salt) % kNodes << '\n';
  edges.close();
  std::ofstream config(dir / "more.toml");
  config << "[[edges]]\nfile = \"more.csv\"\n";
  config.close();
  prep({"append", (dir / "x").string(), "--config", (dir / "more.toml").string()});
}

void append_and_compact(const TempDir& dir) {
  append_edges(dir);
  prep({"compact", (dir / "x").string()});
}

// Ten nodes more, with features, labels and edges.
void append_nodes(const TempDir& dir) {
  std::ofstream nodes(dir / "features.csv");
  std::ofstream labels(dir / "labels.csv");
  for (int i = 0; i < 10; ++i) {
    labels << i % 4 << '\n';
    for (int j = 0; j < 20; ++j) nodes << i * j % 7 << (j == 19 ? '\n' : ',');
  }
  nodes.close();
  labels.close();
  std::ofstream edges(dir / "new.csv");
  for (int i = 0; i < 100; ++i) edges << kNodes + i % 10 << ',' << i * 17 % kNodes << '\n';
  edges.close();
  std::ofstream config(dir / "new.toml");
  config << "csv.header = \"no\"\n[[nodes]]\ncount = 2010\nfeatures = { file = "
            "\"features.csv\" }\n"
            "labels = { file = \"labels.csv\" }\n"
            "[[edges]]\nfile = \"new.csv\"\n";
  config.close();
  prep({"append", (dir / "x").string(), "--config", (dir / "new.toml").string()});
  prep({"compact", (dir / "x").string()});
}

// Trains, with `grow` called once, after the epoch `after` (from 1).
RunReport train_while(const TempDir& dir,
                      const std::vector<std::string>& sets,
                      int after,
                      const std::function<void()>& grow) {
  std::filesystem::remove_all(dir / "run");
  Quiet quiet;
  const std::string start = "epoch " + std::to_string(after) + "/";
  const auto sink = std::make_shared<LineSink>([&](const std::string& line) {
    if (line.compare(0, start.size(), start) == 0) grow();
  });
  quiet.log->sinks().push_back(sink);
  quiet.log->set_level(spdlog::level::info);
  return run_training(
      options_of(short_config(dir, dir / "x"), sets), RunDirectory::Mode::kNew, quiet.context);
}

std::vector<std::uint64_t> generations(const TempDir& dir) {
  std::vector<std::uint64_t> all;
  std::istringstream lines(read_all(dir / "run/metrics.jsonl"));
  for (std::string line; std::getline(lines, line);)
    all.push_back(nlohmann::json::parse(line).at("generation"));
  return all;
}

std::string hashes(const RunReport& report) {
  return to_json(report).at("weights_xxh3").dump() + to_json(report).at("batches_xxh3").dump();
}

std::vector<std::string> with(std::vector<std::string> sets, const std::vector<std::string>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

const std::vector<std::string> kMemory{"storage.features=memory", "storage.topology=memory"};
const std::vector<std::string> kDisk{"storage.features=disk", "storage.topology=disk"};
const std::vector<std::string> kFollow{"dataset.follow=true", "train.epochs=4"};

}  // namespace

TEST_CASE("a run that follows its dataset trains on what was appended from the next epoch on") {
  const auto grown = [&](const std::vector<std::string>& sets) {
    const TempDir dir;
    generate_dataset(dir / "x");
    const RunReport report = train_while(dir, sets, 2, [&] { append_and_compact(dir); });
    CHECK(generations(dir) == std::vector<std::uint64_t>{1, 1, 3, 3});
    CHECK(report.ledger_peak <= report.budget);
    return hashes(report);
  };
  const std::string expected = grown(with(kMemory, kFollow));
  CHECK(grown(with(kDisk, kFollow)) == expected);
  for (const auto& where : {kMemory, kDisk}) {
    CHECK(grown(with(with(where, kFollow),
                     {"sampler.snapshot.mode=full", "sampler.snapshot.hot=0.5"})) == expected);
  }
  const std::vector<std::string> refresh{"sampler.snapshot.mode=refresh",
                                         "sampler.snapshot.hot=0.5",
                                         "sampler.snapshot.period=3",
                                         "sampler.snapshot.alpha=1"};
  const std::string sampled = grown(with(with(kMemory, kFollow), refresh));
  CHECK(sampled != expected);
  CHECK(grown(with(with(kDisk, kFollow), refresh)) == sampled);
}

TEST_CASE("stopping, appending and going on is the same as appending meanwhile") {
  const auto train = [&](bool stop) {
    const TempDir dir;
    generate_dataset(dir / "x");
    if (!stop) {
      return hashes(train_while(dir, kFollow, 2, [&] { append_edges(dir); }));
    }
    (void)train_while(dir, {"train.epochs=2"}, 0, [] {});
    append_edges(dir);
    Quiet quiet;
    const std::string run = (dir / "run").string();
    const Error error =
        expect_error([&] { (void)resume_training(run, {"train.epochs=4"}, quiet.context); });
    CHECK(error.code() == ErrorCode::kData);
    CHECK(error.hint().find("dataset.follow = true") != std::string::npos);
    const RunReport report = resume_training(run, kFollow, quiet.context);
    const RunReport evaluated =
        evaluate_run(run, {}, {Part::kTest, CheckpointKind::kBest}, quiet.context);
    CHECK(evaluated.metrics.at("test.accuracy") == report.metrics.at("test.accuracy"));
    return hashes(report);
  };
  CHECK(train(true) == train(false));
}

TEST_CASE("a run that does not follow goes on over what it opened") {
  const TempDir dir;
  generate_dataset(dir / "x");
  for (const auto& where : {kMemory, kDisk}) {
    generate_dataset(dir / "x");
    const RunReport still = train_while(dir, with(where, {"train.epochs=3"}), 0, [] {});
    const RunReport grown =
        train_while(dir, with(where, {"train.epochs=3"}), 1, [&] { append_and_compact(dir); });
    CHECK(hashes(still) == hashes(grown));
    CHECK(generations(dir) == std::vector<std::uint64_t>{1, 1, 1});
  }
}

TEST_CASE("edges in the log are passed over while edges are read from disk") {
  const TempDir dir;
  generate_dataset(dir / "x");
  (void)train_while(dir, with(kDisk, kFollow), 1, [&] { append_edges(dir); });
  CHECK(generations(dir) == std::vector<std::uint64_t>{1, 1, 1, 1});
}

TEST_CASE("nodes may come too, with their features") {
  const auto grown = [&](const std::vector<std::string>& where) {
    const TempDir dir;
    generate_dataset(dir / "x");
    const RunReport report = train_while(dir, with(where, kFollow), 1, [&] { append_nodes(dir); });
    CHECK(generations(dir) == std::vector<std::uint64_t>{1, 3, 3, 3});
    return hashes(report);
  };
  CHECK(grown(kMemory) == grown(kDisk));
}

TEST_CASE("learned rows go on as they are where nodes come, and new ones begin by their numbers") {
  const std::vector<std::string> learned{"embedding.dim=8", "embedding.init=0.3"};
  const auto grown = [&](const std::vector<std::string>& sets, bool stop) {
    const TempDir dir;
    generate_dataset(dir / "x");
    const std::vector<std::string> all = with(with(sets, learned), {"dataset.follow=true"});
    if (!stop)
      return hashes(train_while(dir, with(all, {"train.epochs=4"}), 2, [&] { append_nodes(dir); }));
    (void)train_while(dir, with(all, {"train.epochs=2"}), 0, [] {});
    append_nodes(dir);
    Quiet quiet;
    return hashes(resume_training((dir / "run").string(), {"train.epochs=4"}, quiet.context));
  };
  const std::string expected = grown({"storage.embeddings=memory"}, false);
  CHECK(grown({"storage.embeddings=memory"}, true) == expected);
  CHECK(grown({"storage.embeddings=disk"}, false) == expected);
  CHECK(grown({"storage.embeddings=disk"}, true) == expected);
}

TEST_CASE("another graph in the dataset's place is an error, and the run is kept") {
  const TempDir dir;
  generate_dataset(dir / "x");
  const Error error = expect_error([&] {
    (void)train_while(dir, with(kFollow, {"train.checkpoint_every=0"}), 2, [&] {
      generate_dataset(dir / "x", {{"--seed", "9"}});
    });
  });
  CHECK(error.code() == ErrorCode::kData);
  CHECK(error.message().find("replaced by another one") != std::string::npos);
  CHECK(std::filesystem::exists(dir / "run/checkpoints/last.ckpt"));
}
