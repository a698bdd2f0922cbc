// A short training of every model, from disk and from memory, resumed, evaluated and used: what the
// sanitizers watch (preset asan). Elsewhere it is a quick look at the whole tool.
#include "cli/train_support.h"

#include <doctest/doctest.h>
#include <fstream>

using namespace sluice::test;
using nlohmann::json;

namespace {

// A sanitizer that finds something ends the tool with an exit code of its own, too.
void check_sound(const Outcome& outcome) {
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  CHECK(outcome.err.find("Sanitizer") == std::string::npos);
  CHECK(outcome.err.find("runtime error") == std::string::npos);
}

}  // namespace

TEST_CASE("every model trains for a short while, without a sound from the sanitizers") {
  const Sandbox box;
  for (const std::string& model : node_models()) {
    CAPTURE(model);
    std::vector<std::string> words{"--json", "--overwrite", "--set", "model.type=" + model};
    if (model == "mlp")
      words.insert(words.end(), {"--set", "storage.features=memory"});
    else
      words.insert(words.end(), {"--set", "storage.features=disk"});
    check_sound(box.run(words));
  }
}

TEST_CASE("learned rows train for a short while, in memory and on disk, by both kinds of losses") {
  const Sandbox box;
  const std::string config = box.folder() / "rows.toml";
  std::ofstream(config) << "dataset.path = \"" << box.dataset().string() << "\"\nrun.dir = \""
                        << box.dir().string()
                        << "\"\nmemory.host = \"128MiB\"\nmodel.type = \"embedding\"\n"
                           "embedding.dim = 16\n[task]\ntype = \"link_prediction\"\n"
                           "width = 16\nedge_split = [0.8, 0.1, 0.1]\ndecoder = \"complex\"\n"
                           "ends = \"both\"\nranking = \"all\"\n"
                           "[train]\nepochs = 2\nbatch_size = 16\ncompute_threads = 1\n";
  const std::vector<std::string> negatives{
      "task.loss=softmax", "task.share=true", "task.negatives=8"};
  for (const char* where : {"memory", "disk"}) {
    CAPTURE(where);
    std::vector<std::string> words{"run", config, "--overwrite"};
    words.insert(words.end(), {"--set", std::string("storage.embeddings=") + where});
    for (const std::string& each : negatives) words.insert(words.end(), {"--set", each});
    check_sound(train(words));
    check_sound(train({"evaluate", box.dir()}));
  }
  check_sound(train({"run", config, "--overwrite", "--set", "task.loss=all"}));
}

TEST_CASE("pread, a resumed run, evaluation and predictions") {
  const Sandbox box;
  check_sound(box.run({"--set", "storage.features=disk", "--set", "storage.io=pread"}));
  check_sound(train({"resume", box.dir(), "--set", "train.epochs=4"}));
  check_sound(train({"evaluate", box.dir()}));
  check_sound(train({"predict", box.dir(), "--out", (box.folder() / "p.csv").string()}));
}
