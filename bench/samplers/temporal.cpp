#include "bench/samplers/temporal.h"

#include "bench/support/child.h"
#include "bench/support/folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <numeric>
#include <sstream>
#include <utility>

namespace sluice::bench {
namespace {

constexpr std::int64_t kCount = 10;
constexpr std::uint64_t kTwoHopShare = 8;  // of the batches: each has some eight times the edges

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// One hop's rows in memory that is kept from batch to batch.
class Buffer {
 public:
  explicit Buffer(std::size_t queries)
      : counts_(queries),
        neighbours_(queries * kCount),
        edge_ids_(queries * kCount),
        times_(queries * kCount),
        deltas_(queries * kCount),
        offsets_(queries + 1) {}

  /// The rows of as many queries.
  TemporalRows rows(std::size_t queries) {
    const std::size_t cells = queries * kCount;
    return {std::span(counts_).first(queries),
            std::span(neighbours_).first(cells),
            std::span(edge_ids_).first(cells),
            std::span(times_).first(cells),
            std::span(deltas_).first(cells)};
  }
  /// Packs them; the events as the next hop's queries.
  TemporalQueries pack(const TemporalRows& rows) {
    const std::uint64_t events = pack_rows(rows, std::span(offsets_).first(rows.counts.size() + 1));
    return {rows.neighbours.first(events), rows.times.first(events), rows.edge_ids.first(events)};
  }

 private:
  std::vector<std::int32_t> counts_;
  std::vector<std::uint64_t> neighbours_, edge_ids_;
  std::vector<std::int64_t> times_, deltas_, offsets_;
};

/// One thread's buffers.
class TemporalWorker {
 public:
  TemporalWorker(const TemporalSampler& sampler, std::size_t roots) : sampler_(sampler) {
    for (std::size_t h = 0; h < sampler.num_hops(); ++h) {
      buffers_.emplace_back(roots);
      roots *= kCount;
    }
  }

  /// Returns the edges of all hops. Rows of the last hop are left padded.
  std::uint64_t sample(TemporalQueries queries) {
    std::uint64_t edges = 0;
    for (std::size_t h = 0; h < buffers_.size(); ++h) {
      const TemporalRows rows = buffers_[h].rows(queries.size());
      sampler_.fill(h, {.queries = queries}, rows).or_throw();
      edges = std::accumulate(rows.counts.begin(), rows.counts.end(), edges);
      if (h + 1 < buffers_.size()) queries = buffers_[h].pack(rows);
    }
    return edges;
  }

