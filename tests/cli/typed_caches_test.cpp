// Row caches of several tables on disk, by each policy: the bits of a run in memory, also where a
// mini-batch asks for few rows of a large table and for many of others.
#include "cli/train_support.h"

#include <doctest/doctest.h>

using namespace sluice::test;
using nlohmann::json;

TEST_CASE(
    "each cache policy holds the few rows that are asked of a large table, and changes no bit") {
  const TempDir dir;
  const Outcome made = run({tool("sluice-prep"),
                            "generate",
                            "hetero",
                            "--out",
                            (dir / "data").string(),
                            "--relations",
                            "8",
                            "--kinds",
                            "4",
                            "--items",
                            "20000",
                            "--sources",
                            "60000",
                            "--edges",
                            "600000",
                            "--features",
                            "32",
                            "--classes",
                            "8",
                            "--train",
                            "0.02",
                            "--valid",
                            "0.0005",
                            "--test",
                            "0.001"});
  REQUIRE_MESSAGE(made.code == 0, made.err);
  const auto config = dir.write(
      "run.toml",
      "dataset.path = \"" + (dir / "data").string() + "\"\nrun.dir = \"" + (dir / "run").string() +
          "\"\nmemory.host = \"512MiB\"\nsampler.fanout = [3, 3]\n"
          "storage = { topology = \"memory\", plan = \"direct\" }\n"
          "model = { type = \"graphsage\", hidden = 16 }\n"
          "task = { type = \"node_classification\", node_type = \"item\" }\n"
          "[train]\nepochs = 1\nbatch_size = 64\ncompute_threads = 1\ncheckpoint_every = 0\n");
  const auto weights_of = [&](const std::string& features, const std::string& cache) {
    const Outcome outcome = train({"run",
                                   config.string(),
                                   "--json",
                                   "--overwrite",
                                   "--set",
                                   "storage.features=" + features,
                                   "--set",
                                   "storage.cache=" + cache});
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    return json::parse(outcome.out).at("weights_xxh3");
  };
  const json expected = weights_of("memory", "belady");
  for (const char* cache : {"lru", "none", "clock", "degree", "belady", "ranked", "proportional"}) {
    CAPTURE(cache);
    CHECK(weights_of("disk", cache) == expected);
  }
}
