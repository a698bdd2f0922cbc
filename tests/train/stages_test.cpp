// A run after a run: what the first makes of all nodes is attached, goes along the edges, and is
// trained on by the second.
#include "support/generated_dataset.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::test;

namespace {

void prepared(std::vector<std::string> command) {
  command.insert(command.begin(), tool("sluice-prep"));
  const Outcome outcome = run(command);
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
}

std::string stage_config(const TempDir& dir, const std::string& name, const std::string& more) {
  return "dataset.path = \"" + (dir / "data").string() + "\"\nrun.dir = \"" +
         (dir / name).string() + "\"\nmemory.host = \"256MiB\"\n" + more +
         "[train]\nepochs = 12\nbatch_size = 128\ncompute_threads = 1\n"
         "optimizer = { type = \"adam\", lr = 0.01 }\n";
}

}  // namespace

TEST_CASE("a second stage trains on labels and predictions of the first") {
  const TempDir dir;
  const std::string data = (dir / "data").string(), scores = (dir / "s.safetensors").string();
  generate_dataset(data);
  prepared({"propagate", data, "--method", "sign", "--hops", "1", "--memory", "64MiB"});
  const Quiet quiet;
  const RunReport first = run_training(
      options_of(stage_config(
          dir,
          "first",
          "[model]\ntype = \"sign\"\nhidden = 32\ntables = [\"features\", \"sign-*\"]\n")),
      RunDirectory::Mode::kNew,
      quiet.context);
  CHECK(first.metrics.at("test.accuracy") > 0.5);  // chance is 0.25
  (void)embed_run((dir / "first").string(), {}, {}, {}, scores, quiet.context);
  prepared({"attach", data, scores, "--name", "stage-1", "--dtype", "f16"});
  prepared({"propagate",
            data,
            "--method",
            "labels",
            "--hops",
            "2",
            "--predictions",
            "stage-1",
            "--memory",
            "64MiB"});
  const std::string second_config = stage_config(
      dir,
      "second",
      "[model]\ntype = \"sehgnn\"\nhidden = 32\ntables = [\"features\", \"sign-*\"]\n"
      "label_tables = [\"labels-*\"]\n"
      "[task]\ntype = \"node_classification\"\npredictions = \"stage-1\"\nconfidence = 0.6\n"
      "predicted_weight = 2\n");
  const RunReport second =
      run_training(options_of(second_config), RunDirectory::Mode::kNew, quiet.context);
  CHECK(second.metrics.at("test.accuracy") > 0.5);
  // The same again is the same run.
  const RunReport again =
      run_training(options_of(second_config, {"run.dir=" + (dir / "again").string()}),
                   RunDirectory::Mode::kNew,
                   quiet.context);
  CHECK(again.metrics == second.metrics);
}
