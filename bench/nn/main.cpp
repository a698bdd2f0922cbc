// bench/kernels: sums, means and maxima of neighbours' rows and softmaxes over edges, forward and
// backward, beside torch.sparse.mm, scatter_reduce and DGL in the same run.
#include "bench/nn/blocks.h"
#include "bench/nn/operations.h"
#include "bench/support/child.h"
#include "bench/support/folder.h"
#include "bench/support/program.h"
#include "core/threads.h"

#include <sluice/dataset.h>
#include <sluice/nn/ledger_allocator.h>
#include <sluice/units.h>

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <sstream>

namespace sluice::bench {
namespace {

constexpr std::uint64_t kMostTemporary = 8 * kGiB;  // of a peer's tensors

struct Named {
  Operation operation;
  const char* name;
};
constexpr Named kOperations[] = {{Operation::kSum, "spmm"},
                                 {Operation::kMean, "mean"},
                                 {Operation::kMax, "max"},
                                 {Operation::kSoftmax, "softmax"}};

class Bench {
 public:
  void run(const std::string& name, const Named& what, bool sampled, std::int64_t width) {
    const std::uint64_t times = sampled ? rounds : std::min<std::uint64_t>(rounds, 3);
    std::vector<std::pair<std::string, double>> peers;
    // First: on a whole graph it takes nearly all memory.
    add_dgl(peers, what.name, *block_of(sampled), width, times);

    at::set_num_threads(static_cast<int>(threads));
    ThreadArena arena(static_cast<int>(threads));
    // Tensors as in training: their memory is used again.
    const nn::LedgerAllocation tensors(std::make_shared<MemoryLedger>());
    const nn::LayerCall call{{&arena}, block_of(sampled), RandomKey(1)};
    const Block& block = *call.block;
    const bool softmax = what.operation == Operation::kSoftmax;
    const std::int64_t rows = softmax ? block.num_edges() : block.num_sources;
    torch::manual_seed(1);
    const torch::Tensor x = torch::randn({rows, width});

    const double own = time_way(own_way(what.operation, call, width), x, times);
    for (const Way& way : torch_ways(what.operation, call, width, kMostTemporary))
      peers.emplace_back(way.name, time_way(way, x, times));

    const auto elements = static_cast<double>(block.num_edges()) * static_cast<double>(width);
    Line line{.name = name, .work = elements, .unit = "edge elements", .seconds = own};
    for (const auto& [peer, seconds] : peers) {
      line.more["peers"][peer] = {{"seconds", seconds}, {"times", seconds / own}};
      if (line.peer_rate && *line.peer_rate >= elements / seconds) continue;
      line.peer_rate = elements / seconds;
      line.peer = peer;
    }
    if (!softmax) {
      const Way way = own_way(what.operation, call, width);
      const Way widened{
          "", [&way](const torch::Tensor& half) { return way.forward(half.to(torch::kFloat32)); }};
      const torch::Tensor halves = x.to(torch::kBFloat16);
      line.more["rows_of_bf16"] = {{"seconds", time_way(way, halves, times)},
                                   {"seconds_widened_before", time_way(widened, halves, times)}};
    }
    line.more["edges"] = block.num_edges();
    line.more["sources"] = block.num_sources;
    line.more["targets"] = block.num_targets;
    line.more["width"] = width;
    line.more["threads"] = threads;
    // Each edge's row is read once forwards and once backwards.
    line.more["bytes_per_second"] = 2 * elements * sizeof(float) / own;
    print(line);
  }

  std::string dataset;
  std::string dir = ".";
  std::string peers_script = SLUICE_BENCH_PEERS;
  std::uint64_t scale = 20;
  std::uint64_t threads = 2;
  std::uint64_t rounds = 101;

 private:
  nn::BlockRef block_of(bool sampled) {
    nn::BlockRef& block = sampled ? sampled_ : whole_;
    if (block) return block;
    const Dataset graph = Dataset::open(make_graph());
    block = std::make_shared<const Block>(
        sampled ? sampled_block(graph, 1024, static_cast<int>(threads), ledger_)
                : whole_graph(graph));
    return block;
  }

  // By sluice-prep, whose libraries do not go with LibTorch.
  std::string make_graph() {
    if (!dataset.empty()) return dataset;
    if (!made_) {
      made_.emplace(std::filesystem::path(dir) / "kernels_bench_graph");
      (void)run_child({(build_folder() / "sluice-prep").string(),
                       "generate",
                       "rmat",
                       "--scale",
                       std::to_string(scale),
                       "--features",
                       "4",
                       "--json",
                       "--out",
                       (made_->path() / "graph").string()});
    }
    return (made_->path() / "graph").string();
  }

  void add_dgl(std::vector<std::pair<std::string, double>>& peers,
               const char* operation,
               const Block& block,
               std::int64_t width,
               std::uint64_t times) const {
    if (peers_script.empty()) return;
    const Folder folder(std::filesystem::path(dir) / "kernels_bench");
    write_block(folder.path(), block);
    std::istringstream lines(run_child({peers_script,
                                        "kernels",
                                        folder.path().string(),
                                        operation,
                                        std::to_string(width),
                                        std::to_string(threads),
                                        std::to_string(times)}));
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with('{')) continue;
      const auto peer = nlohmann::json::parse(line);
      peers.emplace_back(peer.at("peer"), peer.at("seconds"));
    }
  }

  MemoryLedger ledger_;
  std::optional<Folder> made_;
  nn::BlockRef sampled_, whole_;
};

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  using namespace sluice::bench;
  Bench bench;
  Program program("kernels", "Operations over blocks, forward and backward, beside their peers.");
  program.option(
      "--dataset", bench.dataset, "use this dataset instead of an R-MAT graph made for the run");
  program.option("--dir", bench.dir, "where the R-MAT graph is made; it is removed at the end");
  program.option("--scale", bench.scale, "2^scale nodes and 16 edges a node in the R-MAT graph");
  program.option("--threads", bench.threads, "of TBB, LibTorch and the peers");
  program.option("--rounds",
                 bench.rounds,
                 "times each is measured, the middle counts; 3 at most on the whole graph");
  program.option("--peers", bench.peers_script, "the script that runs the peers; empty: none");
  for (const bool sampled : {true, false}) {
    for (const auto& what : kOperations) {
      for (const std::int64_t width : {32, 128, 512}) {
        // 16 rows of 512 an edge do not fit in memory.
        if (!sampled && what.operation == Operation::kSoftmax && width > 32) continue;
        const std::string name =
            fmt::format("{}_{}_{}", what.name, sampled ? "block" : "rmat", width);
        program.add_case(
            name,
            fmt::format("{} over {}, {} columns",
                        what.name,
                        sampled ? "a sampled block" : "the whole graph",
                        width),
            [&bench, name, &what, sampled, width] { bench.run(name, what, sampled, width); });
      }
    }
  }
  return program.run(argc, argv);
}
