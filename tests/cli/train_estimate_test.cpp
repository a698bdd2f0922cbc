// What --dry-run estimates that an epoch reads, beside what it read.
#include "cli/train_support.h"

#include <doctest/doctest.h>

#include <cstdint>

using namespace sluice::test;
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("--dry-run estimates within a factor of 1.3 what the first epoch reads and writes") {
  const TempDir dir;
  const Outcome made = run({tool("sluice-prep"),
                            "generate",
                            "rmat",
                            "--scale",
                            "15",
                            "--edge-factor",
                            "8",
                            "--features",
                            "64",
                            "--train",
                            "0.1",
                            "--valid",
                            "0.0",
                            "--test",
                            "0.01",
                            "--out",
                            (dir / "x").string()});
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const fs::path config = dir.write(
      "x.toml",
      "dataset.path = \"" + (dir / "x").string() + "\"\nrun.dir = \"" + (dir / "run").string() +
          "\"\nmodel = { type = \"graphsage\", hidden = 16 }\nsampler.fanout = [5, 5]\n"
          "storage.features = \"disk\"\neval = { fanout = [2, 2], batch_size = 64 }\n"
          "[train]\nepochs = 1\nbatch_size = 32\ncompute_threads = 1\n");
  const std::uint64_t table = fs::file_size(dir / "x/nodes/node/features.bin");
  const auto command = [&](std::uint64_t host, const std::vector<std::string>& more) {
    std::vector<std::string> words{"run",
                                   config.string(),
                                   "--json",
                                   "--overwrite",
                                   "--set",
                                   "memory.host=" + std::to_string(host) + "B"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const json roomy = json::parse(train(command(512 << 20, {"--dry-run"})).out);
  const std::uint64_t least = roomy.at("memory").at("least");
  const auto near = [](double estimate, double found) {
    CAPTURE(estimate);
    CAPTURE(found);
    CHECK(estimate <= 1.3 * found);
    CHECK(found <= 1.3 * estimate);
  };
  for (const std::uint64_t percent : {25u, 100u}) {
    for (const std::string set :
         {"", "storage.plan=direct", "storage.cache=lru", "storage.topology=disk"}) {
      CAPTURE(percent);
      CAPTURE(set);
      std::vector<std::string> how;
      if (!set.empty()) how = {"--set", set};
      std::vector<std::string> dry_how = how;
      dry_how.emplace_back("--dry-run");
      const std::uint64_t host = least + table * percent / 100;
      const Outcome dry = train(command(host, dry_how));
      REQUIRE_MESSAGE(dry.code == 0, dry.err);
      const json epoch = json::parse(dry.out).at("epoch");
      CHECK(epoch.at("estimate") == true);
      CHECK(epoch.at("batches_sampled") < epoch.at("batches"));
      CHECK(epoch.at("seconds") > 0);
      CHECK(epoch.at("why").size() == 1);
      const Outcome outcome = train(command(host, how));
      REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
      const json line = json::parse(read_all(dir / "run/metrics.jsonl"));  // of one epoch
      near(epoch.at("bytes").at("read"), line.at("bytes").at("read"));
      const double written = line.at("bytes").at("written");
      if (written > 0) near(epoch.at("bytes").at("written"), written);
      const json& rows = epoch.at("rows");
      near(rows.at("wanted"), line.at("cache").at("wanted"));
      near(rows.at("missed"),
           line.at("cache").at("misses").at("first").get<double>() +
               line.at("cache").at("misses").at("again").get<double>());
    }
  }
  const Outcome text = train({"run", config.string(), "--dry-run", "--set", "memory.host=64MiB"});
  for (const char* part : {"ESTIMATED from ",
                           "#   reads ",
                           "#   rows: ",
                           "#   plan of node: ",
                           "# an epoch takes about ",
                           "the run takes at most "}) {
    CAPTURE(part);
    CHECK(text.out.find(part) != std::string::npos);
  }
}

// A machine that others use too is several times as slow now and then.
TEST_CASE("--dry-run estimates an epoch's seconds, and what learned rows move and take on disk") {
  const TempDir dir;
  const Outcome made = run({tool("sluice-prep"),
                            "generate",
                            "rmat",
                            "--scale",
                            "15",
                            "--edge-factor",
                            "4",
                            "--out",
                            (dir / "x").string()});
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const fs::path config = dir.write(
      "x.toml",
      "dataset.path = \"" + (dir / "x").string() + "\"\nrun.dir = \"" + (dir / "run").string() +
          "\"\nmodel.type = \"embedding\"\nembedding = { dim = 32 }\n"
          "[task]\ntype = \"link_prediction\"\nwidth = 32\nends = \"both\"\nloss = \"softmax\"\n"
          "negatives = 500\nshare = true\neval_negatives = 1\nedge_split = [0.98, 0.01, 0.01]\n"
          "[train]\nepochs = 2\nbatch_size = 500\ncompute_threads = 1\ncheckpoint_every = 0\n"
          "[eval]\nevery = 2\n");
  const auto report = [&](const std::string& where, std::uint64_t host, bool dry) {
    std::vector<std::string> words{"run",
                                   config.string(),
                                   "--json",
                                   "--overwrite",
                                   "--set",
                                   "storage.embeddings=" + where,
                                   "--set",
                                   "memory.host=" + std::to_string(host) + "B"};
    if (dry) words.emplace_back("--dry-run");
    const Outcome outcome = train(words);
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    return json::parse(outcome.out);
  };
  const auto near = [](double factor, double estimate, double found) {
    CAPTURE(estimate);
    CAPTURE(found);
    CHECK(estimate <= factor * found);
    CHECK(found <= factor * estimate);
  };
  const std::uint64_t least =
      report("disk", 512 << 20, true).at("memory").at("least").get<std::uint64_t>();
  for (const std::string where : {"memory", "disk"}) {
    CAPTURE(where);
    // Little beyond the least, so that few of the rows on disk stay in memory.
    const std::uint64_t host = where == "disk" ? least + (1 << 20) : 512 << 20;
    const json estimate = report(where, host, true).at("estimate");
    (void)report(where, host, false);
    const std::string lines = read_all(dir / "run/metrics.jsonl");
    const json second = json::parse(lines.substr(lines.find('\n') + 1));
    CHECK(estimate.at("steps_timed") > 0);
    CHECK(estimate.at("step_seconds") > 0);
    near(6, estimate.at("seconds"), second.at("seconds"));
    std::uint64_t taken = 0;
    for (const auto& entry : fs::recursive_directory_iterator(dir / "run/checkpoints"))
      if (entry.is_regular_file()) taken += entry.file_size();
    CHECK(estimate.at("run_disk_bytes") >= taken);
    if (where == "memory") {
      CHECK(estimate.at("bytes").at("read") == 0);
      continue;
    }
    // Few nodes have most of the links, and their rows stay in the cache: that is not foreseen.
    near(4, estimate.at("bytes").at("read"), second.at("bytes").at("read"));
    near(4, estimate.at("bytes").at("written"), second.at("bytes").at("written"));
  }
}
