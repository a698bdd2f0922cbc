// sluice-train resume: after Ctrl-C, after kills, and what it refuses to go on from.
#include "cli/train_support.h"

#include <doctest/doctest.h>

#include <csignal>
#include <fstream>
#include <ios>

using namespace sluice;
using namespace sluice::test;
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("Ctrl-C exits 130 with a checkpoint, and resume gives what an uninterrupted run gives") {
  const Sandbox box;
  const std::vector<std::string> longer{"--json", "--set", "train.epochs=40"};
  const json whole = json::parse(box.run(longer).out);
  const std::string lines = box.metrics();
  int caught = 0;
  for (const int number : {SIGINT, SIGTERM}) {
    fs::remove_all(box.dir());
    Process process(box.command(longer));
    box.wait_for_lines(3);
    process.signal(number);
    const Outcome stopped = process.finish();
    if (stopped.code == 0) continue;  // it was quicker
    ++caught;
    CHECK(stopped.code == 130);
    CHECK(stopped.err.find("a checkpoint is written") != std::string::npos);
    CHECK(stopped.err.find("go on with: sluice-train resume " + box.dir().string()) !=
          std::string::npos);
    CHECK(json::parse(stopped.out).at("error").at("code") == "interrupted");
    const Outcome resumed = train({"resume", box.dir(), "--json"});
    REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
    CHECK(resumed.err.find("resumed in epoch ") != std::string::npos);
    CHECK(results(json::parse(resumed.out)) == results(whole));
    CHECK(box.metrics() == lines);
  }
  CHECK(caught > 0);
}

TEST_CASE("SIGKILL at random moments loses nothing that a checkpoint holds") {
  const Sandbox box;
  // A checkpoint after every mini-batch, so that kills meet every stage of writing one.
  const std::vector<std::string> often{
      "--json", "--set", "train.epochs=12", "--set", "train.checkpoint_minutes=1e-9"};
  const auto begin = std::chrono::steady_clock::now();
  const json whole = json::parse(box.run(often).out);
  const auto length = std::chrono::steady_clock::now() - begin;
  const std::string lines = box.metrics();
  int in_the_middle = 0;
  int killed = 0;
  constexpr int kRounds = 6;
  for (int round = 0; round < kRounds; ++round) {
    CAPTURE(round);
    fs::remove_all(box.dir());
    Process process(box.command(often));
    const double share = 0.3 + 0.1 * round;
    std::this_thread::sleep_for(
        std::chrono::duration_cast<std::chrono::nanoseconds>(length * share));
    process.signal(SIGKILL);
    killed += process.finish().code == -SIGKILL ? 1 : 0;
    if (!fs::exists(box.dir() / "config.resolved.toml")) continue;  // killed before it began
    const Outcome resumed = train({"resume", box.dir(), "--json"});
    REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
    if (resumed_after(resumed.err) > 0) ++in_the_middle;
    CHECK(results(json::parse(resumed.out)) == results(whole));
    CHECK(box.metrics() == lines);
  }
  MESSAGE(killed << " killed, " << in_the_middle << " resumed in the middle of an epoch");
  CHECK(in_the_middle > 0);
}

TEST_CASE("resume refuses damaged, newer and foreign checkpoints and changed data") {
  const Sandbox box;
  REQUIRE(box.run({}).code == 0);
  const fs::path checkpoint = box.dir() / "checkpoints/last.ckpt";
  const std::string sound = read_all(checkpoint);
  const auto resume_with = [&](std::string bytes) {
    std::ofstream(checkpoint, std::ios::binary) << bytes;
    return train({"resume", box.dir()});
  };
  std::string flipped = sound;
  flipped[flipped.size() / 2] ^= 1;
  const Outcome damaged = resume_with(flipped);
  CHECK(damaged.code == 3);
  CHECK(damaged.err.find("last.ckpt") != std::string::npos);
  CHECK(damaged.err.find("the checkpoint is damaged: ") != std::string::npos);
  CHECK(resume_with(sound.substr(0, sound.size() / 2)).err.find("it is truncated") !=
        std::string::npos);
  CHECK(resume_with("not one at all, but long enough to look into").err.find("not a checkpoint") !=
        std::string::npos);
  const fs::path other = box.folder() / "other";
  REQUIRE(box.run({"--set", "model.type=gcn", "--set", "run.dir=" + other.string()}).code == 0);
  const Outcome model = resume_with(read_all(other / "checkpoints/last.ckpt"));
  CHECK(model.code == 2);
  CHECK(model.err.find("the checkpoint is of model 'gcn', the run is of 'graphsage'") !=
        std::string::npos);
  REQUIRE(resume_with(sound).code == 0);
  const Outcome threads = train({"resume", box.dir(), "--set", "train.compute_threads=2"});
  CHECK(threads.code == 2);
  CHECK(threads.err.find("cannot go on with 2") != std::string::npos);
  CHECK(train({"resume", box.dir(), "--set", "train.batch_size=8"})
            .err.find("train.batch_size: 16 -> 8") != std::string::npos);
  CHECK(train({"resume", box.folder()}).code == 2);
  CHECK(train({"resume", box.dir(), "--set", "train.epochs=4"}).code == 0);

  generate_dataset(box.dataset(), {{"--seed", "2"}});
  const Outcome changed = train({"resume", box.dir(), "--json"});
  CHECK(changed.code == 3);
  CHECK(json::parse(changed.out)
            .at("error")
            .at("message")
            .get<std::string>()
            .find("the dataset changed under the run") != std::string::npos);
  CHECK(train({"evaluate", box.dir()}).code == 3);
}
