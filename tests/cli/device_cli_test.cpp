// A run on a device, end to end through sluice-train and the fake device library: the results of
// the CPU bit for bit, refusals, and a CPU-only start that loads nothing of CUDA.
#include "cli/fake_library.h"
#include "cli/train_support.h"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::test;
using nlohmann::json;

namespace {

// A run's report; `more` are --set assignments.
json report_of(const Sandbox& box, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"--json", "--overwrite"};
  for (const std::string& assignment : more)
    arguments.insert(arguments.end(), {"--set", assignment});
  const Outcome outcome = box.run(arguments);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return json::parse(outcome.out);
}

std::vector<std::string> with(std::vector<std::string> sets, const std::string& more) {
  sets.push_back(more);
  return sets;
}

}  // namespace

TEST_CASE(
    "device: every model gives the CPU's results through a fake device, from memory and disk") {
  const Sandbox box;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  int seed = 0;
  for (const std::string& model : node_models()) {
    CAPTURE(model);
    const std::vector<std::string> sets{"model.type=" + model, "train.epochs=2"};
    const json expected = report_of(box, with(sets, "train.device=cpu"));
    CHECK(expected.at("device") == json{{"kind", "cpu"}});
    for (const char* features : {"storage.features=memory", "storage.features=disk"}) {
      const Environment order("SLUICE_FAKE_SEED", std::to_string(++seed));
      CAPTURE(seed);
      const json got = report_of(box, with(with(sets, features), "train.device=cuda"));
      CHECK(results(got) == results(expected));
      const json& device = got.at("device");
      CHECK(device.at("kind") == "fake");
      CHECK(device.at("in_flight") > 0);
      CHECK(device.at("transferred") > 0);
      CHECK(device.at("in_flight") <= device.at("budget"));
      CHECK(device.at("pinned") == true);
      CHECK(device.at("gather") == "host");
    }
  }
}

TEST_CASE("device: without hashing the GPU gathers features itself, and weights are the same") {
  const Sandbox box;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  const json expected = report_of(box, {"train.device=cpu"});
  for (const char* features : {"storage.features=memory", "storage.features=disk"}) {
    const json got = report_of(box, {"train.device=cuda", "train.hash_batches=false", features});
    CHECK(got.at("weights_xxh3") == expected.at("weights_xxh3"));
    CHECK(got.at("metrics") == expected.at("metrics"));
    CHECK(got.at("batches_xxh3").is_null());
    CHECK(got.at("device").at("gather") == "gpu");
  }
}

TEST_CASE("device: that memory is not pinned is said once, and the results are the same") {
  const Sandbox box;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  const json expected = report_of(box, {"train.device=cpu"});
  const Environment unpinned("SLUICE_FAKE_UNPINNED", "1");
  const Outcome outcome = box.run(
      {"--json", "--overwrite", "--set", "train.device=cuda", "--set", "train.hash_batches=false"});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  const json got = json::parse(outcome.out);
  CHECK(got.at("weights_xxh3") == expected.at("weights_xxh3"));
  CHECK(got.at("device").at("pinned") == false);
  CHECK(got.at("device").at("gather") == "host");
  const auto said = outcome.err.find("(pinning is refused)");
  REQUIRE(said != std::string::npos);
  CHECK(outcome.err.find("(pinning is refused)", said + 1) == std::string::npos);
}

TEST_CASE("device: multi-label and regression, evaluate and predict, go through a device too") {
  const TempDir dir;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  for (const char* labels : {"multi_label", "regression"}) {
    CAPTURE(labels);
    const std::string data = (dir / labels).string();
    generate_dataset(data, {{"--labels", labels}});
    const bool regression = std::string(labels) == "regression";
    const auto config = dir.write(std::string(labels) + ".toml",
                                  "dataset.path = \"" + data +
                                      "\"\nmemory.host = \"128MiB\"\n"
                                      "sampler.fanout = [5, 5]\ntask.type = \"" +
                                      (regression ? "regression" : "node_classification") +
                                      "\"\n[train]\nepochs = 2\ncompute_threads = 1\n");
    json reports[2];
    std::string predictions[2], evaluations[2];
    for (const int on_device : {0, 1}) {
      const std::string run_dir = (dir / (labels + std::to_string(on_device))).string();
      const std::string device = on_device == 1 ? "train.device=cuda" : "train.device=cpu";
      const Outcome trained =
          train({"run", config.string(), "--json", "--set", device, "--set", "run.dir=" + run_dir});
      REQUIRE_MESSAGE(trained.code == 0, trained.err);
      reports[on_device] = json::parse(trained.out);
      const Outcome measured =
          train({"evaluate", run_dir, "--part", "valid", "--json", "--set", device});
      REQUIRE_MESSAGE(measured.code == 0, measured.err);
      evaluations[on_device] = json::parse(measured.out).at("metrics").dump();
      const std::string out = (dir / (labels + std::to_string(on_device) + ".csv")).string();
      const Outcome predicted = train({"predict", run_dir, "--out", out, "--set", device});
      REQUIRE_MESSAGE(predicted.code == 0, predicted.err);
      predictions[on_device] = read_all(out);
    }
    CHECK(results(reports[0]) == results(reports[1]));
    CHECK(evaluations[0] == evaluations[1]);
    CHECK(predictions[0] == predictions[1]);
    CHECK(predictions[0].size() > 1000);
  }
}

