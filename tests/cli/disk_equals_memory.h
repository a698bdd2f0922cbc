// Disk equals memory, by the command line: the same batches, weights and metrics wherever features
// are kept, whatever reads them, within any budget, with any number of data threads and any window,
// and after a kill in the middle of an epoch. The tests are in sources of their own, one a graph,
// so that ctest runs them side by side.
//
// By default a few combinations of every model and graph, each value in at least one of them;
// SLUICE_FULL_MATRIX=1 runs all of them (tens of minutes).
#pragma once

#include "cli/train_support.h"
#include "support/cache_kinds.h"

#include <doctest/doctest.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>

namespace sluice::test {

// One way to run what the reference ran with features in memory.
struct Combination {
  std::string engine;   // "memory", "io_uring" or "pread"
  int percent = 0;      // of the table that the windows may take; 0: plenty
  int window = 0;       // mini-batches
  int threads = 1;      // for data
  bool killed = false;  // in the middle of an epoch, and resumed
  std::string plan = "auto";
  std::string cache = "belady";
  std::string topology = "memory";

  std::string name() const {
    return engine + ", " + std::to_string(percent) + " % of the table, window " +
           std::to_string(window) + ", " + std::to_string(threads) + " threads" +
           (killed ? ", killed and resumed" : "") + ", plan " + plan + ", cache " + cache +
           ", topology in " + topology;
  }
};

inline bool full_matrix() {
  return std::getenv("SLUICE_FULL_MATRIX") != nullptr;
}

// Every value of every factor, each beside different values of the others.
inline std::vector<Combination> short_form() {
  return {{"io_uring", 20, 4, 1, false},
          {"pread", 50, 32, 2, false},
          {"io_uring", 200, 1, 4, true},
          {"memory", 0, 32, 4, false, "auto", "belady", "disk"},
          {"io_uring", 200, 4, 2, false, "repack", "belady", "memory"},
          {"pread", 200, 1, 1, true, "repack", "clock", "disk"},
          {"io_uring", 50, 4, 2, false, "sweep", "lru", "disk"},
          {"pread", 50, 32, 1, false, "direct", "degree", "memory"}};
}

inline std::vector<Combination> all_combinations() {
  std::vector<Combination> all;
  for (const int threads : {1, 2, 4}) {
    for (const int window : {1, 4, 32}) {
      all.push_back({"memory", 0, window, threads, false});
      for (const char* engine : {"io_uring", "pread"}) {
        for (const int percent : {20, 50, 200})
          all.push_back({engine, percent, window, threads, false});
      }
    }
  }
  for (const char* engine : {"io_uring", "pread"}) {
    for (const char* plan : {"direct", "sweep", "repack"}) {
      for (const std::string& cache : cache_names()) {
        for (const char* topology : {"memory", "disk"})
          all.push_back({engine, 200, 4, 2, false, plan, cache, topology});
      }
    }
  }
  for (const char* engine : {"memory", "io_uring", "pread"}) {
    for (const int percent : {20, 50, 200}) {
      if (engine != std::string("memory") || percent == 200)
        all.push_back({engine, percent, 4, 2, true});
    }
  }
  return all;
}

// A dataset, and how it is trained on: batches of 16, so that many of them make a window.
class Ground {
 public:
  /// @param sets for all runs: "--set", an assignment, and so on
  Ground(std::filesystem::path dataset, std::string name, std::vector<std::string> sets = {})
      : dataset_(std::move(dataset)), name_(std::move(name)), sets_(std::move(sets)) {
    const std::filesystem::path nodes = *std::filesystem::directory_iterator(dataset_ / "nodes");
    table_ = std::filesystem::file_size(nodes / "features.bin");
    std::ifstream manifest(dataset_ / "manifest.json");
    const nlohmann::json graph = nlohmann::json::parse(manifest).at("graph");
    num_nodes_ = graph.at("nodes").at(0).at("count");
    const nlohmann::json& split = graph.at("splits").at(0);
    for (const char* part : {"train", "valid", "test"})
      num_seeds_ += split.at(part).get<std::uint64_t>();
  }

