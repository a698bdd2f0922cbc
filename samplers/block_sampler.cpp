#include "samplers/block_sampler.h"

#include "samplers/topology_access.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace sluice {
namespace {

// Edges of a piece: few enough that its positions and sources stay in the first-level caches, many
// enough to keep memory busy. It does not change what is sampled.
constexpr std::size_t kPieceEdges = 1024;

// A topology on disk is asked for much at once, so that it can sort and merge its reads.
constexpr std::size_t kPagedPieceEdges = std::size_t{1} << 21;

// Sources that the node table makes room for at once: as if all of them were new. Most of a large
// piece's are not, and room for all would be several times what the nodes take in the end.
constexpr std::size_t kReservedSources = std::size_t{1} << 14;

constexpr std::int64_t kMaxEdges = std::numeric_limits<std::int32_t>::max();

// Numbers the sources of edges: a miss each, or two, so the table is asked some way ahead.
void relabel(std::span<const std::uint64_t> sources,
             NodeTable& table,
             std::span<std::int32_t> rows) {
  constexpr std::size_t kAhead = 32;
  const std::size_t count = sources.size();
  for (std::size_t i = 0; i < std::min(kAhead, count); ++i) table.prefetch(sources[i]);
  for (std::size_t i = 0; i < count; ++i) {
    table.prefetch(sources[std::min(i + kAhead, count - 1)]);
    table.prefetch_listed(sources[std::min(i + kAhead / 2, count - 1)]);
    rows[i] = table.insert(sources[i]);
  }
}

std::span<const float> weights_of(const BlockSampler::Relation& relation, const EdgeRange& range) {
  return relation.weights.as<float>().subspan(range.begin, range.degree());
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
  if (auto begun = begin(request, tables, ledger); !begun) return std::move(begun).error();
  const bool resident = request.relation.topology->resident() != nullptr;
  const std::size_t most = resident ? kPieceEdges : kPagedPieceEdges;
  while (const std::size_t count = next_piece(most)) {
    if (auto done = sample_piece(count); !done) return std::move(done).error();
  }
  return finish();
}

Result<void> BlockSampler::begin(const Request& request,
                                 std::span<NodeTable> tables,
                                 MemoryLedger* ledger) {
  const Relation& relation = request.relation;
  request_ = request;
  tables_ = tables;
  ledger_ = ledger;
  piece_ = {num_kept(), num_kept()};
  block_ = {};
  block_.relation = relation.index;
  block_.source_type = relation.source_type;
  block_.target_type = relation.target_type;
  block_.num_targets = static_cast<std::int64_t>(request.num_targets);
  const auto targets = drawing();
  if (request.fanout != 0 && !targets.empty()) {
    if (auto room = ranges_.ensure(targets.size(), ledger); !room) return room;
    auto located = locate(*relation.topology, targets, ranges_.first(targets.size()));
    if (!located) return located;
  }
  return scans() ? begin_scan() : make_arrays();
}

std::size_t BlockSampler::num_kept() const {
  return request_.kept == nullptr ? 0 : static_cast<std::size_t>(request_.kept->num_targets);
}

std::size_t BlockSampler::kept_edges() const {
  return request_.kept == nullptr ? 0 : static_cast<std::size_t>(request_.kept->num_edges());
}

std::span<const std::uint64_t> BlockSampler::drawing() const {
  const auto targets = tables_[request_.relation.target_type].ids().first(request_.num_targets);
  return targets.subspan(num_kept());
}

// Into the first places of the block's edges.
void BlockSampler::keep_edges() {
  if (request_.kept == nullptr) return;
  std::ranges::copy(request_.kept->neighbours.as<std::int32_t>(),
                    block_.neighbours.as<std::int32_t>().begin());
  if (!request_.edge_ids) return;
  std::ranges::copy(request_.kept->edge_ids.as<std::uint64_t>(),
                    block_.edge_ids.as<std::uint64_t>().begin());
}

// How many of a node's in-edges are taken.
std::uint64_t BlockSampler::count_of(const EdgeRange& range) const {
  if (request_.fanout < 0) return range.degree();
  const auto fanout = static_cast<std::uint64_t>(request_.fanout);
  std::uint64_t there = range.degree();
  if (!request_.relation.weights.empty())
    there = WeightedChooser::count(weights_of(request_.relation, range));
  if (request_.replace) return there == 0 ? 0 : fanout;
  return std::min(there, fanout);
}

Result<void> BlockSampler::make_offsets() {
  auto offsets = Array::make(DType::kI64, {block_.num_targets + 1}, ledger_, "batches");
  if (!offsets) return std::move(offsets).error();
  block_.offsets = std::move(offsets).value();
  return {};
}

Result<void> BlockSampler::make_edges(std::int64_t count) {
  if (count > kMaxEdges) return too_many_edges(count);
  auto neighbours = Array::make(DType::kI32, {count}, ledger_, "batches");
  if (!neighbours) return std::move(neighbours).error();
  block_.neighbours = std::move(neighbours).value();
  if (!request_.edge_ids) return {};
  auto edge_ids = Array::make(DType::kU64, {count}, ledger_, "batches");
  if (!edge_ids) return std::move(edge_ids).error();
  block_.edge_ids = std::move(edge_ids).value();
  return {};
}

Result<void> BlockSampler::make_arrays() {
  if (auto made = make_offsets(); !made) return made;
  const auto out = block_.offsets.as<std::int64_t>();
  const std::size_t kept = num_kept();
  if (kept != 0) {
    std::ranges::copy(request_.kept->offsets.as<std::int64_t>().first(kept), out.begin());
  }
  auto sum = static_cast<std::int64_t>(kept_edges());
  for (std::size_t i = kept; i < request_.num_targets; ++i) {
    out[i] = sum;
    if (request_.fanout != 0) sum += static_cast<std::int64_t>(count_of(ranges_.data()[i - kept]));
  }
  out[request_.num_targets] = sum;
  if (auto made = make_edges(sum); !made) return made;
  keep_edges();
  return reserve_choosers(sum);
}

Result<void> BlockSampler::begin_scan() {
  taken_ = 0;
  if (auto made = make_offsets(); !made) return made;
  const auto offsets = block_.offsets.as<std::int64_t>();
  offsets[0] = 0;
  const std::size_t kept = num_kept();
  for (std::size_t i = 0; i < kept; ++i) {
    const auto before = request_.kept->offsets.as<std::int64_t>();
    offsets[i + 1] = before[i + 1] - before[i];
  }
  const Array& weights = request_.relation.weights;
  const auto targets = drawing();
  const ListScan::Request request{
      .targets = targets,
      .ranges = ranges_.first(targets.size()),
      .weights = weights.empty() ? std::span<const float>() : weights.as<float>(),
      .fanout = static_cast<std::size_t>(request_.fanout),
      .draws = *request_.shared,
      .key = request_.key};
  return scan_.begin(request, offsets.subspan(1 + kept), ledger_);
}

Result<void> BlockSampler::reserve_choosers(std::int64_t edges) {
  const auto most = static_cast<std::size_t>(std::clamp<std::int64_t>(request_.fanout, 0, edges));
  if (!request_.relation.weights.empty()) return weighted_.reserve(most, ledger_);
  return chooser_.reserve(most, ledger_);
}

std::size_t BlockSampler::next_piece(std::size_t most) {
  if (scans()) return scan_.next_piece(most);
  const auto offsets = std::as_const(block_.offsets).as<std::int64_t>();
  const std::size_t first = piece_.last_target;
  const auto edges_to = [&](std::size_t last) {
    return static_cast<std::size_t>(offsets[last] - offsets[first]);
  };
  std::size_t last = first;
  while (last < request_.num_targets && edges_to(last) < most) ++last;
  piece_ = {first, last};
  return edges_to(last);
}

std::size_t BlockSampler::first_edge() const {
  return static_cast<std::size_t>(block_.offsets.as<std::int64_t>()[piece_.first_target]);
}

Result<void> BlockSampler::sample_piece(std::size_t count) {
  if (auto room = positions_.ensure(count, ledger_); !room) return room;
  if (auto room = sources_.ensure(count, ledger_); !room) return room;
  const auto positions = positions_.first(count);
  choose(positions);
  Topology& topology = *request_.relation.topology;
  if (auto done = gather(topology, positions, sources_.first(count)); !done) return done;
  if (request_.edge_ids && !scans()) {
    if (auto done = topology.edge_ids(positions, edge_ids()); !done) return done;
  }
  return take(sources_.first(count));
}

void BlockSampler::choose(std::span<std::uint64_t> positions) {
  if (scans()) return scan_.choose(positions);
  const auto offsets = std::as_const(block_.offsets).as<std::int64_t>();
  const auto targets = tables_[block_.target_type].ids();
  std::uint64_t* at = positions.data();
  for (std::size_t i = piece_.first_target; i < piece_.last_target; ++i) {
    const EdgeRange range = ranges_.data()[i - num_kept()];
    const auto count = static_cast<std::size_t>(offsets[i + 1] - offsets[i]);
    const std::span<std::uint64_t> out{at, count};
    const RandomKey key = request_.key.with(targets[i]);
    at += count;
    if (request_.fanout < 0) {
      std::iota(out.begin(), out.end(), range.begin);
    } else if (!request_.relation.weights.empty()) {
      const auto weights = weights_of(request_.relation, range);
      weighted_.draw(range.begin, weights, key, request_.replace, out);
    } else if (request_.replace) {
      for (std::size_t e = 0; e < count; ++e) out[e] = range.begin + key.below(range.degree(), e);
    } else {
      chooser_.draw(range.begin, range.degree(), key, out);
    }
  }
}

Result<void> BlockSampler::take(std::span<const std::uint64_t> sources) {
  if (scans()) return take_scanned(sources);
  return number(sources, block_.neighbours.as<std::int32_t>().subspan(first_edge()));
}

// The rows of sources, new ones for those that are not listed yet.
Result<void> BlockSampler::number(std::span<const std::uint64_t> sources,
                                  std::span<std::int32_t> rows) {
  NodeTable& table = tables_[block_.source_type];
  while (!sources.empty()) {
    const std::size_t count = std::min(sources.size(), kReservedSources);
    if (auto room = table.reserve(count, ledger_); !room) return room;
    relabel(sources.first(count), table, rows.first(count));
    sources = sources.subspan(count);
    rows = rows.subspan(count);
  }
  return {};
}

Result<void> BlockSampler::take_scanned(std::span<const std::uint64_t> sources) {
  if (auto taken = scan_.take(sources); !taken) return taken;
  const std::span<const std::uint64_t> kept = scan_.sources();
  const std::size_t sum = taken_ + kept.size();
  if (auto room = taken_rows_.grow(sum, taken_, ledger_); !room) return room;
  if (auto numbered = number(kept, taken_rows_.first(sum).subspan(taken_)); !numbered)
    return numbered;
  if (request_.edge_ids) {
    if (auto room = taken_positions_.grow(sum, taken_, ledger_); !room) return room;
    std::ranges::copy(scan_.positions(), taken_positions_.first(sum).subspan(taken_).begin());
  }
  taken_ = sum;
  return {};
}

std::span<std::uint64_t> BlockSampler::edge_ids() {
  const auto ends = std::as_const(block_.offsets).as<std::int64_t>();
  const auto end = static_cast<std::size_t>(ends[piece_.last_target]);
  return block_.edge_ids.as<std::uint64_t>().subspan(first_edge(), end - first_edge());
}

Result<Block> BlockSampler::finish() {
  if (scans()) {
    if (auto finished = finish_scan(); !finished) return std::move(finished).error();
  }
  return std::exchange(block_, {});
}

Result<void> BlockSampler::finish_scan() {
  const auto offsets = block_.offsets.as<std::int64_t>();
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());  // until here, counts
  const std::size_t kept = kept_edges();
  if (auto made = make_edges(static_cast<std::int64_t>(kept + taken_)); !made) return made;
  keep_edges();
  std::ranges::copy(taken_rows_.first(taken_),
                    block_.neighbours.as<std::int32_t>().subspan(kept).begin());
  if (!request_.edge_ids) return {};
  std::span<const std::uint64_t> positions = taken_positions_.first(taken_);
  std::span<std::uint64_t> ids = block_.edge_ids.as<std::uint64_t>().subspan(kept);
  while (!positions.empty()) {
    const std::size_t count = std::min(positions.size(), kPagedPieceEdges);
    auto found = request_.relation.topology->edge_ids(positions.first(count), ids.first(count));
    if (!found) return found;
    positions = positions.subspan(count);
    ids = ids.subspan(count);
  }
  return {};
}

void BlockSampler::reset() {
  block_ = {};
}

}  // namespace sluice
