// BlockSampler: one relation at one hop. Draws in-edges for the nodes listed so far, and lists the
// nodes it finds.
//
// Called by the samplers that go hop by hop; keeps its scratch between calls. Not thread-safe.
#pragma once

#include "samplers/charged_buffer.h"
#include "samplers/choose_positions.h"
#include "samplers/node_table.h"

#include <sluice/batch.h>
#include <sluice/error.h>
#include <sluice/random.h>
#include <sluice/topology.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

class BlockSampler {
 public:
  struct Relation {
    Topology* topology = nullptr;
    std::size_t index = 0;  ///< into GraphSchema::relations
    std::size_t source_type = 0;
    std::size_t target_type = 0;
  };

  struct Request {
    Relation relation;
    std::size_t num_targets = 0;  ///< the first so many nodes listed of the target type
    std::int64_t fanout = 0;      ///< -1: all
    RandomKey key;                ///< folded with each target's id
    bool edge_ids = false;
  };

  /// The block with offsets, neighbours and, when asked for, edge ids; `num_sources` and the
  /// transpose are the caller's to fill when the hop is done. Sources are added to the table of
  /// their type. All scratch is charged to `ledger`, which must be the same at each call. Errors:
  /// kResource, and what the topology fails with.
  Result<Block> sample(const Request& request, std::span<NodeTable> tables, MemoryLedger* ledger);

  /// Adds each node's in-edges of the relation to `degrees`.
  Result<void> add_degrees(const Relation& relation,
                           std::span<const std::uint64_t> nodes,
                           std::span<std::int64_t> degrees,
                           MemoryLedger* ledger);

 private:
  // Consecutive targets, whose edges are drawn and relabelled together.
  struct Piece {
    std::size_t first_target = 0;
    std::size_t last_target = 0;
  };

  Result<void> make_arrays(Block& block, const Request& request, MemoryLedger* ledger);
  Result<void> sample_piece(Block& block,
                            Piece piece,
                            const Request& request,
                            std::span<NodeTable> tables,
                            MemoryLedger* ledger);
  void choose(const Block& block,
              Piece piece,
              RandomKey key,
              std::span<const std::uint64_t> targets);

  PositionChooser chooser_;
  ChargedBuffer<EdgeRange> ranges_;         // of all targets
  ChargedBuffer<std::uint64_t> positions_;  // of one piece
  ChargedBuffer<std::uint64_t> sources_;
};

}  // namespace sluice