  const std::string& name() const { return name_; }
  // The least that a run reads, each row once: a model without blocks asks for the seeds' rows,
  // others for nearly all, in pages that they share.
  std::uint64_t asked_bytes(const std::string& model) const {
    return model == "mlp" ? table_ / num_nodes_ * num_seeds_ : table_;
  }
  std::filesystem::path dir() const { return temp_ / "run"; }

  Outcome run(const std::string& model,
              const Combination& combination,
              const std::vector<std::string>& more = {}) {
    return sluice::test::run(command(model, combination, more));
  }

  // Runs until a checkpoint in the middle of an epoch stands, kills, resumes. A run that was over
  // before the signal came, because this process had to wait for a core, is begun again.
  Outcome run_killed(const std::string& model, const Combination& combination) {
    for (int attempt = 0; attempt < 10; ++attempt) {
      Process process(command(model, combination, {"--set", "train.checkpoint_minutes=1e-9"}));
      wait_for_metric_lines(dir(), 1);  // so that it is not the first epoch
      process.signal(SIGKILL);
      const Outcome killed = process.finish();
      if (killed.code == -SIGKILL) return train({"resume", dir(), "--json"});
      REQUIRE_MESSAGE(killed.code == 0, killed.err);
    }
    FAIL("ten runs were over before they could be killed");
    return {};
  }

  // The lines of metrics.jsonl, without times and bytes.
  std::string metrics() const { return metric_lines(dir()); }

