// InducedSubgraph: all edges of the graph among the nodes that a batch lists, as blocks.
//
// Shared by the samplers that choose nodes and keep every edge between them (ShaDow: Zeng et al.
// 2021; SEAL: Zhang and Chen 2018; GraphSAINT: Zeng et al. 2020; Cluster-GCN: Chiang et al. 2019;
// LADIES: Zou et al. 2019). The in-edges of the listed nodes are all looked at, so a batch costs
// the sum of their degrees, on disk too. Keeps its scratch between calls. Not thread-safe.
#pragma once

#include <sluice/batch.h>
#include <sluice/samplers/batch_builder.h>
#include <sluice/samplers/charged_id_table.h>
#include <sluice/samplers/edge_scan.h>

#include <cstddef>
#include <span>
#include <vector>

namespace sluice {

class InducedSubgraph {
 public:
  /// Takes the nodes listed in `tables` (by type) for those among which edges are kept. All scratch
  /// is charged to `ledger`, which must be the same at each call. Errors: kResource.
  Result<void> begin(std::span<NodeTable> tables, MemoryLedger* ledger);

  /// The relation's edges from the nodes of begin() to the first `num_targets` listed of its target
  /// type: by target, then in the topology's order, with the parts asked for. Errors: kResource
  /// (ledger, or 2^31 edges and more), and what the topology fails with. @pre begin(), and the
  /// tables are as they were
  Result<Block> block(const SampledRelation& relation,
                      std::size_t num_targets,
                      const BlockParts& parts);

  /// The row of a node among those of begin(), or -1. @pre the tables are as they were
  std::int32_t row(std::size_t type, std::uint64_t node) const {
    return static_cast<std::int32_t>(index_[type].find_id(node, tables_[type].ids()));
  }

  /// Makes all layers of the batch that `builder` has begun, from the nodes listed now. Every layer
  /// but the last writes all rows, so those share one block a relation, arrays included; the last
  /// writes the seeds only. size_at is n at each boundary but the last, which is the seeds.
  /// Errors: as block(). @pre the builder's num_layers() > 0
  Result<void> make_layers(BatchBuilder& builder, MemoryLedger* ledger);
  std::uint64_t workspace_bytes() const {
    return workspace_of(index_, scan_, rows_, edge_ids_, positions_);
  }

 private:
  Result<void> scan(const SampledRelation& relation, const BlockParts& parts, Block& block);
  Result<std::size_t> keep(const SampledRelation& relation,
                           const EdgeScan::Piece& piece,
                           std::size_t kept,
                           const BlockParts& parts,
                           std::span<std::int64_t> counts);
  Result<void> copy_kept(std::size_t count, const BlockParts& parts, Block& block);
  Result<Block> last_block(const Block& whole, std::size_t num_targets, const BlockParts& parts);

  std::span<NodeTable> tables_;
  // By type: which nodes are listed. Where a NodeTable has a slot for each node this is much
  // smaller, and most look-ups are of nodes that are not.
  std::vector<ChargedIdTable> index_;
  EdgeScan scan_;
  ChargedBuffer<std::int32_t> rows_;        // of the edges kept so far
  ChargedBuffer<std::uint64_t> edge_ids_;   // of the same
  ChargedBuffer<std::uint64_t> positions_;  // of those kept in a piece
  MemoryLedger* ledger_ = nullptr;
};

}  // namespace sluice
