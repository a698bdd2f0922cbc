// bench/train_cpu: an epoch of training with everything in memory, beside GraphBolt with DGL's
// layers and PyG with its NeighborLoader, on the same graph, seeds and sizes in one run.
#include "bench/support/all_offsets.h"
#include "bench/support/child.h"
#include "bench/support/folder.h"
#include "bench/support/program.h"

#include <fmt/format.h>
#include <sluice/dataset.h>
#include <sluice/error.h>

#include <fstream>
#include <ios>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <sstream>

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

template <class T>
void write(const fs::path& path, std::span<const T> values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size_bytes()));
  if (!file.flush()) throw Error(ErrorCode::kIo, "cannot write " + path.string());
}

class Bench {
 public:
  void run(const std::string& model) {
    make_graph();
    const nlohmann::json report = train(model);
    std::vector<double> times = report.at("seconds").at("epochs");
    times.erase(times.begin());
    Line line{.name = model, .work = 1, .unit = "epochs", .seconds = median(times)};
    line.more["train_loss"] = report.at("metrics").at("train.loss");
    line.more["ledger_peak"] = report.at("memory").at("ledger_peak");
    line.more["epochs"] = times;
    if (!peers.empty()) {
      for (const char* peer : {"graphbolt", "pyg"}) add_peer(line, peer, model);
    }
    print(line);
  }

  std::string dir = ".";
  std::string peers = SLUICE_BENCH_PEERS;
  std::string sets;
  std::uint64_t scale = 20;
  std::uint64_t seeds = 100'000;
  std::uint64_t threads = 2;
  std::uint64_t epochs = 6;

 private:
  void make_graph() {
    if (folder_) return;
    folder_.emplace(fs::path(dir) / "train_cpu_bench");
    const auto nodes = static_cast<double>(std::uint64_t{1} << scale);
    (void)run_child({(build_folder() / "sluice-prep").string(),
                     "generate",
                     "rmat",
                     "--scale",
                     std::to_string(scale),
                     "--features",
                     "128",
                     "--classes",
                     "32",
                     "--train",
                     fmt::format("{}", static_cast<double>(seeds) / nodes),
                     "--valid",
                     "0",
                     "--test",
                     "0",
                     "--json",
                     "--out",
                     graph().string()});
    if (!peers.empty()) write_for_peers();
  }

  fs::path graph() const { return folder_->path() / "graph"; }

  // As arrays without headers, which NumPy reads as they are.
  void write_for_peers() const {
    const Dataset dataset = Dataset::open(graph().string());
    const auto topology = dataset.topology(dataset.schema().relations.at(0).key());
    const CscView& csc = *topology->resident();
    write(folder_->path() / "offsets.u64", std::span<const std::uint64_t>(all_offsets(*topology)));
    write(folder_->path() / "neighbours.u32", csc.neighbours32);
    const Array labels = dataset.labels("node");
    write(folder_->path() / "labels.i32", labels.as<std::int32_t>());
    const Array train = dataset.split("default").train;
    write(folder_->path() / "train.u64", train.as<std::uint64_t>());
    const auto store = dataset.features("node", {.placement = Placement::kMemory});
    std::ofstream rows(folder_->path() / "features.f32", std::ios::binary);
    for (std::uint64_t row = 0; row < topology->num_targets(); ++row)
      rows.write(reinterpret_cast<const char*>(store->resident_row(row)),
                 static_cast<std::streamsize>(store->row_bytes()));
    if (!rows.flush()) throw Error(ErrorCode::kIo, "cannot write the peers' features");
  }

  nlohmann::json train(const std::string& model) const {
    const fs::path config = folder_->path() / "run.toml";
    const std::string heads = model == "gat" ? ", heads = 4, output_heads = 1" : "";
    std::ofstream(config) << fmt::format(
        "dataset.path = \"{}\"\n"
        "storage = {{ features = \"memory\", topology = \"memory\" }}\n"
        "memory.host = \"6GiB\"\n"
        "sampler.fanout = [10, 10]\n"
        "model = {{ type = \"{}\", layers = 2, hidden = 128, dropout = 0.0{} }}\n"
        "run.dir = \"{}\"\n"
        "[train]\n"
        "device = \"cpu\"\n"
        "epochs = {}\n"
        "batch_size = 1024\n"
        "checkpoint_every = 0\n"
        "data_threads = {}\n"
        "compute_threads = {}\n"
        "optimizer = {{ type = \"adam\", lr = 0.003 }}\n",
        graph().string(),
        model,
        heads,
        (folder_->path() / "run").string(),
        epochs,
        threads,
        threads);
    std::vector<std::string> command{(build_folder() / "sluice-train").string(),
                                     "run",
                                     config.string(),
                                     "--json",
                                     "--overwrite"};
    std::istringstream list(sets);
    for (std::string one; list >> one;) command.insert(command.end(), {"--set", one});
    return nlohmann::json::parse(run_child(command));
  }

  void add_peer(Line& line, const std::string& peer, const std::string& model) const {
    std::istringstream lines(run_child({peers,
                                        "train",
                                        peer,
                                        model,
                                        folder_->path().string(),
                                        std::to_string(threads),
                                        std::to_string(epochs)}));
    for (std::string text; std::getline(lines, text);) {
      if (!text.starts_with('{')) continue;
      const auto result = nlohmann::ordered_json::parse(text);
      const double seconds = result.at("seconds");
      line.more["peers"][peer] = result;
      line.more["peers"][peer]["ours_of_theirs"] = line.seconds / seconds;
      if (line.peer_rate && *line.peer_rate >= 1 / seconds) continue;
      line.peer_rate = 1 / seconds;
      line.peer = result.at("peer");
    }
  }

  std::optional<Folder> folder_;
};

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  Bench bench;
  Program program("train_cpu", "An epoch in memory on the CPU, beside GraphBolt with DGL and PyG.");
  program.option("--dir", bench.dir, "where the R-MAT graph is made; it is removed at the end");
  program.option("--scale", bench.scale, "2^scale nodes and 16 edges a node");
  program.option("--seeds", bench.seeds, "training nodes, about");
  program.option("--threads", bench.threads, "data threads, and compute threads; of the peers too");
  program.option(
      "--epochs", bench.epochs, "trained by each; the median of all but the first counts");
  program.option(
      "--set", bench.sets, "further keys of the run, as in \"train.compute_threads=1 a=b\"");
  program.option("--peers", bench.peers, "the script that runs the peers; empty: none");
  for (const char* model : {"graphsage", "gat", "gcn"}) {
    program.add_case(model,
                     fmt::format("two layers of {}, 128 wide, fanout 10/10", model),
                     [&bench, model] { bench.run(model); });
  }
  return program.run(argc, argv);
}
