#include "bench/nn/blocks.h"

#include "bench/support/all_offsets.h"

#include <sluice/error.h>
#include <sluice/loader.h>
#include <sluice/samplers/transpose_block.h>

#include <algorithm>
#include <fstream>
#include <ios>
#include <span>
#include <vector>

namespace sluice::bench {
namespace {

template <class T>
void write(const std::filesystem::path& path, std::span<const T> values) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size_bytes()));
  if (!file.flush()) throw Error(ErrorCode::kIo, "cannot write the peers' input");
}

Array nodes_with_edges(const Dataset& dataset) {
  const auto topology = dataset.topology(dataset.schema().relations.at(0).key());
  const CscView& csc = *topology->resident();
  std::vector<std::uint64_t> nodes;
  for (std::uint64_t node = 0; node < topology->num_targets(); ++node)
    if (csc.range(node).degree() != 0) nodes.push_back(node);
  Array ids = Array::make(DType::kU64, {static_cast<std::int64_t>(nodes.size())}).or_throw();
  std::ranges::copy(nodes, ids.as<std::uint64_t>().begin());
  return ids;
}

}  // namespace

Block sampled_block(const Dataset& dataset,
                    std::uint64_t seeds,
                    int threads,
                    MemoryLedger& ledger) {
  GraphDataOptions placement;
  placement.features = Placement::kMemory;
  GraphData data(dataset, placement, 0);
  LoaderOptions options;
  options.fanout = {10, 10};
  options.batch_size = static_cast<std::int64_t>(seeds);
  options.data_threads = threads;
  Loader loader(data, options, nodes_with_edges(dataset), {}, ledger);
  loader.start({});
  Block block = loader.next()->layers.front().front();
  loader.stop();
  return block;
}

Block whole_graph(const Dataset& dataset) {
  const auto topology = dataset.topology(dataset.schema().relations.at(0).key());
  const CscView& csc = *topology->resident();
  Block block;
  block.num_sources = static_cast<std::int64_t>(topology->num_sources());
  block.num_targets = static_cast<std::int64_t>(topology->num_targets());
  const auto edges = static_cast<std::int64_t>(topology->num_edges());
  block.offsets = Array::make(DType::kI64, {block.num_targets + 1}).or_throw();
  block.neighbours = Array::make(DType::kI32, {edges}).or_throw();
  std::ranges::copy(all_offsets(*topology), block.offsets.as<std::int64_t>().begin());
  const auto neighbours = block.neighbours.as<std::int32_t>();
  for (std::size_t i = 0; i < neighbours.size(); ++i)
    neighbours[i] = static_cast<std::int32_t>(csc.neighbour(i));
  transpose_block(block, nullptr).or_throw();
  return block;
}

void write_block(const std::filesystem::path& folder, const Block& block) {
  write(folder / "offsets.i64", block.offsets.as<std::int64_t>());
  write(folder / "neighbours.i32", block.neighbours.as<std::int32_t>());
  const std::int64_t sizes[] = {block.num_sources, block.num_targets};
  write(folder / "sizes.i64", std::span<const std::int64_t>(sizes));
}

}  // namespace sluice::bench
