#include "support/expect_error.h"
#include "support/generated_dataset.h"
#include "support/process.h"
#include "train/support.h"
#include "train/weights.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <optional>

using namespace sluice;
using namespace sluice::test;

TEST_CASE("a budget above what the cgroup grants is refused with numbers") {
  const TempDir root;
  root.write("proc/meminfo", "MemTotal:       16777216 kB\n");
  root.write("proc/self/cgroup", "0::/job\n");
  root.write("proc/self/mountinfo", "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("sys/fs/cgroup/job/memory.max", "1073741824\n");
  root.write("sys/fs/cgroup/job/memory.current", "0\n");
  root.write("sys/fs/cgroup/job/memory.stat", "anon 0\n");
  check_granted(724 * kMiB, root.path());
  const Error error = expect_error([&] { check_granted(725 * kMiB, root.path()); });
  CHECK(error.code() == ErrorCode::kResource);
  CHECK(
      error.message().find(
          "[memory] host = 725 MiB and 300 MiB for code and libraries are more than the 1 GiB this "
          "process may use (by its memory cgroup, ") == 0);
  CHECK(error.hint() == "set [memory] host to at most \"724MiB\"");
}

TEST_CASE(
    "a run that does not fit is refused with the table and a budget that works and is not far from "
    "the least") {
  const TempDir dir;
  generate_dataset(dir / "x");
  const std::string config = "storage.features = \"disk\"\n" + short_config(dir, dir / "x");
  const auto log = make_silent_logger();
  const RunOptions poor = options_of(config, {"memory.host=2MiB"});
  const Error error = expect_error([&] { (void)plan_run(poor, {}, *log); });
  CHECK(error.code() == ErrorCode::kResource);
  CHECK(error.message().find("the run does not fit in [memory] host = 2 MiB; it needs\n  ") == 0);
  for (const char* line : {"topology",
                           "labels",
                           "splits",
                           "feature staging",
                           "tensors of a step",
                           "in a trial step, + 25 %",
                           "mini-batches",
                           "windows",
                           "total"}) {
    CAPTURE(line);
    CHECK(error.message().find(line) != std::string::npos);
  }
  const std::string before = "set [memory] host to at least \"";
  REQUIRE(error.hint().find(before) == 0);
  const std::string size =
      error.hint().substr(before.size(), error.hint().find('"', before.size()) - before.size());
  const std::uint64_t least = parse_bytes(size).or_throw().bytes;

  const RunOptions enough = options_of(config, {"memory.host=" + size});
  CHECK(plan_run(enough, {}, *log).plan.fits());
  Quiet quiet;
  const RunReport report = run_training(enough, RunDirectory::Mode::kNew, quiet.context);
  CHECK(report.ledger_peak <= least);
  const RunOptions short_of =
      options_of(config, {"memory.host=" + format_bytes_exact(least * 9 / 10)});
  CHECK(expect_error([&] { (void)plan_run(short_of, {}, *log); }).code() == ErrorCode::kResource);
}

TEST_CASE("a budget that is told works where opening takes more for a while than what stays") {
  const TempDir dir;
  generate_dataset(dir / "x", {{"--nodes", "3000"}, {"--edges", "200000"}, {"--features", "4"}});
  // Most edges are held out: their lists grow by doubling, and are made twice.
  const std::string config = short_config(dir, dir / "x") +
                             "[task]\ntype = \"link_prediction\"\nwidth = 16\n"
                             "edge_split = [0.2, 0.4, 0.4]\n";
  const auto log = make_silent_logger();
  const auto planned = [&](std::uint64_t bytes) {
    return plan_run(options_of(config, {"memory.host=" + format_bytes_exact(bytes)}), {}, *log);
  };
  // What a refusal tells; nothing where the run is planned.
  const auto told = [&](std::uint64_t bytes) -> std::optional<std::uint64_t> {
    try {
      (void)planned(bytes);
      return std::nullopt;
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kResource);
      const std::string before = "set [memory] host to at least \"";
      REQUIRE(error.hint().find(before) == 0);
      const auto end = error.hint().find('"', before.size());
      return parse_bytes(error.hint().substr(before.size(), end - before.size())).or_throw().bytes;
    }
  };
  const std::optional<std::uint64_t> least = told(4 * kMiB);
  REQUIRE(least);
  CHECK(planned(*least).plan.fits());
  for (const std::uint64_t tenths : {6u, 8u, 9u}) {
    const std::uint64_t budget = *least * tenths / 10;
    CAPTURE(budget);
    const std::optional<std::uint64_t> more = told(budget);
    if (!more) continue;
    CHECK(*more > budget);
    CHECK(planned(*more).plan.fits());
  }
}

