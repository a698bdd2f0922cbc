#include "support/expect_error.h"
#include "support/generated_dataset.h"
#include "train/config_init.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace sluice;
using namespace sluice::test;

namespace {

Error config_error(const std::string& toml) {
  return expect_error([&] { (void)options_of(toml); });
}

}  // namespace

TEST_CASE("defaults are what the reference says, and the dump binds back to the same") {
  RunOptions options = options_of("dataset.path = \"data/x\"");
  CHECK(options.seed == 1);
  CHECK(options.model.type == "graphsage");
  CHECK(options.train.optimizer.type == "adam");
  CHECK(options.run.dir == "runs/test");
  CHECK(options.train.compute_threads >= 1);
  CHECK(options_of(options.text()).text() == options.text());
}

TEST_CASE("what stands in a config arrives") {
  RunOptions options = options_of(R"(
seed = 7
[dataset]
path = "d"
normalize = "row_l1"
[storage]
features = "disk"
io = "pread"
window = 4
verify = "off"
[memory]
host = "1.5GiB"
[sampler]
fanout = [-1]
[train]
optimizer = { type = "sgd", lr = 0.5 }
early_stopping = { metric = "valid.loss", patience = 3 }
[eval]
fanout = [20]
)");
  CHECK(options.seed == 7);
  CHECK(options.dataset.normalize == Normalize::kRowL1);
  CHECK(options.storage.features == Keep::kDisk);
  CHECK(options.storage.io == IoChoice::kPread);
  CHECK(options.storage.verify == Verify::kOff);
  CHECK(options.memory.host.bytes == 1536 * kMiB);
  CHECK(options.sampler.type == "neighbor");
  CHECK(options.text().find("fanout = [-1]\n") != std::string::npos);
  CHECK(options.train.optimizer.type == "sgd");
  CHECK(options.train.early_stopping.patience == 3);
}

TEST_CASE("bad configs name line, key and what would do") {
  const std::string path = "dataset.path = \"d\"\n";
  CHECK(std::string(config_error("").what()).find("'dataset.path' is required") !=
        std::string::npos);
  const Error unknown = config_error(path + "[train]\nepoch = 3\n");
  CHECK(unknown.code() == ErrorCode::kUsage);
  CHECK(std::string(unknown.what()).find("test.toml:3:1: unknown key 'train.epoch'") == 0);
  CHECK(unknown.hint() == "did you mean 'epochs'?");
  CHECK(config_error(path + "[train]\nepochs = \"three\"\n")
            .message()
            .find("'train.epochs': expected integer, found the text \"three\"") == 0);
  CHECK(config_error(path + "model.type = \"gnc\"").hint().find("did you mean 'gcn'?") == 0);
  CHECK(
      config_error(path + "storage.features = \"dsk\"").message().find("did you mean \"disk\"?") !=
      std::string::npos);
  CHECK(config_error(path + "storage.cache = \"belady2\"")
            .message()
            .find("did you mean \"belady\"?") != std::string::npos);
  CHECK(config_error(path + "sampler.fanout = [-2]")
            .message()
            .find("'sampler.fanout': element 1: -2 is outside") == 0);
}

TEST_CASE("only keys that change results count as differences") {
  const std::string path = "dataset.path = \"d\"\n";
  const std::string before = options_of(path).text();
  const auto changed = [&](const std::string& more) {
    return differences(before, options_of(path + more).text(), registry());
  };
  CHECK(
      changed(
          "train.epochs = 99\nmemory.host = \"1GiB\"\nstorage.window = 3\ntrain.data_threads = 1\n"
          "train.early_stopping.patience = 9\nrun.dir = \"elsewhere\"")
          .empty());
  CHECK(changed("train.batch_size = 8") == std::vector<std::string>{"train.batch_size: 1024 -> 8"});
  CHECK(changed("model.hidden = 8") == std::vector<std::string>{"model.hidden: 64 -> 8"});
  CHECK(changed("seed = 2").size() == 1);
  CHECK(changed("train.optimizer.lr = 0.5").size() == 1);
}

TEST_CASE("config init writes a commented config that binds and fits the dataset") {
  const TempDir dir;
  generate_dataset(dir / "x", {{"--labels", "regression"}});
  const std::string text = config_for((dir / "x").string(), registry());
  CHECK(text.find("2,000 nodes, 10,000 edges, 386 training seeds") != std::string::npos);
  CHECK(text.find(
            "# passes over the training seeds; integer, epochs, 0 to 1000000000\nepochs = 100\n") !=
        std::string::npos);
  const RunOptions options = options_of(text);
  CHECK(options.task.type == "regression");
  CHECK(options.dataset.path == (dir / "x").string());
  CHECK(options.train.batch_size == 64);
  CHECK(options.run.dir == "runs/x");
  const RunOptions gat = options_of(config_for((dir / "x").string(), registry(), {}, "gat"));
  CHECK(gat.model.type == "gat");
  // A model that is learned rows alone has some, as wide as the task reads them: it trains.
  const std::string rows =
      config_for((dir / "x").string(), registry(), "link_prediction", "embedding");
  const RunOptions embedding =
      options_of(rows, {"train.epochs=1", "memory.host=256MiB", "run.dir=" + (dir / "r").string()});
  CHECK(embedding.embedding.dim == 64);
  Quiet quiet;
  CHECK(run_training(embedding, RunDirectory::Mode::kNew, quiet.context).epochs == 1);
  CHECK_THROWS_WITH_AS(
      config_for((dir / "x").string(), registry(), {}, "gta"), doctest::Contains("'gta'"), Error);
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  CHECK(longest <= 140);
}