 private:
  std::vector<std::string> command(const std::string& model,
                                   const Combination& combination,
                                   const std::vector<std::string>& more) {
    std::filesystem::remove_all(dir());
    std::vector<std::string> all{tool("sluice-train"), "run", config(model).string(), "--json"};
    const auto set = [&](const std::string& assignment) {
      all.insert(all.end(), {"--set", assignment});
    };
    const bool memory = combination.engine == "memory";
    set(std::string("storage.features=") + (memory ? "memory" : "disk"));
    if (!memory) set("storage.io=" + combination.engine);
    set("storage.plan=" + combination.plan);
    set("storage.cache=" + combination.cache);
    set("storage.topology=" + combination.topology);
    set("storage.window=" + std::to_string(combination.window));
    set("train.data_threads=" + std::to_string(combination.threads));
    if (combination.percent != 0)
      set("memory.host=" + std::to_string(budget_for(model, combination)) + "B");
    all.insert(all.end(), sets_.begin(), sets_.end());
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  std::filesystem::path config(const std::string& model) const {
    return temp_.write(
        model + ".toml",
        "dataset.path = \"" + dataset_.string() + "\"\nrun.dir = \"" + dir().string() +
            "\"\nmemory.host = \"512MiB\"\nmodel = { type = \"" + model +
            "\", hidden = 16, dropout = 0.5 }\nsampler.fanout = [2, 2]\n"
            "eval = { fanout = [2, 2], batch_size = 16 }\n"
            "[train]\nepochs = 3\nbatch_size = 16\ncompute_threads = 1\ncheckpoint_every = 0\n");
  }

  // The budget whose split leaves the windows that share of the table. What else a run takes
  // depends on the model and the threads, so it is asked for: `--dry-run` shows the split.
  std::uint64_t budget_for(const std::string& model, const Combination& combination);

  std::filesystem::path dataset_;
  std::string name_;
  std::vector<std::string> sets_;
  std::uint64_t table_ = 0;
  std::uint64_t num_nodes_ = 0;
  std::uint64_t num_seeds_ = 0;  // of all three parts
  TempDir temp_;
  std::map<std::string, std::uint64_t> budgets_;
};

inline std::uint64_t Ground::budget_for(const std::string& model, const Combination& combination) {
  const std::string key = model + std::to_string(combination.percent) + " " +
                          std::to_string(combination.threads) + combination.topology;
  if (const auto known = budgets_.find(key); known != budgets_.end()) return known->second;
  const auto wanted = table_ * static_cast<std::uint64_t>(combination.percent) / 100;
  // From above: where sampling and steps would take turns, other things stand beside windows.
  std::uint64_t budget = (16 << 20) + wanted;
  bool refused = false;
  for (int round = 0; round < 20; ++round) {
    const Outcome outcome = train({"run",
                                   config(model).string(),
                                   "--json",
                                   "--dry-run",
                                   "--set",
                                   "storage.features=disk",
                                   "--set",
                                   "storage.topology=" + combination.topology,
                                   "--set",
                                   "train.data_threads=" + std::to_string(combination.threads),
                                   "--set",
                                   "memory.host=" + std::to_string(budget) + "B"});
    if (outcome.code == 4) {  // less than the least: the next that works is taken
      refused = true;
      budget += 128 << 10;
      continue;
    }
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    const std::uint64_t windows = nlohmann::json::parse(outcome.out)
                                      .at("memory")
                                      .at("split")
                                      .at("windows")
                                      .get<std::uint64_t>();
    const std::uint64_t off = windows > wanted ? windows - wanted : wanted - windows;
    if (refused)
      MESSAGE(key << ": windows of " << windows << " bytes are the least, not " << wanted);
    if (refused || off * 10 <= wanted) return budgets_[key] = budget;
    budget = budget - windows + wanted;
  }
  FAIL("no budget found for windows of " << combination.percent << " % of the table");
  return 0;
}

inline void check_ground(Ground& ground,
                         const std::string& model,
                         const std::vector<Combination>& combinations) {
  CAPTURE(ground.name());
  CAPTURE(model);
  const Outcome reference = ground.run(model, {"memory", 0, 0, 1, false});
  REQUIRE_MESSAGE(reference.code == 0, reference.err);
  const nlohmann::json expected = results(nlohmann::json::parse(reference.out));
  const std::string lines = ground.metrics();
  for (const Combination& combination : combinations) {
    CAPTURE(combination.name());
    const Outcome outcome =
        combination.killed ? ground.run_killed(model, combination) : ground.run(model, combination);
    REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
    const nlohmann::json report = nlohmann::json::parse(outcome.out);
    CHECK(results(report) == expected);
    CHECK(ground.metrics() == lines);
    if (combination.killed) CHECK(resumed_after(outcome.err) > 0);
    if (combination.engine == "memory") continue;
    CHECK(report.at("storage").at("features") == "disk");
    CHECK(report.at("storage").at("engine") == combination.engine);
    CHECK(report.at("storage").at("topology") == combination.topology);
    if (combination.plan != "auto") CHECK(report.at("storage").at("plan") == combination.plan);
    CHECK(report.at("bytes").at("read") > ground.asked_bytes(model));  // so it really streams
  }
}

// Whether io_uring is to be had here; where it is not, pread stands for both.
inline bool io_uring_works() {
  const TempDir dir;
  const Outcome doctor = train({"doctor", "--dir", dir.path(), "--json"});
  return doctor.code == 0 &&
         nlohmann::json::parse(doctor.out).at("engine").at("name") == "io_uring";
}

inline std::vector<Combination> combinations_here() {
  std::vector<Combination> combinations = full_matrix() ? all_combinations() : short_form();
  if (!io_uring_works()) {
    MESSAGE("without io_uring, which this system refuses");
    for (Combination& each : combinations) {
      if (each.engine == "io_uring") each.engine = "pread";
    }
  }
  return combinations;
}

inline void check_all_models(Ground& ground) {
  const std::vector<Combination> combinations = combinations_here();
  const std::vector<std::string> models =
      full_matrix() ? node_models() : std::vector<std::string>{"graphsage", "gcn", "gat"};
  for (const std::string& model : models) check_ground(ground, model, combinations);
}

inline void generate_hubs(const std::filesystem::path& path) {
  const Outcome made = run({tool("sluice-prep"),
                            "generate",
                            "rmat",
                            "--scale",
                            "13",
                            "--edge-factor",
                            "8",
                            "--features",
                            "64",
                            "--train",
                            "0.05",
                            "--valid",
                            "0.02",
                            "--test",
                            "0.02",
                            "--out",
                            path.string()});
  REQUIRE_MESSAGE(made.code == 0, made.err);
}

}  // namespace sluice::test
