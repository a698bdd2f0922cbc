// best.ckpt is of the best epoch, whenever it was written, and is written only for a better one.
#include "support/own_graph.h"
#include "train/support.h"

#include <doctest/doctest.h>

#include <filesystem>

using namespace sluice;
using namespace sluice::test;
namespace fs = std::filesystem;

namespace {

struct BestRun {
  TempDir dir;
  Quiet quiet;

  BestRun() { OwnGraph{}.import(dir, dir / "d"); }

  std::string path() const { return (dir / "run").string(); }
  fs::path best() const { return dir / "run/checkpoints/best.ckpt"; }

  RunReport train(const std::vector<std::string>& sets) {
    const std::string toml =
        "dataset.path = \"" + (dir / "d").string() + "\"\nrun.dir = \"" + path() +
        "\"\nmemory.host = \"256MiB\"\nmodel = { type = \"mlp\", hidden = 8 }\n"
        "[train]\nepochs = 3\ncompute_threads = 1\n";
    return run_training(options_of(toml, sets), RunDirectory::Mode::kNew, quiet.context);
  }
  RunReport resume(const std::string& epochs) {
    return resume_training(path(), {"train.epochs=" + epochs}, quiet.context);
  }
  RunReport evaluate(CheckpointKind kind) {
    return evaluate_run(path(), {}, {Part::kValid, kind}, quiet.context);
  }
};

constexpr auto kBestKind = CheckpointKind::kBest;
constexpr const char* kStill = "train.optimizer.lr=1e-9";

}  // namespace

TEST_CASE("resuming a run that gets no better leaves best.ckpt as it is, time after time") {
  BestRun run;
  CHECK(run.train({kStill}).best_epoch == 1);
  CHECK(run.evaluate(kBestKind).epochs == 1);
  const std::string bytes = read_all(run.best());
  const auto written = fs::last_write_time(run.best());
  for (const char* epochs : {"5", "6", "9", "9"}) {
    CAPTURE(epochs);
    CHECK(run.resume(epochs).best_epoch == 1);
    const RunReport report = run.evaluate(kBestKind);
    CHECK(report.epochs == 1);
    CHECK(read_all(run.best()) == bytes);
    CHECK(fs::last_write_time(run.best()) == written);
  }
  CHECK(run.evaluate(CheckpointKind::kLast).epochs == 9);
}

TEST_CASE("a checkpoint written epochs after the best one says which epoch its weights are of") {
  BestRun run;
  CHECK(run.train({kStill, "train.checkpoint_every=0"}).best_epoch == 1);
  CHECK(run.evaluate(kBestKind).epochs == 1);
}

TEST_CASE("a later epoch that is better takes best.ckpt; one that is missing is written again") {
  BestRun run;
  const std::string by_loss = "train.early_stopping.metric=valid.loss";
  CHECK(run.train({"train.optimizer.lr=0.01", "model.dropout=0.0", by_loss}).best_epoch == 3);
  const std::uint64_t early = run.evaluate(kBestKind).weights_xxh3;
  const RunReport more = run.resume("8");
  CHECK(more.best_epoch == 8);
  const RunReport best = run.evaluate(kBestKind);
  CHECK(best.epochs == 8);
  CHECK(best.weights_xxh3 != early);
  CHECK(best.weights_xxh3 == more.weights_xxh3);  // the last epoch is the best

  BestRun still;
  CHECK(still.train({kStill}).best_epoch == 1);
  const std::uint64_t weights = still.evaluate(kBestKind).weights_xxh3;
  fs::remove(still.best());
  (void)still.resume("4");
  CHECK(still.evaluate(kBestKind).epochs == 1);
  CHECK(still.evaluate(kBestKind).weights_xxh3 == weights);
}
