// Learned rows of a run on a GPU, through the fake device library: the CPU's mini-batches, rows and
// metrics bit for bit, whether rows are kept on the GPU, go there from memory, or from disk.
#include "cli/fake_library.h"
#include "cli/triples.h"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::test;
using nlohmann::json;

namespace {

constexpr std::uint64_t kEntities = 2000;

using Sets = std::vector<std::string>;

Sets joined(Sets sets, const Sets& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

json report_over(const std::vector<std::string>& command) {
  const Outcome outcome = run(command);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return json::parse(outcome.out);
}

// What a command of a run directory writes.
std::string written(std::vector<std::string> command, const std::filesystem::path& out) {
  command.insert(command.end(), {"--out", out.string()});
  const Outcome outcome = train(command);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  return read_all(out);
}

}  // namespace

TEST_CASE("device: learned rows and their losses are the CPU's, wherever the rows are") {
  const Triples ground(kEntities);
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  int seed = 40;
  for (const char* optimizer : {"adagrad", "adam"}) {
    for (const Sets& loss : {Sets{"task.loss=softmax"},
                             Sets{"task.loss=all",
                                  "task.decoder=complex",
                                  "task.reciprocal=true",
                                  "train.batch_size=256",
                                  "train.epochs=2"}}) {
      CAPTURE(optimizer);
      CAPTURE(loss.front());
      const Sets sets =
          joined(loss, {std::string("embedding.optimizer=") + optimizer, "task.ranking=all"});
      const json expected = report_over(ground.command(joined(sets, {"train.device=cpu"})));
      const auto on_device = [&](const Sets& more) {
        const Environment order("SLUICE_FAKE_SEED", std::to_string(++seed));
        CAPTURE(seed);
        const json got =
            report_over(ground.command(joined(joined(sets, more), {"train.device=cuda"})));
        CHECK(got.at("device").at("kind") == "fake");
        CHECK(results(got) == results(expected));
        return got;
      };
      const json kept = on_device({"storage.embeddings=memory"});
      CHECK(kept.at("device").at("learned_rows") > kEntities * 64 * sizeof(float));
      const json little = on_device({"storage.embeddings=memory", "memory.gpu=\"1MiB\""});
      CHECK_FALSE(little.at("device").contains("learned_rows"));
      if (loss.front() == "task.loss=all") continue;  // wants all rows in memory
      const json disk = on_device({"storage.embeddings=disk"});
      CHECK(disk.at("storage").at("embeddings") == "disk");
      CHECK_FALSE(disk.at("device").contains("learned_rows"));
    }
  }
}

TEST_CASE("device: decoders of distances and their losses give the CPU's results") {
  const Triples ground(kEntities);
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  int seed = 60;
  for (const Sets& kind :
       {Sets{"task.decoder=rotate", "task.loss=self_adversarial", "task.gamma=6"},
        Sets{"task.decoder=rotate", "task.loss=margin"},
        Sets{"task.decoder=transe", "task.loss=margin", "task.distance=l1"},
        Sets{"task.decoder=transe",
             "task.loss=self_adversarial",
             "task.gamma=6",
             "task.temperature=0.5",
             "task.filtered=true"}}) {
    CAPTURE(kind[0]);
    CAPTURE(kind[1]);
    const Sets sets =
        joined(kind, {"task.ranking=all", "train.epochs=2", "embedding.optimizer=adam"});
    const json expected = report_over(ground.command(joined(sets, {"train.device=cpu"})));
    for (const char* rows : {"storage.embeddings=memory", "storage.embeddings=disk"}) {
      CAPTURE(rows);
      const Environment order("SLUICE_FAKE_SEED", std::to_string(++seed));
      CAPTURE(seed);
      const json got = report_over(ground.command(joined(sets, {"train.device=cuda", rows})));
      CHECK(got.at("device").at("kind") == "fake");
      CHECK(got.at("device").contains("learned_rows") ==
            (std::string(rows) == "storage.embeddings=memory"));
      CHECK(results(got) == results(expected));
    }
  }
}

TEST_CASE("device: learned rows alone by partitions give the CPU's results") {
  const Triples ground(kEntities);
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  const Sets sets{
      "embedding.mode=partitions", "embedding.partitions=4", "embedding.slots=2", "train.epochs=2"};
  const json expected =
      report_over(ground.command(joined(sets, {"train.device=cpu", "storage.embeddings=memory"})));
  for (const char* rows : {"storage.embeddings=memory", "storage.embeddings=disk"}) {
    CAPTURE(rows);
    const json got = report_over(ground.command(joined(sets, {"train.device=cuda", rows})));
    CHECK(got.at("device").at("kind") == "fake");
    CHECK(results(got) == results(expected));
    CHECK(got.at("approximate") == "partition mode");
    CHECK(got.at("partitions").at("neighbours") == "none");
  }
}

TEST_CASE("device: on a GPU an encoder's test ranks among drawn nodes, evaluate among all") {
  const Triples ground(kEntities);
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  const Sets sets{"model.type=graphsage",
                  "model.hidden=16",
                  "sampler.fanout=[4, 4]",
                  "task.ranking=all",
                  "train.epochs=2"};
  const json expected = report_over(ground.command(joined(sets, {"train.device=cpu"})));
  const Outcome trained = run(ground.command(joined(sets, {"train.device=cuda"})));
  REQUIRE_MESSAGE(trained.code == 0, trained.err);
  CHECK(trained.err.find("the test ranks among drawn nodes") != std::string::npos);
  const json got = json::parse(trained.out);
  CHECK(got.at("device").at("kind") == "fake");
  CHECK(got.at("weights_xxh3") == expected.at("weights_xxh3"));
  const auto mrr = [](const json& report, const char* part) {
    return report.at("metrics").at(std::string(part) + ".mrr").get<double>();
  };
  CHECK(mrr(got, "valid") == mrr(expected, "valid"));
  CHECK(mrr(got, "test") != mrr(expected, "test"));
  const Outcome evaluated = train({"evaluate", ground.dir().string(), "--json"});
  REQUIRE_MESSAGE(evaluated.code == 0, evaluated.err);
  CHECK(mrr(json::parse(evaluated.out), "test") == mrr(expected, "test"));
}

TEST_CASE("device: rows that are kept on a GPU are committed, go on, and are used as the CPU's") {
  const Triples ground(kEntities);
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  std::string ranks[2], tails[2], rows[2];
  json reports[2];
  for (const int on_device : {0, 1}) {
    CAPTURE(on_device);
    const std::string device = on_device == 1 ? "train.device=cuda" : "train.device=cpu";
    const std::string run_dir = ground.dir().string();
    (void)report_over(ground.command({device, "task.ranking=all", "train.epochs=2"}));
    const Outcome resumed = train({"resume", run_dir, "--json", "--set", "train.epochs=4"});
    REQUIRE_MESSAGE(resumed.code == 0, resumed.err);
    reports[on_device] = json::parse(resumed.out);
    const Outcome measured =
        train({"evaluate", run_dir, "--part", "valid", "--json", "--set", device});
    REQUIRE_MESSAGE(measured.code == 0, measured.err);
    ranks[on_device] = json::parse(measured.out).at("metrics").dump();
    const std::string name = std::to_string(on_device);
    tails[on_device] = written({"predict", run_dir, "--top", "5", "--set", device},
                               ground.folder() / (name + ".csv"));
    rows[on_device] = written({"export", run_dir}, ground.folder() / (name + ".safetensors"));
  }
  CHECK(results(reports[0]) == results(reports[1]));
  CHECK(reports[1].at("device").at("learned_rows") > 0);
  CHECK(ranks[0] == ranks[1]);
  CHECK(tails[0] == tails[1]);
  CHECK(rows[0] == rows[1]);
  // Without an interruption, too.
  const json whole =
      report_over(ground.command({"train.device=cuda", "task.ranking=all", "train.epochs=4"}));
  CHECK(results(whole) == results(reports[1]));
}

TEST_CASE("device: GraphSAGE over learned rows gives the CPU's results") {
  const Sandbox box;
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  const auto report = [&](const Sets& sets) {
    std::vector<std::string> command = box.command({"--json", "--overwrite"});
    for (const std::string& set : sets) command.insert(command.end(), {"--set", set});
    return report_over(command);
  };
  const Sets sets{"embedding.dim=8", "embedding.init=0.1", "train.epochs=2"};
  const json expected = report(joined(sets, {"train.device=cpu"}));
  for (const char* rows : {"storage.embeddings=memory", "storage.embeddings=disk"}) {
    CAPTURE(rows);
    const json got = report(joined(sets, {"train.device=cuda", rows}));
    CHECK(results(got) == results(expected));
    CHECK(got.at("device").contains("learned_rows") ==
          (std::string(rows) == "storage.embeddings=memory"));
  }
}

TEST_CASE("device: GraphSAGE by partitions of learned rows gives the CPU's results") {
  const Triples ground(kEntities);
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  const Sets sets{"model.type=graphsage",
                  "model.hidden=16",
                  "sampler.fanout=[4, 4]",
                  "embedding.mode=partitions",
                  "embedding.partitions=4",
                  "embedding.slots=2",
                  "train.epochs=2"};
  const json expected =
      report_over(ground.command(joined(sets, {"train.device=cpu", "storage.embeddings=memory"})));
  for (const char* rows : {"storage.embeddings=memory", "storage.embeddings=disk"}) {
    CAPTURE(rows);
    const json got = report_over(ground.command(joined(sets, {"train.device=cuda", rows})));
    CHECK(got.at("device").at("kind") == "fake");
    CHECK(results(got) == results(expected));
    CHECK(got.at("partitions").at("neighbours") == "resident");
  }
}

TEST_CASE("device: a dry run says what learned rows take on the GPU") {
  const Triples ground(kEntities);
  const Environment library("SLUICE_CUDA_LIBRARY", fake_library());
  std::vector<std::string> command{tool("sluice-train"),
                                   "run",
                                   (ground.folder() / "run.toml").string(),
                                   "--dry-run",
                                   "--set",
                                   "train.device=cuda"};
  const Outcome dry = run(command);
  REQUIRE_MESSAGE(dry.code == 0, dry.err);
  const auto gpu = dry.out.find("# on the GPU\n");
  REQUIRE(gpu != std::string::npos);
  CHECK(dry.out.find("learned rows", gpu) != std::string::npos);
}