TEST_CASE(
    "where sampling and steps have no room beside each other they take turns, to the same end") {
  const TempDir dir;
  generate_dataset(dir / "x", {{"--nodes", "20000"}, {"--edges", "200000"}, {"--features", "200"}});
  const std::string config =
      "storage = { features = \"disk\", topology = \"disk\" }\n" + short_config(dir, dir / "x");
  const auto log = make_silent_logger();
  const auto with = [&](const std::string& set, std::uint64_t bytes) {
    return options_of(config,
                      {"memory.host=" + format_bytes_exact(bytes),
                       "sampler.fanout=[15, 15]",
                       "train.batch_size=512",
                       "train.hash_batches=true",
                       set});
  };
  const auto least = [&](const std::string& set) {
    return plan_run(with(set, 256 * kMiB), {}, *log).plan.least;
  };
  const std::string belady = "storage.cache=belady";
  const std::uint64_t apart = least(belady);
  Quiet quiet;
  const RunReport roomy =
      run_training(with(belady, 256 * kMiB), RunDirectory::Mode::kNew, quiet.context);
  // A fifth less than with both at once; a cache that is not planned for has no such way.
  const std::uint64_t tight = apart * 4 / 5;
  CHECK(plan_run(with(belady, tight), {}, *log).plan.loader.in_turns);
  const RunReport turns =
      run_training(with(belady, tight), RunDirectory::Mode::kReplace, quiet.context);
  CHECK(turns.ledger_peak <= tight);
  CHECK(turns.weights_xxh3 == roomy.weights_xxh3);
  CHECK(turns.batches_xxh3 == roomy.batches_xxh3);
  CHECK(turns.metrics == roomy.metrics);
  CHECK(expect_error([&] { (void)plan_run(with("storage.cache=lru", tight), {}, *log); }).code() ==
        ErrorCode::kResource);
}

TEST_CASE("auto keeps features in memory when they take at most half of the budget") {
  const TempDir dir;
  generate_dataset(dir / "x", {{"--features", "2000"}});  // 15 MiB
  const auto log = make_silent_logger();
  const auto place = [&](const std::string& host) {
    const RunOptions options =
        options_of(short_config(dir, dir / "x"),
                   {"memory.host=" + host, "train.batch_size=4", "eval.batch_size=4"});
    return plan_run(options, {}, *log).places.features.where;
  };
  CHECK(place("200MiB") == Placement::kMemory);
  CHECK(place("29MiB") == Placement::kDisk);
}

TEST_CASE("auto goes by the features of events where the model reads these") {
  const TempDir dir;
  const Outcome made = run({tool("sluice-prep"),
                            "generate",
                            "temporal",
                            "--out",
                            dir / "x",
                            "--nodes",
                            "500",
                            "--events",
                            "50000",
                            "--features",
                            "0",
                            "--classes",
                            "8",
                            "--edge-features",
                            "200",
                            "--label-events",
                            "1000"});
  REQUIRE_MESSAGE(made.code == 0, made.err);
  std::uint64_t bytes = 0;
  const Dataset dataset = Dataset::open((dir / "x").string());
  for (const RelationSchema& relation : dataset.schema().relations)
    if (!relation.features.empty())
      bytes += relation.features[0].rows * feature_row_bytes(relation.features[0]);
  REQUIRE(bytes >= 50000 * 200 * 4);
  const std::string config = fmt::format(
      "dataset.path = \"{}\"\nrun.dir = \"{}\"\nmemory.host = \"256MiB\"\n"
      "model = {{ type = \"graphmixer\", hidden = 16, time_width = 16 }}\n"
      "[sampler]\ntype = \"temporal\"\ncount = [5]\n"
      "[task]\ntype = \"dynamic_node_classification\"\nwidth = 16\nhidden = 16\n"
      "[train]\nbatch_size = 50\ncompute_threads = 1\n[eval]\nbatch_size = 50\n",
      (dir / "x").string(),
      (dir / "run").string());
  const auto log = make_silent_logger();
  const auto place = [&](const std::string& host) {
    return plan_run(options_of(config, {"memory.host=" + host}), {}, *log).places.features;
  };
  const Kept roomy = place("256MiB"), tight = place("64MiB");
  CHECK(roomy.where == Placement::kMemory);
  CHECK(tight.where == Placement::kDisk);
  for (const Kept& kept : {roomy, tight})
    CHECK_MESSAGE(kept.why.find(format_bytes(bytes) + " against half") == 0, kept.why);
}

TEST_CASE("measuring leaves weights, buffers and optimiser as they were") {
  const TempDir dir;
  generate_dataset(dir / "x");
  const RunOptions options =
      options_of(short_config(dir, dir / "x"), {"model.norm=batch", "train.optimizer.type=adam"});
  auto ledger = std::make_shared<MemoryLedger>();
  Parts parts(options, RunDevice{}, ledger, {Placement::kMemory, Placement::kMemory});
  const NamedTensors weights = clone_of(parts.weights());
  const NamedTensors state = clone_of(parts.optimizer->named_state());
  const MemoryNeeds needs = measure_needs(parts, {});
  CHECK(weights_xxh3(parts.weights()) == weights_xxh3(weights));
  for (const auto& [name, tensor] : parts.optimizer->named_state())
    CHECK(tensor.equal(state.at(name)));
  for (const torch::Tensor& parameter : parts.model->parameters())
    CHECK_FALSE(parameter.grad().defined());
  CHECK(needs.training.window_bytes > 0);
}
