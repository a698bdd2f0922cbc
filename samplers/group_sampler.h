// GroupSampler: several mini-batches at once, on the threads of an arena.
//
// Where all edges are in RAM each thread samples whole batches by itself, and so do samplers that
// do not go hop by hop. Where a relation's edges are on disk the batches go hop by hop together:
// all choose their positions of the relation, the topology is asked once for all of them, and each
// takes its answers. So a page that several batches need is read once, and the disk always has
// many requests to sort. The batches are the same either way, as NeighborSampler alone makes them.
// Used by one thread at a time.
#pragma once

#include "core/threads.h"
#include "samplers/neighbor_sampler.h"

#include <sluice/samplers/charged_buffer.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

class GroupSampler {
 public:
  /// The most positions of a batch that a topology on disk is asked for at once (a node's edges
  /// stay together, so a hub taken whole may add to it).
  static constexpr std::size_t kMaxPositions = std::size_t{1} << 19;

  /// @param arena must outlive this. Throws as SamplerMethod::make.
  GroupSampler(SamplerGraph graph,
               std::shared_ptr<const SamplerMethod> method,
               BlockParts parts,
               RandomKey key,
               ThreadArena& arena);
  /// Of the neighbour sampler.
  GroupSampler(SamplerGraph graph,
               NeighborSamplerOptions options,
               BlockParts parts,
               RandomKey key,
               ThreadArena& arena);

  /// The batches of `requests`, in their order. Memory: a sampler's workspace a thread, or a batch
  /// where edges are on disk. Charged, and errors, as Sampler::sample; of several errors that of
  /// the first request.
  Result<std::vector<Batch>> sample(std::span<const SampleRequest> requests, MemoryLedger* ledger);

  /// How many batches to ask for at a time: one a thread, more where they share reads.
  std::size_t group_size() const;

  /// Batches that share their reads where edges are on disk; at least one a thread. More take more
  /// memory and read fewer pages a batch. Scratch of a larger group is given back.
  void set_group(std::size_t batches);
  static constexpr std::size_t kGroup = 4;  ///< unless told otherwise
  /// The budget's share for lookup tables is split as if so many threads sampled, not those of the
  /// arena. @pre nothing was sampled yet
  void share_tables(int threads) { sharing_ = threads; }
  /// Gives back all scratch, until the next batch takes it again.
  void release();
  /// Workspaces that exist now.
  std::size_t workspaces() const { return samplers_.size(); }
  /// What they take together, and the topologies' own. @pre nobody samples
  std::uint64_t workspace_bytes() const;

  /// Whether all edges are in RAM.
  bool resident() const { return resident_; }

 private:
  using Step = std::function<Result<void>(std::size_t batch)>;

  void make_samplers(std::size_t count);
  NeighborSampler& hops(std::size_t batch) { return *samplers_[batch]->by_hops(); }
  std::uint64_t table_bytes(const MemoryLedger* ledger) const;
  Result<std::vector<Batch>> sample_apart(std::span<const SampleRequest> requests);
  Result<std::vector<Batch>> sample_in_rounds(std::span<const SampleRequest> requests);
  Result<std::vector<Batch>> sample_together(std::span<const SampleRequest> requests);
  Result<void> sample_relation(std::size_t relation, std::size_t batches);
  Result<void> ensure_positions(std::size_t count);
  Result<void> ask(Topology& topology, std::size_t count, std::size_t batches);
  std::size_t next_pieces(std::size_t batches);
  Result<void> each(std::size_t count, const Step& step);

  // Of a batch's piece, its place among the group's positions: [begin, begin + count).
  struct Part {
    std::size_t begin = 0;
    std::size_t count = 0;
  };

  SamplerGraph graph_;
  std::shared_ptr<const SamplerMethod> method_;
  BlockParts parts_;
  RandomKey key_;
  ThreadArena& arena_;
  bool resident_;
  bool together_ = false;  // batches ask the topology together
  std::size_t group_ = kGroup;
  int sharing_;
  std::vector<std::unique_ptr<Sampler>> samplers_;
  MemoryLedger* ledger_ = nullptr;
  std::vector<Part> pieces_;  // by batch
  ChargedBuffer<std::uint64_t> positions_;
  ChargedBuffer<std::uint64_t> answers_;
};

}  // namespace sluice
