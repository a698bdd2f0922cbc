#include "bench/conversion/in_memory.h"

#include "bench/support/child.h"
#include "bench/support/folder.h"
#include "bench/support/program.h"
#include "core/cgroup.h"
#include "prep/convert/converter.h"
#include "prep/generate/rmat.h"
#include "storage/io/file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <sstream>
#include <vector>

namespace sluice::bench {
namespace {

using Ids = std::span<std::uint32_t>;

struct Graph {
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  AlignedBuffer source_memory, target_memory;

  Ids source() { return as_ids(source_memory); }
  Ids target() { return as_ids(target_memory); }

 private:
  Ids as_ids(AlignedBuffer& memory) const {
    return {reinterpret_cast<std::uint32_t*>(memory.data()), edges};
  }
};

Graph draw_graph(std::uint64_t scale, ThreadArena& arena) {
  RmatGenerator::Options options;
  options.scale = static_cast<std::int64_t>(scale);
  const RmatDraw draw(options);
  Graph graph{std::uint64_t{1} << scale, draw.edges(), {}, {}};
  graph.source_memory = AlignedBuffer::make(graph.edges * 4, nullptr, "graph").or_throw();
  graph.target_memory = AlignedBuffer::make(graph.edges * 4, nullptr, "graph").or_throw();
  arena.for_ranges(graph.edges, 1 << 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto [source, target] = draw(i);
      graph.source()[i] = static_cast<std::uint32_t>(source);
      graph.target()[i] = static_cast<std::uint32_t>(target);
    }
  });
  return graph;
}

// One of the two conversions, with its rounds.
struct Measured {
  std::vector<double> seconds;  // from COO to CSC, with all its memory new
  std::uint64_t peak_rss = 0;   // of the process, after the first round
  std::uint64_t output_bytes = 0;
};

void convert(Graph& graph, bool edge_ids, const InMemoryOptions& options, Measured& measured) {
  ThreadArena arena(static_cast<int>(options.threads));
  const auto begin = std::chrono::steady_clock::now();
  ConvertOptions convert;
  convert.rules = {.num_sources = graph.nodes, .num_targets = graph.nodes};
  convert.edge_ids = edge_ids;
  convert.expected_edges = graph.edges;
  convert.spill_folder = options.dir;
  Converter converter(convert, arena, nullptr);
  (void)converter.add(
      EdgeSpan<std::uint32_t>{graph.source().data(), graph.target().data(), graph.edges}, 0);
  MemoryCsc csc(DType::kU32,
                edge_ids ? std::optional(DType::kU32) : std::nullopt,
                graph.nodes,
                graph.edges,
                nullptr);
  const ConvertStats stats = converter.drain(csc, graph.edges);
  measured.seconds.push_back(
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  if (stats.edges_written != graph.edges || csc.offsets().back() != graph.edges)
    throw Error(ErrorCode::kInternal, "the conversion lost edges");
  measured.output_bytes = (graph.nodes + 1) * 8 + graph.edges * csc.edge_bytes();
  if (measured.peak_rss == 0) measured.peak_rss = read_process_memory().peak_rss;
}

void write_ids(const std::filesystem::path& path, Ids ids) {
  File file = File::create(path).or_throw();
  file.write_at(0, std::as_bytes(ids)).or_throw();
  file.close().or_throw();
}

// One JSON object a line, each with peer, edge_ids and seconds.
std::vector<nlohmann::ordered_json> run_peers(Graph& graph, const InMemoryOptions& options) {
  std::vector<nlohmann::ordered_json> lines;
  if (options.peers.empty()) return lines;
  const Folder folder(std::filesystem::path(options.dir) /
                      fmt::format("bench-conversion-{}", ::getpid()));
  write_ids(folder.path() / "source.u32", graph.source());
  write_ids(folder.path() / "target.u32", graph.target());
  std::istringstream text(run_child({options.peers,
                                     "conversion",
                                     folder.path().string(),
                                     std::to_string(graph.nodes),
                                     std::to_string(options.threads)}));
  for (std::string line; std::getline(text, line);)
    lines.push_back(nlohmann::ordered_json::parse(line));
  return lines;
}

}  // namespace

void measure_in_memory(const InMemoryOptions& options) {
  ThreadArena arena(static_cast<int>(options.threads));
  Graph graph = draw_graph(options.scale, arena);
  Measured plain, with_ids;
  for (std::uint64_t round = 0; round < options.rounds; ++round) {
    convert(graph, false, options, plain);
    convert(graph, true, options, with_ids);
  }
  const auto peers = run_peers(graph, options);
  for (const bool edge_ids : {false, true}) {
    const Measured& measured = edge_ids ? with_ids : plain;
    Line line;
    line.name = edge_ids ? "in_memory_edge_ids" : "in_memory";
    line.work = static_cast<double>(graph.edges);
    line.unit = "edges";
    line.seconds = median(measured.seconds);
    const std::uint64_t data = graph.edges * 8 + measured.output_bytes;
    line.more = {
        {"scale", options.scale},
        {"threads", options.threads},
        {"input_bytes", graph.edges * 8},
        {"output_bytes", measured.output_bytes},
        {"case_peak_rss", measured.peak_rss},
        {"peak_of_data", static_cast<double>(measured.peak_rss) / static_cast<double>(data)},
        {"peers", nlohmann::ordered_json::object()}};
    // The fastest peer, whatever ids it keeps: none of them is slower without.
    for (const auto& peer : peers) {
      const double rate = line.work / peer.at("seconds").get<double>();
      line.more["peers"][peer.at("peer").get<std::string>()] = peer;
      if (line.peer_rate && *line.peer_rate >= rate) continue;
      line.peer = peer.at("peer").get<std::string>();
      line.peer_rate = rate;
    }
    print(line);
  }
}

}  // namespace sluice::bench
