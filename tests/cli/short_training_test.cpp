// A short training of every model, from disk and from memory, resumed, evaluated and used: what the
// sanitizers watch (preset asan). Elsewhere it is a quick look at the whole tool.
#include "cli/train_support.h"

#include <doctest/doctest.h>

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
  for (const std::string& model : names_in("model")) {
    CAPTURE(model);
    std::vector<std::string> words{"--json", "--overwrite", "--set", "model.type=" + model};
    if (model == "mlp")
      words.insert(words.end(), {"--set", "storage.features=memory"});
    else
      words.insert(words.end(), {"--set", "storage.features=disk"});
    check_sound(box.run(words));
  }
}

TEST_CASE("pread, a resumed run, evaluation and predictions") {
  const Sandbox box;
  check_sound(box.run({"--set", "storage.features=disk", "--set", "storage.io=pread"}));
  check_sound(train({"resume", box.dir(), "--set", "train.epochs=4"}));
  check_sound(train({"evaluate", box.dir()}));
  check_sound(train({"predict", box.dir(), "--out", (box.folder() / "p.csv").string()}));
}
