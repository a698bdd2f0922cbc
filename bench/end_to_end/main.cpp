// bench/end_to_end: an epoch of training out of core, within a budget, against the same epoch with
// everything in memory: the mean of a run before and one after, as a machine that others use too is
// a fifth faster or slower some minutes later.
#include "bench/end_to_end/epoch.h"
#include "bench/support/disk_rate.h"
#include "bench/support/program.h"

#include <sluice/units.h>

#include <unistd.h>

#include <algorithm>

namespace sluice::bench {
namespace {

constexpr std::uint64_t kPage = 4096;

// 4 GiB of features, several times a budget of 512 MiB.
Sizes epoch_sizes() {
  return {.nodes = 8'400'000, .edges = 40'000'000, .fanout = "10,10"};
}
constexpr std::uint64_t kEpochBudgetMib = 512;

// The graph with hubs of the streaming engine's figures: scale 22, 5 % of the nodes as seeds.
Sizes budget_sizes() {
  return {.graph = GraphKind::kRmat,
          .nodes = 1 << 22,
          .edges = 16u << 22,
          .train = 0.05,
          .fanout = "15,10,5",
          .layers = 3};
}

void add_memory(Line& line, const EpochRun& run, const EpochResult& result) {
  line.more["budget"] = run.budget;
  line.more["cgroup"] =
      run.confined ? nlohmann::ordered_json(run.budget + kOverheadMib * kMiB) : nullptr;
  line.more["ledger_peak"] = result.memory.at("ledger_peak");
  line.more["peak_anonymous"] = result.memory.at("peak_anonymous");
  line.more["peak_rss_of_run"] = result.memory.at("peak_rss");
}

class Bench {
 public:
  std::string dir = "bench-data";
  Overrides overrides;
  std::string cgroup = "auto";

  void epoch() {
    const std::uint64_t mib = overrides.budget_mib != 0 ? overrides.budget_mib : kEpochBudgetMib;
    const Sizes sizes = overrides.applied_to(epoch_sizes());
    measure("epoch", sizes, make_graph(dir, sizes), mib * kMiB);
  }

  void budget(const std::string& name, std::uint64_t percent) {
    const Sizes sizes = overrides.applied_to(budget_sizes());
    const BenchGraph graph = make_graph(dir, sizes);
    const std::uint64_t budget = overrides.budget_mib != 0
                                     ? overrides.budget_mib * kMiB
                                     : graph.data_bytes * percent / 100 / kMiB * kMiB;
    measure(name, sizes, graph, budget);
  }

 private:
  bool confined() const {
    if (cgroup != "auto" && cgroup != "off")
      throw Error(ErrorCode::kUsage, "--cgroup is auto or off");
    return cgroup == "auto" && ::geteuid() == 0;
  }

  // The same epoch with everything in memory, printed under the name of the case that it is for.
  double in_memory(const std::string& name, const Sizes& sizes, const BenchGraph& graph) {
    // Mini-batches and tensors want room too; what is not used costs nothing.
    const EpochRun roomy{Features::kMemory, 2 * graph.data_bytes + 2 * kGiB, false};
    const EpochResult result = run_epoch(dir, graph, sizes, roomy);
    print(epoch_line(name, "in_memory", result, roomy, graph));
    known_graph_ = graph.path;
    return result.seconds;
  }

  void measure(const std::string& name,
               const Sizes& sizes,
               const BenchGraph& graph,
               std::uint64_t budget) {
    // What comes after one case comes before the next.
    const double before =
        known_graph_ == graph.path ? seconds_in_memory_ : in_memory(name, sizes, graph);
    const EpochRun run{Features::kDisk, budget, confined()};
    const EpochResult disk = run_epoch(dir, graph, sizes, run);
    seconds_in_memory_ = in_memory(name, sizes, graph);
    const double memory = (before + seconds_in_memory_) / 2;
    Line line = epoch_line(name, "out_of_core", disk, run, graph);
    line.peer = "in_memory";
    line.peer_rate = static_cast<double>(disk.seeds) / memory;
    line.more["times_in_memory"] = disk.seconds / memory;
    line.more["in_memory_seconds"] = std::vector<double>{before, seconds_in_memory_};
    print(line);
    print_reads(name, disk, graph);
  }

  Line epoch_line(const std::string& name,
                  const char* part,
                  const EpochResult& result,
                  const EpochRun& run,
                  const BenchGraph& graph) const {
    Line line{.name = name,
              .work = static_cast<double>(result.seeds),
              .unit = "seeds",
              .seconds = result.seconds};
    line.more["part"] = part;
    line.more["epoch_seconds"] = result.all_seconds;
    line.more["bound"] = result.bound;
    line.more["stages"] = result.stages;
    line.more["data"] = graph.data_bytes;
    line.more["table"] = graph.table_bytes;
    add_memory(line, run, result);
    return line;
  }

  // What was read in the epoch, over its whole time and over the time that the reader worked,
  // against bare reads of the same mean size.
  void print_reads(const std::string& name, const EpochResult& result, const BenchGraph& graph) {
    if (result.requests == 0) return;
    const std::uint64_t mean = result.bytes_read / result.requests;
    const std::uint64_t request = std::max(kPage, (mean + kPage / 2) / kPage * kPage);
    const double disk = disk_rate(graph.features(), {.request_bytes = request});
    Line line{.name = name,
              .work = static_cast<double>(result.bytes_read),
              .seconds = result.seconds,
              .disk_rate = disk};
    line.more["part"] = "reads";
    line.more["useful"] = result.bytes_useful;
    line.more["requests"] = result.requests;
    line.more["request_bytes"] = request;
    line.more["seconds_reading"] = result.fetching;
    line.more["of_disk_reading"] = static_cast<double>(result.bytes_read) / result.fetching / disk;
    line.more["engine"] = result.storage.at("engine");
    line.more["plan"] = result.storage.at("plan");
    print(line);
  }

  std::filesystem::path known_graph_;
  double seconds_in_memory_ = 0;  // of that graph, measured last
};

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  sluice::bench::Bench bench;
  sluice::bench::Program program(
      "end_to_end", "An epoch out of core within a budget, against the same epoch in memory.");
  program.option("--dir", bench.dir, "where the graphs are made, and kept");
  program.option("--nodes", bench.overrides.nodes, "of the graph; 0: the case's own, so for all");
  program.option("--edges", bench.overrides.edges, "of the graph");
  program.option("--features", bench.overrides.features, "f32 a node");
  program.option("--batch", bench.overrides.batch, "seeds a mini-batch");
  program.option("--fanout", bench.overrides.fanout, "such as 15,10,5: one number a layer");
  program.option("--hidden", bench.overrides.hidden, "width of the model");
  program.option("--layers", bench.overrides.layers, "of the model");
  program.option("--epochs", bench.overrides.epochs, "of a run; the one in the middle counts");
  program.option("--budget-mib", bench.overrides.budget_mib, "in place of the case's budget");
  program.option(
      "--cgroup", bench.cgroup, "auto: in a memory cgroup of budget + 300 MiB for root; off");
  program.add_case("epoch", "4 GiB of features within 512 MiB", [&] { bench.epoch(); });
  for (const std::uint64_t percent : {50u, 25u, 10u}) {
    const std::string name = "budget_" + std::to_string(percent);
    program.add_case(name,
                     "R-MAT of scale 22 within " + std::to_string(percent) + " % of its data",
                     [&, name, percent] { bench.budget(name, percent); });
  }
  return program.run(argc, argv);
}
