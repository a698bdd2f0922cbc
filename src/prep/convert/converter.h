// Converter: edges in any order become one direction of a relation's adjacency (CSC, or CSR with
// source and target exchanged), stable in input order, in bounded memory and in parallel.
//
// Two passes (METHODS.md, 1.2): edges are scattered, packed, into ranges of targets (Scatter); then
// range after range is sorted in cache and written (sort_range). What memory has no room for goes
// through a spill file, once out and once in. The output depends on the input alone: not on
// memory, not on threads, not on how the stream cuts its views.
#pragma once

#include "core/progress.h"
#include "prep/convert/csc_sink.h"
#include "prep/convert/duplicates.h"
#include "prep/convert/scatter.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace sluice {

struct ConvertOptions {
  ScatterRules rules;
  bool add_loops = false;  ///< each target gets itself as its last in-edge
  Duplicates duplicates = Duplicates::kKeep;
  bool edge_ids = false;
  std::optional<std::uint64_t> expected_edges;  ///< of the stream, at most
  std::optional<std::uint64_t> id_bound;        ///< of a stream that says ids of its own
  std::uint64_t memory_bytes = 0;               ///< for all of it; 0: what the ledger has left
  std::filesystem::path spill_folder;
  ProgressStyle progress =
      ProgressStyle::kSilent;  ///< of the second pass; the stream shows the first
  std::string what;            ///< "relation 'a__r__b'", for messages
};

struct ConvertStats {
  std::uint64_t edges_written = 0;
  std::uint64_t loops_dropped = 0;
  std::uint64_t duplicates_dropped = 0;
  std::uint64_t max_degree = 0;
  std::uint64_t isolated = 0;       ///< targets without in-edges
  std::uint64_t spilled_bytes = 0;  ///< written to the spill file, and read from it
};

/// How the conversion cuts its targets and its memory.
struct ConvertPlan {
  EdgeRecord record;
  std::uint64_t num_ranges = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t store_bytes = 0;  ///< memory for segments
  std::uint64_t round_edges = 0;
  std::uint64_t spill_bytes = 0;  ///< at most, of the expected edges

  static ConvertPlan make(const ConvertOptions& options, std::uint64_t memory_bytes);
};

class Converter {
 public:
  Converter(const ConvertOptions& options, ThreadArena& arena, MemoryLedger* ledger);

  const ConvertPlan& plan() const noexcept { return plan_; }

  /// Adds a view's edges; `first_id` is the position of its first edge in the stream.
  std::optional<BadEdge> add(const EdgeView& view, std::uint64_t first_id);

  /// What a sink must have room for in all.
  std::uint64_t max_edges() const;

  /// Writes everything to `sink`, in order. Call once. @param edges_read of the stream
  ConvertStats drain(CscSink& sink, std::uint64_t edges_read);

 private:
  struct Wave {
    std::uint64_t first = 0;  // ranges
    std::uint64_t last = 0;
    bool alone = false;  // one range, too large to be converted in one piece
    std::shared_ptr<AlignedBuffer> loaded;
  };

  std::uint64_t first_target(std::uint64_t range) const;
  std::uint64_t edges_of(std::uint64_t range) const;
  std::uint64_t range_cost(std::uint64_t range, const CscSink& sink) const;
  Wave next_wave(std::uint64_t first, const CscSink& sink) const;
  std::uint64_t spilled_bytes(const Wave& wave) const;
  std::uint64_t most_spilled(const CscSink& sink) const;
  void load(Wave& wave, std::shared_ptr<AlignedBuffer> buffer);
  void convert_wave(const Wave& wave, CscSink& sink);
  void convert_alone(const Wave& wave, CscSink& sink);
  void count_degrees(std::span<const std::uint64_t> ends);
  OnDuplicate on_duplicate(std::uint64_t first_target) const;

  ConvertOptions options_;
  ThreadArena& arena_;
  MemoryLedger* ledger_;
  std::uint64_t memory_bytes_;
  ConvertPlan plan_;
  RangeStore store_;
  std::optional<Scatter> scatter_;
  std::uint64_t wave_bytes_ = 0;
  std::uint64_t load_bytes_ = 0;  // of a buffer for what was spilled of a wave
  std::uint64_t edges_read_ = 0;
  std::uint64_t edges_out_ = 0;
  std::uint64_t last_end_ = 0;
  ConvertStats stats_;
};

}  // namespace sluice
