#include "bench/end_to_end/epoch.h"

#include "bench/support/child.h"

#include <sluice/error.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

std::string config_text(const fs::path& run_dir,
                        const BenchGraph& graph,
                        const Sizes& sizes,
                        const EpochRun& run) {
  return fmt::format(
      "dataset.path = \"{}\"\n"
      "storage.features = \"{}\"\n"
      "memory.host = \"{}B\"\n"
      "sampler.fanout = [{}]\n"
      "eval.fanout = [{}]\n"
      "model = {{ type = \"graphsage\", layers = {}, hidden = {}, dropout = 0.2 }}\n"
      "run.dir = \"{}\"\n"
      "[train]\n"
      "device = \"cpu\"\n"
      "epochs = {}\n"
      "batch_size = {}\n"
      "checkpoint_every = 0\n",
      graph.path.string(),
      run.features == Features::kMemory ? "memory" : "disk",
      run.budget,
      sizes.fanout,
      sizes.fanout,
      sizes.layers,
      sizes.hidden,
      run_dir.string(),
      sizes.epochs,
      sizes.batch);
}

// The lines of metrics.jsonl.
std::vector<nlohmann::json> epoch_lines(const fs::path& run_dir) {
  std::ifstream file(run_dir / "metrics.jsonl");
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  if (lines.empty())
    throw Error(ErrorCode::kInternal, fmt::format("no epoch in {}", run_dir.string()));
  return lines;
}

}  // namespace

EpochResult run_epoch(const fs::path& folder,
                      const BenchGraph& graph,
                      const Sizes& sizes,
                      const EpochRun& run) {
  const fs::path run_dir = folder / "run";
  const fs::path config = folder / "run.toml";
  std::ofstream(config) << config_text(run_dir, graph, sizes, run);

  std::vector<std::string> command;
  if (run.confined) {
    const std::uint64_t limit = run.budget + kOverheadMib * kMiB;
    command = {SLUICE_IN_CGROUP, "--cold", std::to_string(limit)};
  }
  command.insert(command.end(),
                 {(build_folder() / "sluice-train").string(),
                  "run",
                  config.string(),
                  "--json",
                  "--overwrite"});
  const auto report = nlohmann::json::parse(run_child(command));
  std::vector<nlohmann::json> lines = epoch_lines(run_dir);

  EpochResult result;
  for (const nlohmann::json& line : lines) result.all_seconds.push_back(line.at("seconds"));
  const auto middle = lines.begin() + static_cast<std::ptrdiff_t>((lines.size() - 1) / 2);
  std::ranges::nth_element(lines, middle, {}, [](const nlohmann::json& line) {
    return line.at("seconds").get<double>();
  });
  const nlohmann::json& line = *middle;
  result.seconds = line.at("seconds");
  result.seeds = static_cast<std::uint64_t>(
      std::llround(line.at("seeds_per_second").get<double>() * result.seconds));
  result.bytes_read = line.at("bytes").at("read");
  result.bytes_useful = line.at("bytes").at("useful");
  result.requests = line.at("requests").at("count");
  result.fetching = line.at("stages").at("fetch").at("busy");
  result.stages = line.at("stages");
  result.bound = line.at("bound");
  result.memory = report.at("memory");
  result.storage = report.at("storage");
  return result;
}

}  // namespace sluice::bench
