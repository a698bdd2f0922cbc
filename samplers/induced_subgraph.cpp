#include "samplers/induced_subgraph.h"

#include <sluice/samplers/transpose_block.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace sluice {
namespace {

constexpr std::size_t kMaxSubgraphEdges = std::numeric_limits<std::int32_t>::max();

// The first `count` elements of an array, in the same storage.
Array prefix_of(const Array& array, std::int64_t count) {
  if (array.data() == nullptr) return array;  // of no elements
  return Array::adopt(
      array.dtype(), {count}, array.storage().get(), [kept = array.storage()](void*) {});
}

}  // namespace

Result<void> InducedSubgraph::begin(std::span<NodeTable> tables, MemoryLedger* ledger) {
  tables_ = tables;
  ledger_ = ledger;
  index_.resize(tables.size());
  for (std::size_t type = 0; type < tables.size(); ++type) {
    const auto ids = tables[type].ids();
    if (auto built = index_[type].build(ids.size(), ids.size(), ledger, IdTable::hash_at(ids));
        !built)
      return built;
  }
  return {};
}

Result<Block> InducedSubgraph::block(const SampledRelation& relation,
                                     std::size_t num_targets,
                                     const BlockParts& parts) {
  Block block;
  block.relation = relation.index;
  block.source_type = relation.source_type;
  block.target_type = relation.target_type;
  block.num_sources = static_cast<std::int64_t>(tables_[relation.source_type].size());
  block.num_targets = static_cast<std::int64_t>(num_targets);
  auto offsets = Array::make(DType::kI64, {block.num_targets + 1}, ledger_, "batches");
  if (!offsets) return std::move(offsets).error();
  block.offsets = std::move(offsets).value();
  if (auto scanned = scan(relation, parts, block); !scanned) return std::move(scanned).error();
  if (parts.transpose) {
    if (auto transposed = transpose_block(block, ledger_); !transposed)
      return std::move(transposed).error();
  }
  return block;
}

Result<void> InducedSubgraph::scan(const SampledRelation& relation,
                                   const BlockParts& parts,
                                   Block& block) {
  const auto num_targets = static_cast<std::size_t>(block.num_targets);
  const auto offsets = block.offsets.as<std::int64_t>();
  std::fill(offsets.begin(), offsets.end(), 0);
  const auto targets = tables_[relation.target_type].ids().first(num_targets);
  if (auto begun = scan_.begin({.topology = relation.topology, .targets = targets}, ledger_);
      !begun)
    return begun;
  std::size_t kept = 0;
  while (true) {
    auto piece = scan_.next();
    if (!piece) return std::move(piece).error();
    if (piece.value().empty()) break;
    auto count = keep(relation, piece.value(), kept, parts, offsets.subspan(1));
    if (!count) return std::move(count).error();
    kept += count.value();
    if (kept > kMaxSubgraphEdges) return too_many_block_edges(kept);
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return copy_kept(kept, parts, block);
}

Result<std::size_t> InducedSubgraph::keep(const SampledRelation& relation,
                                          const EdgeScan::Piece& piece,
                                          std::size_t kept,
                                          const BlockParts& parts,
                                          std::span<std::int64_t> counts) {
  constexpr std::size_t kAhead = 16;  // a miss each, so the index is asked some way ahead
  const std::size_t edges = piece.sources.size();
  if (auto room = rows_.grow(kept + edges, kept, ledger_); !room) return std::move(room).error();
  if (parts.edge_ids) {
    if (auto room = positions_.ensure(edges, ledger_); !room) return std::move(room).error();
    if (auto room = edge_ids_.grow(kept + edges, kept, ledger_); !room)
      return std::move(room).error();
  }
  const IdTable& index = index_[relation.source_type];
  const auto ids = tables_[relation.source_type].ids();
  std::int32_t* const rows = rows_.data() + kept;
  std::uint64_t* const positions = parts.edge_ids ? positions_.data() : nullptr;
  std::size_t count = 0;
  for (std::size_t i = 0; i < edges; ++i) {
    index.prefetch(IdTable::hash_of(piece.sources[std::min(i + kAhead, edges - 1)]));
    const std::size_t row = index.find_id(piece.sources[i], ids);
    if (row == IdTable::kNoRow) continue;
    rows[count] = static_cast<std::int32_t>(row);
    if (positions != nullptr) positions[count] = piece.positions[i];
    ++counts[piece.targets[i]];
    ++count;
  }
  if (!parts.edge_ids || count == 0) return count;
  const auto out = edge_ids_.first(kept + count).subspan(kept);
  if (auto read = relation.topology->edge_ids(positions_.first(count), out); !read)
    return std::move(read).error();
  return count;
}

Result<void> InducedSubgraph::copy_kept(std::size_t count, const BlockParts& parts, Block& block) {
  const auto edges = static_cast<std::int64_t>(count);
  auto neighbours = Array::make(DType::kI32, {edges}, ledger_, "batches");
  if (!neighbours) return std::move(neighbours).error();
  block.neighbours = std::move(neighbours).value();
  std::copy_n(rows_.data(), count, block.neighbours.as<std::int32_t>().begin());
  if (!parts.edge_ids) return {};
  auto edge_ids = Array::make(DType::kU64, {edges}, ledger_, "batches");
  if (!edge_ids) return std::move(edge_ids).error();
  block.edge_ids = std::move(edge_ids).value();
  std::copy_n(edge_ids_.data(), count, block.edge_ids.as<std::uint64_t>().begin());
  return {};
}

Result<Block> InducedSubgraph::last_block(const Block& whole,
                                          std::size_t num_targets,
                                          const BlockParts& parts) {
  Block block;
  block.relation = whole.relation;
  block.source_type = whole.source_type;
  block.target_type = whole.target_type;
  block.num_sources = whole.num_sources;
  block.num_targets = static_cast<std::int64_t>(num_targets);
  const std::int64_t edges = std::as_const(whole.offsets).as<std::int64_t>()[num_targets];
  block.offsets = prefix_of(whole.offsets, block.num_targets + 1);
  block.neighbours = prefix_of(whole.neighbours, edges);
  block.edge_ids = prefix_of(whole.edge_ids, edges);
  if (!parts.transpose) return block;
  if (auto transposed = transpose_block(block, ledger_); !transposed)
    return std::move(transposed).error();
  return block;
}

Result<void> InducedSubgraph::make_layers(BatchBuilder& builder, MemoryLedger* ledger) {
  if (auto begun = begin(builder.tables(), ledger); !begun) return begun;
  const std::size_t layers = builder.num_layers();
  const BlockParts& parts = builder.parts();
  std::vector<Block> inner, last;
  for (const SampledRelation& relation : builder.relations()) {
    const std::size_t seeds = builder.size_at(relation.target_type, layers);
    const std::size_t targets = layers == 1 ? seeds : builder.tables()[relation.target_type].size();
    auto whole = block(relation, targets, parts);
    if (!whole) return std::move(whole).error();
    if (layers == 1) {
      last.push_back(std::move(whole).value());
      continue;
    }
    auto cut = last_block(whole.value(), seeds, parts);
    if (!cut) return std::move(cut).error();
    last.push_back(std::move(cut).value());
    inner.push_back(std::move(whole).value());
  }
  for (std::size_t boundary = 0; boundary < layers; ++boundary) builder.note_sizes(boundary);
  for (std::size_t layer = 0; layer + 1 < layers; ++layer) builder.set_layer(layer, inner);
  builder.set_layer(layers - 1, std::move(last));
  return {};
}

}  // namespace sluice