TEST_CASE("device: links go through a device too, and are predicted with the CPU's bits") {
  const Sandbox box;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  json reports[2];
  std::string predictions[2];
  for (const int on_device : {0, 1}) {
    CAPTURE(on_device);
    const std::string device = on_device == 1 ? "train.device=cuda" : "train.device=cpu";
    reports[on_device] = report_of(box,
                                   {device,
                                    "task.type=link_prediction",
                                    "task.edge_split=[0.85, 0.05, 0.1]",
                                    "task.decoder=mlp",
                                    "task.width=16",
                                    "task.eval_negatives=5",
                                    "train.epochs=1",
                                    "train.batch_size=512"});
    const std::string out = (box.folder() / (std::to_string(on_device) + ".csv")).string();
    const Outcome predicted = train({"predict", box.dir(), "--out", out, "--set", device});
    REQUIRE_MESSAGE(predicted.code == 0, predicted.err);
    predictions[on_device] = read_all(out);
  }
  CHECK(results(reports[0]) == results(reports[1]));
  CHECK(reports[1].at("metrics").contains("test.mrr"));
  CHECK(predictions[0] == predictions[1]);
  CHECK(predictions[0].starts_with("source,target,probability\n"));
  CHECK(predictions[0].size() > 1000);
}

TEST_CASE("device: a run goes on on the device that it was begun on, and on no other") {
  const Sandbox box;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  const json whole = report_of(box, {"train.device=cuda"});
  (void)report_of(box, {"train.device=cuda", "train.epochs=1"});
  const std::string run_dir = box.dir().string();
  const Outcome other =
      train({"resume", run_dir, "--set", "train.epochs=3", "--set", "train.device=cpu"});
  CHECK(other.code == 2);
  CHECK(other.err.find("the run was begun on device 'fake' and cannot go on on 'cpu'") !=
        std::string::npos);
  const Outcome same = train({"resume", run_dir, "--json", "--set", "train.epochs=3"});
  REQUIRE_MESSAGE(same.code == 0, same.err);
  CHECK(json::parse(same.out).at("weights_xxh3") == whole.at("weights_xxh3"));
  // Its weights serve anywhere.
  CHECK(train({"evaluate", run_dir, "--set", "train.device=cpu"}).code == 0);
}

TEST_CASE("device: a GPU that is asked for and not there ends the run with code 4; auto goes on") {
  const Sandbox box;
  const Environment library("SLUICE_CUDA_LIBRARY", "/nowhere/libsluice_cuda.so");
  const Outcome asked = box.run({"--set", "train.device=cuda"});
  CHECK(asked.code == 4);
  CHECK(asked.err.find("/nowhere/libsluice_cuda.so") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(box.dir()));
  const json automatic = report_of(box, {"train.device=auto"});
  CHECK(automatic.at("device").at("kind") == "cpu");
  {
    // A library, but no device library.
    const Environment wrong("SLUICE_CUDA_LIBRARY", "libm.so.6");
    const Outcome outcome = box.run({"--overwrite", "--set", "train.device=cuda"});
    CHECK(outcome.code == 4);
    CHECK(outcome.err.find("sluice_device_library") != std::string::npos);
  }
}

TEST_CASE("device: a budget too small for the GPU is refused with what it needs") {
  const Sandbox box;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  const Outcome outcome =
      box.run({"--set", "train.device=cuda", "--set", "memory.gpu=\"4KiB\"", "--json"});
  CHECK(outcome.code == 4);
  CHECK(outcome.out.find("[memory] gpu") != std::string::npos);
  CHECK(outcome.out.find("mini-batches in flight") != std::string::npos);
  const Outcome much = box.run({"--set", "train.device=cuda", "--set", "memory.gpu=\"1TiB\""});
  CHECK(much.code == 4);
  CHECK(much.err.find("is more than a fake device has free") != std::string::npos);
  const Outcome dry = box.run({"--set", "train.device=cuda", "--dry-run"});
  CHECK(dry.code == 0);
  CHECK(dry.out.find("# on the GPU\n  mini-batches in flight") != std::string::npos);
}

TEST_CASE("device: an order that is broken ends the run as a bug") {
  const Sandbox box;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  for (const char* forget : {"compute", "copy", "host"}) {
    CAPTURE(forget);
    const Environment planted("SLUICE_FAKE_FORGET", forget);
    const Outcome outcome = box.run({"--overwrite", "--set", "train.device=cuda"});
    CHECK(outcome.code == 70);
    CHECK(outcome.err.find("fake device: ") != std::string::npos);
  }
}

TEST_CASE("device: a CPU run neither needs nor loads CUDA's libraries") {
  const Sandbox box;
  const Outcome needs = run({"ldd", tool("sluice-train")});
  REQUIRE(needs.code == 0);
  CHECK(needs.out.find("libtorch_cpu.so") != std::string::npos);
  // What the dynamic loader opens during a whole run, dlopen included.
  const Environment trace("LD_DEBUG", "files");
  const Outcome outcome = box.run({"--set", "train.device=cpu", "--set", "train.epochs=1"});
  REQUIRE(outcome.code == 0);
  CHECK(outcome.err.find("libtorch_cpu.so") != std::string::npos);
  for (const char* library : {"libsluice_cuda",
                              "libtorch_cuda",
                              "libc10_cuda",
                              "libcuda.so",
                              "libcublas",
                              "libcudnn",
                              "libcusparse",
                              "libnccl"}) {
    CAPTURE(library);
    CHECK(needs.out.find(library) == std::string::npos);
    CHECK(outcome.err.find(library) == std::string::npos);
  }
}

TEST_CASE("device: the training tool is resident with at most 150 MiB after its start") {
  const Outcome started = train({"config", "keys"});
  CHECK(started.code == 0);
  MESSAGE("resident: " << started.peak_rss_kib / 1024 << " MiB");
  CHECK(started.peak_rss_kib <= 150 * 1024);
}
