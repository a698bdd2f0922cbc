// Learning-rate schedules in whole runs: weights and learned rows go by the same one, and a run
// goes on with it bit for bit. What each gives stands in tests/core/rate_schedule_test.cpp.
#include "support/expect_error.h"
#include "train/embedding_support.h"

using namespace sluice;
using namespace sluice::test;

namespace {

/// Runs of one task, each in a folder of its own.
class ScheduledRuns {
 public:
  ScheduledRuns() { Graph().import(dir_); }

  RunReport train(const std::string& name, const std::vector<std::string>& sets) {
    std::vector<std::string> all = sets;
    all.push_back("run.dir=" + path(name));
    return run_training(options_of(text_, all), RunDirectory::Mode::kNew, quiet_.context);
  }
  RunReport resume(const std::string& name, const std::vector<std::string>& sets) {
    return resume_training(path(name), sets, quiet_.context);
  }
  std::string path(const std::string& name) const { return (dir_ / name).string(); }

 private:
  TempDir dir_;
  std::string text_ = config_of(dir_, "ranking = \"all\"\nloss = \"all\"");
  Quiet quiet_;
};

}  // namespace

TEST_CASE("a schedule that ends at no rate leaves weights and rows as they are from there on") {
  ScheduledRuns runs;
  const RunReport two = runs.train("two", {"train.epochs=2"});
  const RunReport four = runs.train("four",
                                    {"train.epochs=4",
                                     "train.schedule.type=step",
                                     "train.schedule.at=[0.5]",
                                     "train.schedule.factor=0"});
  CHECK(four.weights_xxh3 == two.weights_xxh3);
  CHECK(runs.train("plain", {"train.epochs=4"}).weights_xxh3 != two.weights_xxh3);
}

TEST_CASE("a run by plateaus goes on bit for bit, and lowers its rates") {
  ScheduledRuns runs;
  // Validations soon get worse: the graph is random.
  const std::vector<std::string> sets{
      "train.schedule.type=plateau", "train.schedule.factor=0.5", "train.schedule.warmup=1.5"};
  const auto with = [&](const std::string& epochs) {
    std::vector<std::string> all = sets;
    all.push_back("train.epochs=" + epochs);
    return all;
  };
  const RunReport whole = runs.train("whole", with("9"));
  for (const std::string before : {"1", "5"}) {
    CAPTURE(before);
    (void)runs.train("parts" + before, with(before));
    const RunReport resumed = runs.resume("parts" + before, {"train.epochs=9"});
    CHECK(same_figures(resumed.metrics, whole.metrics));
    CHECK(resumed.weights_xxh3 == whole.weights_xxh3);
  }
  const RunReport constant =
      runs.train("constant", {"train.epochs=9", "train.schedule.warmup=1.5"});
  CHECK(constant.metrics.at("train.loss") != whole.metrics.at("train.loss"));
}

TEST_CASE(
    "a schedule over the epochs holds a run to their number, and what it cannot mean is said") {
  ScheduledRuns runs;
  (void)runs.train("steps", {"train.epochs=2", "train.schedule.type=cosine"});
  const Error other = expect_error([&] { (void)runs.resume("steps", {"train.epochs=3"}); });
  CHECK(other.code() == ErrorCode::kUsage);
  CHECK(other.message().find("train.epochs: 2 -> 3") != std::string::npos);
  CHECK(expect_error([&] {
          (void)runs.train("odd", {"train.schedule.type=step", "train.schedule.at=[0.7, 0.2]"});
        }).message() == "'train.schedule.at' does not ascend");
}
