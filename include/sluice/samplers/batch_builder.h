// BatchBuilder: what samplers share besides the way they choose: seeds are checked and listed, rows
// are counted at each layer's boundary, and the batch gets its ids and degrees.
//
// begin(); tables() are filled and blocks made; note_sizes() at each boundary and set_layer() for
// each layer; finish(). After an error: begin() or reset(). Used by the samplers, one thread at a
// time.
#pragma once

#include <sluice/sampler.h>
#include <sluice/samplers/charged_buffer.h>
#include <sluice/samplers/node_table.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// A relation with its place in the schema, its topology and its types resolved.
struct SampledRelation {
  Topology* topology = nullptr;
  std::size_t index = 0;  ///< into GraphSchema::relations
  std::size_t source_type = 0;
  std::size_t target_type = 0;
};

/// All relations of the graph, in the schema's order. Throws kInternal where topologies and schema
/// do not match.
std::vector<SampledRelation> resolve_relations(const SamplerGraph& graph);

/// An Error(kResource) for a block of more than 2^31 - 1 edges.
Error too_many_block_edges(std::uint64_t count);

class BatchBuilder {
 public:
  /// Throws kInternal for a graph that does not match its schema.
  BatchBuilder(SamplerGraph graph, BlockParts parts);

  /// Starts a batch: tables hold the seeds alone, boundary `num_layers` is noted. `ledger` is
  /// charged with all that follows. Errors: as Sampler::sample for wrong seeds; kResource.
  Result<void> begin(const SampleRequest& request, std::size_t num_layers, MemoryLedger* ledger);

  const GraphSchema& schema() const { return *graph_.schema; }
  std::span<const SampledRelation> relations() const { return relations_; }
  const BlockParts& parts() const { return parts_; }
  /// The nodes listed so far, by type.
  std::span<NodeTable> tables() { return tables_; }
  std::size_t num_layers() const { return batch_.layers.size(); }
  /// Rows in use at the boundary: those listed now.
  void note_sizes(std::size_t boundary);
  /// Rows of a type at a boundary that was noted.
  std::size_t size_at(std::size_t type, std::size_t boundary) const;
  /// The blocks of a layer that was set.
  const std::vector<Block>& layer(std::size_t layer) const { return batch_.layers.at(layer); }
  /// @param blocks one a relation, in the schema's order, complete
  void set_layer(std::size_t layer, std::vector<Block> blocks);

  /// The batch; nothing stays begun.
  Result<Batch> finish();
  /// Drops a batch that was begun; the tables' memory is kept.
  void reset() { batch_ = {}; }
  std::uint64_t workspace_bytes() const { return workspace_of(tables_, ranges_); }

 private:
  Result<void> list_seeds(const SampleRequest& request);
  Result<void> list_seeds(const SampleRequest& request, std::size_t type);
  Result<void> count_degrees(std::size_t type);

  SamplerGraph graph_;
  BlockParts parts_;
  std::vector<SampledRelation> relations_;
  std::vector<NodeTable> tables_;
  ChargedBuffer<EdgeRange> ranges_;  // for degrees
  Batch batch_;
  MemoryLedger* ledger_ = nullptr;
};

}  // namespace sluice
