#include "samplers/block_sampler.h"

#include "samplers/topology_access.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice {
namespace {

// Edges of a piece: few enough that its positions and sources stay in the first-level caches, many
// enough to keep memory busy. It does not change what is sampled.
constexpr std::int64_t kPieceEdges = 1024;

constexpr std::int64_t kMaxEdges = std::numeric_limits<std::int32_t>::max();

// Numbers the sources of edges: a miss each, so the table is asked some way ahead.
void relabel(std::span<const std::uint64_t> sources,
             NodeTable& table,
             std::span<std::int32_t> rows) {
  constexpr std::size_t kAhead = 32;
  const std::size_t count = sources.size();
  for (std::size_t i = 0; i < std::min(kAhead, count); ++i) table.prefetch(sources[i]);
  for (std::size_t i = 0; i < count; ++i) {
    table.prefetch(sources[std::min(i + kAhead, count - 1)]);
    rows[i] = table.insert(sources[i]);
  }
}

Error too_many_edges(std::int64_t count) {
  return Error(
      ErrorCode::kResource,
      fmt::format("a mini-batch would hold {} edges of one relation in one layer; at most {} fit",
                  format_count(static_cast<std::uint64_t>(count)),
                  format_count(static_cast<std::uint64_t>(kMaxEdges))),
      "lower the batch size or [sampler] fanout");
}

}  // namespace

Result<Block> BlockSampler::sample(const Request& request,
                                   std::span<NodeTable> tables,
                                   MemoryLedger* ledger) {
  const Relation& relation = request.relation;
  const std::size_t num_targets = request.num_targets;
  Block block;
  block.relation = relation.index;
  block.source_type = relation.source_type;
  block.target_type = relation.target_type;
  block.num_targets = static_cast<std::int64_t>(num_targets);
  if (request.fanout != 0 && num_targets != 0) {
    if (auto room = ranges_.ensure(num_targets, ledger); !room) return std::move(room).error();
    const auto targets = tables[relation.target_type].ids().first(num_targets);
    auto located = locate(*relation.topology, targets, ranges_.first(num_targets));
    if (!located) return std::move(located).error();
  }
  if (auto made = make_arrays(block, request, ledger); !made) return std::move(made).error();

  // A topology on disk is asked once for everything, so that it can sort and merge its reads.
  const std::int64_t limit = relation.topology->resident() != nullptr ? kPieceEdges : kMaxEdges;
  const auto offsets = std::as_const(block.offsets).as<std::int64_t>();
  for (Piece piece; piece.first_target < num_targets; piece.first_target = piece.last_target) {
    const std::int64_t begin = offsets[piece.first_target];
    while (piece.last_target < num_targets && offsets[piece.last_target] - begin < limit)
      ++piece.last_target;
    if (auto done = sample_piece(block, piece, request, tables, ledger); !done)
      return std::move(done).error();
  }
  return block;
}

Result<void> BlockSampler::make_arrays(Block& block, const Request& request, MemoryLedger* ledger) {
  const std::uint64_t most = request.fanout < 0 ? std::numeric_limits<std::uint64_t>::max()
                                                : static_cast<std::uint64_t>(request.fanout);
  auto offsets = Array::make(DType::kI64, {block.num_targets + 1}, ledger, "batches");
  if (!offsets) return std::move(offsets).error();
  block.offsets = std::move(offsets).value();
  const auto out = block.offsets.as<std::int64_t>();
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < request.num_targets; ++i) {
    out[i] = sum;
    if (most != 0) sum += static_cast<std::int64_t>(std::min(ranges_.data()[i].degree(), most));
  }
  out[request.num_targets] = sum;
  if (sum > kMaxEdges) return too_many_edges(sum);

  auto neighbours = Array::make(DType::kI32, {sum}, ledger, "batches");
  if (!neighbours) return std::move(neighbours).error();
  block.neighbours = std::move(neighbours).value();
  if (request.edge_ids) {
    auto edge_ids = Array::make(DType::kU64, {sum}, ledger, "batches");
    if (!edge_ids) return std::move(edge_ids).error();
    block.edge_ids = std::move(edge_ids).value();
  }
  return chooser_.reserve(
      static_cast<std::size_t>(std::clamp<std::int64_t>(request.fanout, 0, sum)), ledger);
}

Result<void> BlockSampler::sample_piece(Block& block,
                                        Piece piece,
                                        const Request& request,
                                        std::span<NodeTable> tables,
                                        MemoryLedger* ledger) {
  const auto offsets = std::as_const(block.offsets).as<std::int64_t>();
  const auto begin = static_cast<std::size_t>(offsets[piece.first_target]);
  const std::size_t count = static_cast<std::size_t>(offsets[piece.last_target]) - begin;
  if (count == 0) return {};
  if (auto room = positions_.ensure(count, ledger); !room) return room;
  if (auto room = sources_.ensure(count, ledger); !room) return room;
  choose(block, piece, request.key, tables[block.target_type].ids());
  Topology& topology = *request.relation.topology;
  if (auto done = gather(topology, positions_.first(count), sources_.first(count)); !done)
    return done;
  if (request.edge_ids) {
    auto done = topology.edge_ids(positions_.first(count),
                                  block.edge_ids.as<std::uint64_t>().subspan(begin, count));
    if (!done) return done;
  }
  NodeTable& table = tables[block.source_type];
  if (auto room = table.reserve(count, ledger); !room) return room;
  relabel(sources_.first(count), table, block.neighbours.as<std::int32_t>().subspan(begin, count));
  return {};
}

void BlockSampler::choose(const Block& block,
                          Piece piece,
                          RandomKey key,
                          std::span<const std::uint64_t> targets) {
  const auto offsets = block.offsets.as<std::int64_t>();
  std::uint64_t* at = positions_.data();
  for (std::size_t i = piece.first_target; i < piece.last_target; ++i) {
    const EdgeRange range = ranges_.data()[i];
    const auto count = static_cast<std::size_t>(offsets[i + 1] - offsets[i]);
    chooser_.choose(range.begin, range.degree(), key.with(targets[i]), {at, count});
    at += count;
  }
}

Result<void> BlockSampler::add_degrees(const Relation& relation,
                                       std::span<const std::uint64_t> nodes,
                                       std::span<std::int64_t> degrees,
                                       MemoryLedger* ledger) {
  if (nodes.empty()) return {};
  if (auto room = ranges_.ensure(nodes.size(), ledger); !room) return room;
  const auto ranges = ranges_.first(nodes.size());
  if (auto located = locate(*relation.topology, nodes, ranges); !located) return located;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    degrees[i] += static_cast<std::int64_t>(ranges[i].degree());
  return {};
}

}  // namespace sluice
