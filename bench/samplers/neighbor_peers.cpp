#include "bench/samplers/neighbor_peers.h"

#include "bench/support/all_offsets.h"
#include "bench/support/child.h"
#include "bench/support/folder.h"

#include <sluice/error.h>
#include <sluice/samplers/seed_order.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <ios>
#include <span>
#include <sstream>

namespace sluice::bench {
namespace {

template <class T>
void append(std::ofstream& file, std::span<const T> values) {
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size_bytes()));
}

void write_input(const std::filesystem::path& folder,
                 const BenchGraph& graph,
                 const SamplingWork& work) {
  const Topology& topology = *graph.graph().relations.at(0);
  const CscView& csc = *topology.resident();
  if (csc.neighbours32.empty())
    throw Error(ErrorCode::kUsage, "peers are given ids of 32 bits", "measure a smaller graph");
  std::ofstream offsets(folder / "offsets.u64", std::ios::binary);
  append(offsets, std::span<const std::uint64_t>(all_offsets(topology)));
  std::ofstream neighbours(folder / "neighbours.u32", std::ios::binary);
  append(neighbours, csc.neighbours32);
  std::ofstream seeds(folder / "seeds.u64", std::ios::binary);
  const SeedOrder order = seed_order(graph, work);
  for (std::uint64_t b = 0; b < work.num_batches; ++b) {
    const std::vector<std::uint64_t> batch = order.batch(0, b % order.num_batches());
    if (batch.size() == work.batch_size) append(seeds, std::span(batch));
  }
  std::ofstream size(folder / "batch_size");
  size << work.batch_size;
  for (std::ofstream* file : {&offsets, &neighbours, &seeds, &size}) {
    if (!file->flush()) throw Error(ErrorCode::kIo, "cannot write the peers' input");
  }
}

}  // namespace

std::vector<nlohmann::ordered_json> run_neighbor_peers(const std::string& script,
                                                       const std::string& dir,
                                                       const BenchGraph& graph,
                                                       const SamplingWork& work) {
  const Folder folder(std::filesystem::path(dir) / "samplers_bench");
  write_input(folder.path(), graph, work);
  std::istringstream lines(run_child({script,
                                      "neighbor",
                                      folder.path().string(),
                                      fmt::format("{}", fmt::join(work.fanout, ",")),
                                      std::to_string(work.threads),
                                      std::to_string(work.rounds)}));
  std::vector<nlohmann::ordered_json> peers;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with('{')) peers.push_back(nlohmann::ordered_json::parse(line));
  return peers;
}

}  // namespace sluice::bench
