// A folder with a small generated dataset and a config over it, for tests of sluice-train.
#pragma once

#include "support/generated_dataset.h"
#include "support/temp_dir.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sluice::test {

inline Outcome train(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), tool("sluice-train"));
  return run(arguments);
}

/// Assignments of --set, and more of them.
inline std::vector<std::string> with_sets(std::vector<std::string> sets,
                                          const std::vector<std::string>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

/// What metrics.jsonl of a run directory says, without times and bytes.
inline std::string metric_lines(const std::filesystem::path& run_dir) {
  std::istringstream lines(read_all(run_dir / "metrics.jsonl"));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    text += nlohmann::json{json.at("epoch"), json.at("metrics"), json.at("best")}.dump() + "\n";
  }
  return text;
}

/// Until the run under way in a directory has written so many lines of metrics, or a while has
/// passed.
inline std::ptrdiff_t metric_lines_of(const std::filesystem::path& run_dir) {
  const std::string text = read_all(run_dir / "metrics.jsonl");
  return std::count(text.begin(), text.end(), '\n');
}

inline void wait_for_metric_lines(const std::filesystem::path& run_dir, std::ptrdiff_t count) {
  for (int i = 0; i < 6000; ++i) {
    if (metric_lines_of(run_dir) >= count) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

/// The mini-batches of its epoch that a resumed run had done, by what it said; -1 where it said
/// nothing.
inline long resumed_after(const std::string& said) {
  const auto at = said.find("resumed in epoch ");
  const auto after = said.find(" after ", at);
  if (at == std::string::npos || after == std::string::npos) return -1;
  return std::stol(said.substr(after + 7));
}

class Sandbox {
 public:
  Sandbox() {
    generate_dataset(dataset());
    temp_.write("short.toml",
                "dataset.path = \"" + dataset().string() + "\"\nrun.dir = \"" + dir().string() +
                    "\"\nmemory.host = \"128MiB\"\n"
                    "model = { type = \"graphsage\", hidden = 16 }\n"
                    "sampler.fanout = [5, 5]\n"
                    "[train]\nepochs = 3\nbatch_size = 16\ncompute_threads = 1\n");
  }

  std::filesystem::path folder() const { return temp_.path(); }
  std::filesystem::path dataset() const { return temp_ / "data"; }
  std::filesystem::path dir() const { return temp_ / "run"; }

  std::vector<std::string> command(const std::vector<std::string>& more) const {
    std::vector<std::string> all{tool("sluice-train"), "run", (temp_ / "short.toml").string()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Outcome run(const std::vector<std::string>& more) const { return test::run(command(more)); }

  std::string metrics() const { return metric_lines(dir()); }
  void wait_for_lines(std::ptrdiff_t count) const { wait_for_metric_lines(dir(), count); }

 private:
  TempDir temp_;
};

/// The models that classify the nodes of a Sandbox: those that compute from features alone, and so
/// may leave some out. Learned rows by themselves want links, and models of events times.
inline std::vector<std::string> node_models() {
  std::istringstream lines(train({"config", "keys"}).out);
  std::vector<std::string> models;
  std::string name;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('[')) inside = line.starts_with("[model]");
    if (!inside) continue;
    const auto end = line.find(": ");
    if (line.starts_with("  ") && line[2] != ' ' && end < line.find(' ', 2))
      name = line.substr(2, end - 2);
    if (line.starts_with("    input_dropout = ")) models.push_back(name);
  }
  if (models.empty()) throw std::runtime_error("no models that read features");
  return models;
}

/// All of a report that must not depend on where data is kept or on interruptions.
inline nlohmann::json results(const nlohmann::json& report) {
  return {report.at("batches_xxh3"),
          report.at("weights_xxh3"),
          report.at("metrics"),
          report.at("epochs")};
}

}  // namespace sluice::test
