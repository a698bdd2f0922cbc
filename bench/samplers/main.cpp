// bench/samplers: how many edges a second go into relabelled blocks, one mini-batch a thread.
#include "bench/samplers/labor.h"
#include "bench/samplers/neighbor_peers.h"
#include "bench/samplers/paged.h"
#include "bench/samplers/sampling.h"
#include "bench/samplers/snapshot.h"
#include "bench/samplers/temporal.h"
#include "bench/support/program.h"

#include <optional>

namespace sluice::bench {
namespace {

Line result_line(const std::string& name, const SamplingWork& work, const SamplingResult& result) {
  Line line{.name = name,
            .work = static_cast<double>(result.edges),
            .unit = "edges",
            .seconds = result.seconds};
  line.more["threads"] = work.threads;
  line.more["batches"] = work.num_batches;
  line.more["edges_per_batch"] = result.edges / work.num_batches;
  line.more["nodes_per_batch"] = result.nodes / work.num_batches;
  line.more["batches_per_second"] = static_cast<double>(work.num_batches) / result.seconds;
  line.more["edges_per_cpu_second"] = static_cast<double>(result.edges) / result.cpu_seconds;
  line.more["workspace"] = result.workspace_bytes;
  return line;
}

/// Opens the dataset when the first case needs it.
class Bench {
 public:
  void neighbor(const std::string& name, int threads, bool transpose) {
    if (!graph_) graph_.emplace(dataset, dir, scale);
    SamplingWork work{.fanout = {15, 10, 5}, .parts = {.transpose = transpose}, .threads = threads};
    work.num_batches = num_batches;
    work.batch_size = batch_size;
    work.rounds = rounds;
    Line line = result_line(name, work, run_sampling(*graph_, work));
    if (!transpose && !peers.empty()) add_peers(line, work);
    print(line);
  }

  // The best of them is the peer; all are told.
  void add_peers(Line& line, const SamplingWork& work) {
    for (const auto& peer : run_neighbor_peers(peers, dir, *graph_, work)) {
      const double rate = peer.at("rate");
      line.more["peers"].push_back(peer);
      if (line.peer_rate && *line.peer_rate >= rate) continue;
      line.peer = peer.at("peer");
      line.peer_rate = rate;
    }
  }

  // Edges on disk, beside the same sampler with edges in RAM.
  void paged(const std::string& name) {
    if (!graph_) graph_.emplace(dataset, dir, scale);
    SamplingWork work{.fanout = {15, 10, 5}, .parts = {.transpose = false}, .threads = 2};
    work.num_batches = num_batches;
    work.batch_size = batch_size;
    work.rounds = rounds;
    const PagedResult ram = run_groups(*graph_, work, {.placement = Placement::kMemory});
    const PagedResult disk =
        run_groups(*graph_, work, {.placement = Placement::kDisk, .cache_bytes = cache_bytes});
    const auto edges = static_cast<double>(disk.edges);
    const auto bytes = static_cast<double>(disk.read.bytes_read);
    Line line{.name = name, .work = edges, .unit = "edges", .seconds = disk.seconds};
    line.peer = "edges in RAM";
    line.peer_rate = static_cast<double>(ram.edges) / ram.seconds;
    line.more["threads"] = work.threads;
    line.more["batches"] = work.num_batches;
    line.more["batch_size"] = work.batch_size;
    line.more["bytes_read"] = disk.read.bytes_read;
    line.more["bytes_per_edge"] = bytes / edges;
    line.more["pages_per_edge"] = bytes / 4096 / edges;
    line.more["page_hits"] = disk.read.page_hits;
    line.more["requests"] = disk.read.requests;
    line.more["bytes_per_second"] = bytes / disk.seconds;
    line.more["edges_per_cpu_second"] = edges / disk.cpu_seconds;
    line.more["cache"] = cache_bytes;
    line.more["topology_memory"] = disk.topology_bytes;
    line.more["topology_memory_in_ram"] = ram.topology_bytes;
    line.more["workspace"] = disk.workspace_bytes;
    print(line);
  }

  // Many relations on disk, a hop's read together, beside one after the other.
  void relations(const std::string& name) {
    constexpr std::size_t kRelations = 8;
    if (!graph_) graph_.emplace(dataset, dir, scale);
    SamplingWork work{.fanout = {4, 2}, .parts = {.transpose = false}, .threads = 2};
    work.num_batches = num_batches;
    work.batch_size = batch_size;
    work.rounds = rounds;
    const TopologyOptions options{.placement = Placement::kDisk,
                                  .cache_bytes = cache_bytes / kRelations};
    const auto run = [&](Turns turns) {
      return run_relations(*graph_, work, options, kRelations, turns);
    };
    const PagedResult apart = run(Turns::kOneByOne);
    const PagedResult together = run(Turns::kTogether);
    Line line{.name = name,
              .work = static_cast<double>(together.edges),
              .unit = "edges",
              .seconds = together.seconds};
    line.peer = "one relation after the other";
    line.peer_rate = static_cast<double>(apart.edges) / apart.seconds;
    line.more["relations"] = kRelations;
    line.more["threads"] = work.threads;
    line.more["batches"] = work.num_batches;
    line.more["batch_size"] = work.batch_size;
    line.more["bytes_read"] = together.read.bytes_read;
    line.more["bytes_read_one_by_one"] = apart.read.bytes_read;
    line.more["requests"] = together.read.requests;
    line.more["bytes_per_second"] =
        static_cast<double>(together.read.bytes_read) / together.seconds;
    line.more["workspace"] = together.workspace_bytes;
    print(line);
  }