 private:
  const TemporalSampler& sampler_;
  std::vector<Buffer> buffers_;
};

struct Rounds {
  double seconds = 0;      // of the middle one
  double cpu_seconds = 0;  // of all threads: what a machine shared with others still measures well
  std::uint64_t edges = 0;
};

Rounds run(const TemporalSampler& sampler,
           const TemporalBenchQueries& queries,
           const TemporalBenchOptions& options) {
  ThreadArena arena(static_cast<int>(options.threads));
  std::vector<std::unique_ptr<TemporalWorker>> workers;
  workers.reserve(options.threads);
  for (std::uint64_t t = 0; t < options.threads; ++t)
    workers.push_back(std::make_unique<TemporalWorker>(sampler, TemporalBenchQueries::kRoots));
  Rounds rounds;
  std::vector<double> seconds, cpu_seconds;
  for (std::uint64_t r = 0; r <= options.rounds; ++r) {  // the first one is not counted
    std::atomic<std::uint64_t> next = 0, edges = 0;
    const std::clock_t cpu_start = std::clock();
    const double taken = seconds_of([&] {
      arena.for_each(options.threads, [&](std::size_t w) {
        std::uint64_t mine = 0;
        for (std::uint64_t b; (b = next++) < queries.num_batches();)
          mine += workers[w]->sample(queries.batch(b));
        edges += mine;
      });
    });
    const double cpu_taken = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
    if (r != 0) seconds.push_back(taken), cpu_seconds.push_back(cpu_taken);
    rounds.edges = edges;
  }
  rounds.seconds = median(seconds);
  rounds.cpu_seconds = median(cpu_seconds);
  return rounds;
}

}  // namespace

void TemporalBench::add_to(Program& program) {
  const std::vector<Case> cases{
      {"temporal_recent_10", TemporalStrategy::kRecent, 1, 2.45e6, 1.45e6},
      {"temporal_uniform_10", TemporalStrategy::kUniform, 1, 1.90e6, 0.82e6},
      {"temporal_recent_10_2hop", TemporalStrategy::kRecent, 2, 0, 103e3},
      {"temporal_uniform_10_2hop", TemporalStrategy::kUniform, 2, 0, 68e3}};
  for (const Case& one : cases) {
    program.add_case(
        one.name, "600 events x 3 roots a batch, 10 events a node", [this, one] { measure(one); });
  }
  program.add_case("hub", "the 10 last events: a node of 2 M beside one of 100", [this] { hub(); });
}

const TemporalBenchGraph& TemporalBench::graph() {
  if (!graph_) {
    ThreadArena arena(static_cast<int>(options_.threads));
    graph_ = std::make_unique<TemporalBenchGraph>(options_.scale, arena);
  }
  return *graph_;
}

void TemporalBench::measure(const Case& what) {
  if (options_.order != "shuffled") measure(what, EventOrder::kTime);
  if (options_.order != "time") measure(what, EventOrder::kShuffled);
}

void TemporalBench::measure(const Case& what, EventOrder order) {
  const std::uint64_t most = what.hops == 1 ? options_.batches : options_.batches / kTwoHopShare;
  const TemporalBenchQueries queries(graph(), order, most);
  const TemporalSampler sampler(
      graph().graph(),
      {.strategy = what.strategy, .count = std::vector<std::int64_t>(what.hops, kCount)},
      RandomKey(1));
  const Rounds rounds = run(sampler, queries, options_);
  const auto roots = static_cast<double>(queries.num_batches() * TemporalBenchQueries::kRoots);
  const double rate = roots / rounds.seconds;

  Line line{.name = what.name, .work = roots, .unit = "roots", .seconds = rounds.seconds};
  line.more = {{"order", order == EventOrder::kTime ? "time" : "shuffled"},
               {"scale", options_.scale},
               {"threads", options_.threads},
               {"visibility", std::string(to_string(sampler.options().visibility))},
               {"batches", queries.num_batches()},
               {"edges_per_second", static_cast<double>(rounds.edges) / rounds.seconds},
               {"roots_per_cpu_second", roots / rounds.cpu_seconds},
               {"edges_per_root", static_cast<double>(rounds.edges) / roots}};
  // Published with the machine idle (PEERS.md): a ratio to them means something on such a one only.
  if (what.tgl != 0) line.more["of_tgl_figure"] = rate / what.tgl;
  line.more["of_pyg_lib_figure"] = rate / what.pyg_lib;
  if (what.strategy == TemporalStrategy::kRecent && what.hops == 1) {
    if (const auto& peer = last_neighbor_loader()) {
      line.peer = "pyg LastNeighborLoader";  // in time order, whatever ours is in
      line.peer_rate = peer->roots_per_second;
      line.more["peer_edges_per_second"] = peer->edges_per_second;
      line.more["peer_rate_with_insert"] = peer->with_insert;
    }
  }
  print(line);
}

const std::optional<TemporalBench::Peer>& TemporalBench::last_neighbor_loader() {
  if (std::exchange(asked_peer_, true) || options_.peers.empty()) return peer_;
  const Folder folder(std::filesystem::path(options_.dir) /
                      fmt::format("bench-temporal-{}", ::getpid()));
  graph().write(folder.path());
  std::istringstream text(run_child({options_.peers,
                                     "temporal",
                                     folder.path().string(),
                                     std::to_string(graph().num_nodes()),
                                     std::to_string(options_.threads)}));
  for (std::string said; std::getline(text, said);) {
    const auto json = nlohmann::ordered_json::parse(said);
    const double seconds = json.at("seconds").get<double>();
    const double roots = json.at("roots").get<double>();
    peer_ = Peer{.roots_per_second = roots / seconds,
                 .edges_per_second = json.at("edges").get<double>() / seconds,
                 .with_insert = roots / json.at("with_insert").get<double>()};
  }
  return peer_;
}

void TemporalBench::hub() {
  constexpr std::uint64_t kHub = 2'000'000;
  constexpr std::uint64_t kLeaf = 100;
  constexpr std::uint64_t kQueries = 100'000;
  TemporalArrays arrays;
  arrays.offsets = Array::make(DType::kU64, {3}).or_throw();
  arrays.neighbours = Array::make(DType::kU32, {kHub + kLeaf}).or_throw();
  arrays.edge_ids = Array::make(DType::kU32, {kHub + kLeaf}).or_throw();
  arrays.times = Array::make(DType::kI64, {kHub + kLeaf}).or_throw();
  const auto offsets = arrays.offsets.as<std::uint64_t>();
  offsets[0] = 0, offsets[1] = kHub, offsets[2] = kHub + kLeaf;
  for (std::uint64_t e = 0; e < kHub + kLeaf; ++e) {
    arrays.neighbours.as<std::uint32_t>()[e] = static_cast<std::uint32_t>(e % 2);
    arrays.edge_ids.as<std::uint32_t>()[e] = static_cast<std::uint32_t>(e);
    arrays.times.as<std::int64_t>()[e] =
        static_cast<std::int64_t>(e < kHub ? e : (e - kHub) * (kHub / kLeaf));
  }
  const TemporalSampler sampler(
      TemporalGraph::own(std::move(arrays)).or_throw().as_records(nullptr).or_throw(),
      {.count = {kCount}},
      RandomKey(1));
  std::vector<std::int64_t> times(kQueries);
  for (std::uint64_t i = 0; i < kQueries; ++i)
    times[i] = static_cast<std::int64_t>(RandomKey(2).below(kHub, i));
  TemporalWorker worker(sampler, TemporalBenchQueries::kRoots);
  const auto measure_node = [&](std::uint64_t node) {
    const std::vector<std::uint64_t> nodes(kQueries, node);
    std::vector<double> seconds;
    for (std::uint64_t r = 0; r <= options_.rounds; ++r) {
      seconds.push_back(seconds_of([&] {
        for (std::size_t at = 0; at < kQueries; at += 1000)
          (void)worker.sample(
              {std::span(nodes).subspan(at, 1000), std::span(times).subspan(at, 1000)});
      }));
    }
    return median({seconds.begin() + 1, seconds.end()});
  };
  const double leaf = measure_node(1);
  Line line{.name = "hub", .work = kQueries, .unit = "roots", .seconds = measure_node(0)};
  line.more = {{"threads", 1},
               {"events", kHub},
               {"other_events", kLeaf},
               {"ns_per_query", line.seconds / kQueries * 1e9},
               {"other_ns_per_query", leaf / kQueries * 1e9},
               {"ratio", line.seconds / leaf}};
  print(line);
}

}  // namespace sluice::bench
