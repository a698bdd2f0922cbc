// Sampler: seed nodes become the blocks of a mini-batch. Torch-free.
//
// A sample is a pure function of (seed, epoch, round, hop, node type, relation, node): never of
// batch mates, order, threads, or where the topology is kept. One sampler serves one thread at a
// time; make one for each thread.
#pragma once

#include <sluice/batch.h>
#include <sluice/error.h>
#include <sluice/random.h>
#include <sluice/topology.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

/// What a sampler draws from: the schema and one topology a relation, in the schema's order.
struct SamplerGraph {
  const GraphSchema* schema = nullptr;
  std::vector<std::shared_ptr<Topology>> relations;
};

/// What a consumer needs of a batch beyond the sampled edges themselves.
struct BlockParts {
  bool transpose = true;  ///< for the backward pass
  bool edge_ids = false;  ///< for edge features
  bool degrees = false;   ///< BatchNodes::degrees
  /// Most bytes of a table with a slot for each node of a type, one a type and sampler; types for
  /// which that is too little have their nodes found by hashing. The batches are the same.
  std::uint64_t table_bytes = std::uint64_t{256} << 20;
};

/// One mini-batch to be sampled.
struct SampleRequest {
  std::uint64_t epoch = 0;
  std::uint64_t round = 0;  ///< key of the draws; the batch's number unless rounds are shared
  std::uint64_t index = 0;  ///< the batch's number in its epoch
  std::size_t seed_type = 0;
  std::span<const std::uint64_t> seeds;  ///< distinct nodes
};

class Sampler {
 public:
  virtual ~Sampler() = default;

  virtual std::size_t num_layers() const = 0;

  /// A batch with seeds, node ids, sizes and blocks; features and labels are left empty. Its arrays
  /// are charged to `ledger` as "batches", and what the sampler keeps for the next batch as
  /// "sampler workspace": a ledger must outlive the sampler. Null: nothing is charged. Errors:
  /// kResource (ledger, or beyond 2^31 nodes of a type or edges of a block), kData (a seed that is
  /// repeated or no node), kIo / kData from a topology on disk. The sampler stays usable.
  virtual Result<Batch> sample(const SampleRequest& request, MemoryLedger* ledger) = 0;
};

}  // namespace sluice
