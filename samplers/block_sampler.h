// BlockSampler: one relation at one hop. Draws in-edges for the nodes listed so far, and lists the
// nodes it finds.
//
// Called by the samplers that go hop by hop; keeps its scratch between calls. Not thread-safe.
#pragma once

#include "samplers/list_scan.h"
#include "samplers/weighted_positions.h"

#include <sluice/batch.h>
#include <sluice/error.h>
#include <sluice/random.h>
#include <sluice/samplers/charged_buffer.h>
#include <sluice/samplers/choose_positions.h>
#include <sluice/samplers/node_table.h>
#include <sluice/topology.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sluice {

class BlockSampler {
 public:
  struct Relation {
    Topology* topology = nullptr;
    std::size_t index = 0;  ///< into GraphSchema::relations
    std::size_t source_type = 0;
    std::size_t target_type = 0;
    Array weights = {};  ///< f32 [edges], of SamplerGraph; empty: edges are alike
  };

  struct Request {
    Relation relation;
    std::size_t num_targets = 0;  ///< the first so many nodes listed of the target type
    std::int64_t fanout = 0;      ///< -1: all
    bool replace = false;         ///< NeighborSamplerOptions::replace
    RandomKey key{0};             ///< folded with each target's id
    bool edge_ids = false;
    std::optional<SharedDraws> shared = std::nullopt;  ///< how, where targets share draws
    /// The relation's block of the hop before, whose targets keep their edges; null: all draw.
    const Block* kept = nullptr;
  };

  /// The block with offsets, neighbours and, when asked for, edge ids; `num_sources` and the
  /// transpose are the caller's to fill when the hop is done. Sources are added to the table of
  /// their type. All scratch is charged to `ledger`, which must be the same at each call. Errors:
  /// kResource, and what the topology fails with.
  Result<Block> sample(const Request& request, std::span<NodeTable> tables, MemoryLedger* ledger);

  // The same in steps, so that several batches and relations ask topologies on disk at once:
  // begin(); then for each next_piece() choose(), take() and, when edge ids are asked for,
  // edge_ids(); then finish(). Only take() lists sources. Where targets share draws (`scans()`)
  // pieces are of edges that are looked at, and finish() asks for the ids of those that were taken.
  // `tables` must stay until then. After an error: begin() or reset().

  Result<void> begin(const Request& request, std::span<NodeTable> tables, MemoryLedger* ledger);
  /// Whether edges are looked at before they are chosen. @pre begin()
  bool scans() const { return request_.shared && request_.fanout > 0; }
  /// Edges of the next piece; 0: there are no more. About `most` of them: those drawn stay
  /// together.
  std::size_t next_piece(std::size_t most);
  /// Whether another piece follows; it may have no edges.
  bool more() const { return scans() ? scan_.more() : piece_.last_target < request_.num_targets; }
  /// Fills the positions of the piece's edges.
  void choose(std::span<std::uint64_t> positions);
  /// Takes the nodes that the topology has there.
  Result<void> take(std::span<const std::uint64_t> sources);
  /// Where the piece's edge ids belong. @pre !scans()
  std::span<std::uint64_t> edge_ids();
  /// Errors: where scans(), kResource and what the topology fails with; else none.
  Result<Block> finish();
  /// Drops a block that was begun; scratch is kept.
  void reset();
  std::uint64_t workspace_bytes() const {
    return workspace_of(
        chooser_, weighted_, ranges_, positions_, sources_, scan_, taken_rows_, taken_positions_);
  }

 private:
  // Consecutive targets, whose edges are drawn and relabelled together.
  struct Piece {
    std::size_t first_target = 0;
    std::size_t last_target = 0;
  };

  // Targets and edges that were there before.
  std::size_t num_kept() const;
  std::size_t kept_edges() const;
  // Those that draw.
  std::span<const std::uint64_t> drawing() const;
  void keep_edges();
  Result<void> make_arrays();
  Result<void> make_offsets();
  Result<void> make_edges(std::int64_t count);
  Result<void> begin_scan();
  Result<void> take_scanned(std::span<const std::uint64_t> sources);
  Result<void> finish_scan();
  Result<void> number(std::span<const std::uint64_t> sources, std::span<std::int32_t> rows);
  Result<void> reserve_choosers(std::int64_t edges);
  std::uint64_t count_of(const EdgeRange& range) const;
  Result<void> sample_piece(std::size_t count);
  std::size_t first_edge() const;

  PositionChooser chooser_;
  WeightedChooser weighted_;
  ChargedBuffer<EdgeRange> ranges_;         // of the targets that draw
  ChargedBuffer<std::uint64_t> positions_;  // of one piece, for sample()
  ChargedBuffer<std::uint64_t> sources_;
  // Where targets share draws, edges taken so far.
  ListScan scan_;
  std::size_t taken_ = 0;
  ChargedBuffer<std::int32_t> taken_rows_;
  ChargedBuffer<std::uint64_t> taken_positions_;  // for edge ids

  // Of the block that was begun.
  Request request_;
  std::span<NodeTable> tables_;
  MemoryLedger* ledger_ = nullptr;
  Block block_;
  Piece piece_;
};

}  // namespace sluice
