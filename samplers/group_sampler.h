// GroupSampler: several mini-batches at once, on the threads of an arena.
//
// Where all edges are in RAM each thread samples whole batches by itself, and so do samplers that
// do not go hop by hop. Where a relation's edges are on disk the batches go hop by hop together:
// all choose their positions of all relations on disk, the topologies are asked at the same time,
// each once for all batches, and each batch takes its answers, relation by relation. So a page that
// several batches need is read once, and the disk always has many requests to sort. The batches
// are the same either way, as NeighborSampler alone makes them. Used by one thread at a time.
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
  /// The most positions of a batch that topologies on disk are asked for at once (a node's edges
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
  /// What lookup tables of all threads take at most where all edges are in RAM.
  static std::uint64_t most_table_bytes(const MemoryLedger* ledger, int threads);
  /// Gives back all scratch, until the next batch takes it again.
  void release();
  /// Workspaces that exist now.
  std::size_t workspaces() const { return samplers_.size(); }
  /// What they take together, and the topologies' own. @pre nobody samples
  std::uint64_t workspace_bytes() const;

  /// Whether all edges are in RAM.
  bool resident() const { return resident_; }

 private:
  using Step = std::function<Result<void>(std::size_t index)>;
  // Of a batch and a relation on disk: the edges that are drawn next, and their place among the
  // positions of a window.
  struct Piece {
    std::size_t begin = 0;
    std::size_t count = 0;
    bool more = false;  // others of the relation follow
  };
  // Relations [first, last), whose topologies are asked at the same time.
  struct Window {
    std::size_t first = 0;
    std::size_t last = 0;
  };

  void make_samplers(std::size_t count);
  NeighborSampler& hops(std::size_t batch) { return *samplers_[batch]->by_hops(); }
  std::uint64_t table_bytes(const MemoryLedger* ledger) const;
  Result<std::vector<Batch>> sample_apart(std::span<const SampleRequest> requests);
  Result<std::vector<Batch>> sample_in_rounds(std::span<const SampleRequest> requests);
  Result<std::vector<Batch>> sample_together(std::span<const SampleRequest> requests);
  bool on_disk(std::size_t relation) const {
    return graph_.relations[relation]->resident() == nullptr;
  }
  Piece& piece(std::size_t relation, std::size_t batch) {
    return pieces_[relation * batches_ + batch];
  }
  std::span<Piece> pieces(const Window& window) {
    return std::span(pieces_).subspan(window.first * batches_,
                                      (window.last - window.first) * batches_);
  }
  Result<void> sample_hop(std::size_t hop);
  Result<void> begin_hop(std::size_t hop, std::size_t batch);
  void next_piece(std::size_t relation, std::size_t batch);
  bool goes_on(std::size_t relation);
  Window next_window(std::size_t first);
  Result<void> ensure_positions(std::size_t count);
  Result<void> ask(const Window& window);
  void choose(const Window& window, std::size_t batch);
  Result<void> read(std::size_t relation);
  Result<void> take(const Window& window, std::size_t batch);
  Result<void> each(std::size_t count, const Step& step);

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
  std::size_t batches_ = 0;                 // of the group that is being sampled
  std::vector<Piece> pieces_;               // by relation, then by batch
  ChargedBuffer<std::uint64_t> positions_;  // of a window, as pieces are
  ChargedBuffer<std::uint64_t> answers_;
};

}  // namespace sluice