  // Draws that targets and mini-batches share.
  void labor(const std::string& name) {
    if (!graph_) graph_.emplace(dataset, dir, scale);
    LaborWork work;
    work.num_batches = num_batches;
    work.batch_size = batch_size;
    work.edge_cache_bytes = cache_bytes;
    print_labor(*graph_, work, name);
  }

  // Snapshot caches, each against the page cache of the same memory, and against RAM.
  void snapshots(const std::string& name, bool appended) {
    if (!growing_) growing_.emplace(dir, scale);
    SnapshotWork work;
    work.appended = appended;
    work.num_batches = num_batches;
    work.batch_size = batch_size;
    if (look_ahead != 0) work.options.hotness = SnapshotHotness::kLookAhead;
    print_snapshots(*growing_, work, name);
  }

  std::uint64_t look_ahead = 1;
  std::string dataset;
  std::string dir = ".";
  std::string peers = SLUICE_BENCH_PEERS;
  std::uint64_t scale = 20;
  std::uint64_t num_batches = 100;
  std::uint64_t batch_size = 1024;
  std::uint64_t rounds = 5;
  std::uint64_t cache_bytes = 8 << 20;

 private:
  std::optional<BenchGraph> graph_;
  std::optional<GrowingGraph> growing_;
};

}  // namespace
}  // namespace sluice::bench

int main(int argc, char** argv) {
  sluice::bench::Bench bench;
  sluice::bench::Program program("samplers",
                                 "Mini-batches sampled from a graph in RAM, or on disk.");
  program.option(
      "--dataset", bench.dataset, "sample this dataset instead of an R-MAT graph made for the run");
  program.option("--dir", bench.dir, "where the R-MAT graph is made; it is removed at the end");
  program.option("--scale", bench.scale, "2^scale nodes and 16 edges a node in the R-MAT graph");
  program.option("--batches", bench.num_batches, "mini-batches a round");
  program.option("--batch-size", bench.batch_size, "seeds a mini-batch");
  program.option("--rounds", bench.rounds, "rounds; the median is reported");
  program.option("--cache", bench.cache_bytes, "bytes of the page cache where edges are on disk");
  program.option("--peers", bench.peers, "the script that runs the peers; empty: none");
  program.add_case("neighbor_15_10_5", "fanout 15/10/5, 2 threads, beside DGL and GraphBolt", [&] {
    bench.neighbor("neighbor_15_10_5", 2, false);
  });
  program.add_case("neighbor_15_10_5_1thread", "the same on 1 thread", [&] {
    bench.neighbor("neighbor_15_10_5_1thread", 1, false);
  });
  program.add_case("neighbor_15_10_5_transposed",
                   "2 threads, with the blocks' transposes, as training asks",
                   [&] { bench.neighbor("neighbor_15_10_5_transposed", 2, true); });
  program.add_case("neighbor_paged", "fanout 15/10/5, 2 threads, edges on disk beside RAM", [&] {
    bench.paged("neighbor_paged");
  });
  program.add_case("relations_paged",
                   "eight relations on disk, fanout 4/2, 2 threads: together beside one by one",
                   [&] { bench.relations("relations_paged"); });
  program.add_case(
      "labor",
      "labor and dependence beside neighbor, 15/10/5: nodes, rows missed by a cache of "
      "a tenth, bytes of edges on disk",
      [&] { bench.labor("labor"); });
  sluice::bench::TemporalBenchOptions temporal{bench.dir, bench.scale, bench.rounds, bench.peers};
  program.option("--order", temporal.order, "temporal: time, shuffled or both");
  program.option("--temporal-batches", temporal.batches, "temporal: batches a round, at most");
  program.option("--threads", temporal.threads, "temporal: data threads");
  sluice::bench::TemporalBench temporal_bench(temporal);
  temporal_bench.add_to(program);
  program.option(
      "--look-ahead", bench.look_ahead, "hot nodes by trial batches; 0: by where edges come from");
  program.add_case("snapshot", "each snapshot mode, a tenth of the edges' memory", [&] {
    bench.snapshots("snapshot", false);
  });
  program.add_case("snapshot_appended", "the same, a tenth more edges half-way", [&] {
    bench.snapshots("snapshot_appended", true);
  });
  return program.run(argc, argv);
}
