#include "bench/end_to_end/epoch.h"

#include "bench/support/child.h"

#include <sluice/error.h>
#include <sluice/units.h>

#include <fmt/format.h>

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
      "epochs = 1\n"
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
      sizes.batch);
}

// The only line of metrics.jsonl.
nlohmann::json epoch_line(const fs::path& run_dir) {
  std::ifstream file(run_dir / "metrics.jsonl");
  std::string line;
  if (!std::getline(file, line))
    throw Error(ErrorCode::kInternal, fmt::format("no epoch in {}", run_dir.string()));
  return nlohmann::json::parse(line);
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
  const nlohmann::json line = epoch_line(run_dir);

  EpochResult result;
  result.seconds = line.at("seconds");
  result.seeds =
      static_cast<std::uint64_t>(line.at("seeds_per_second").get<double>() * result.seconds + 0.5);
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
