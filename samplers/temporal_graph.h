// TemporalGraph: one relation's in-edges with their times, in RAM, in (time, edge id) order within
// each node's list. What temporal samplers search.
//
// One relation, from one node type to the same or another one; several relations are several
// graphs. Arrays are views or shared, never changed: thread-safe to read, cheap to copy.
#pragma once

#include <sluice/array.h>
#include <sluice/dataset.h>
#include <sluice/error.h>
#include <sluice/topology.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace sluice {

/// An event of a list, all of it in one cache line.
template <class Id>
struct TemporalRecord {
  std::int64_t time;
  Id neighbour;
  Id edge_id;
};

/// The arrays of a temporal CSC: columns, or records of 16 or 24 bytes that stand for all of them.
/// Of two widths one is in use (32 bits where every id fits).
struct TemporalView {
  std::span<const std::uint64_t> offsets;  ///< num_nodes + 1
  std::span<const std::uint32_t> neighbours32;
  std::span<const std::uint64_t> neighbours64;
  std::span<const std::uint32_t> edge_ids32;  ///< without ids an edge's id is its position
  std::span<const std::uint64_t> edge_ids64;
  std::span<const std::int64_t> times;  ///< ticks of the dataset's own unit
  std::span<const TemporalRecord<std::uint32_t>> records32;
  std::span<const TemporalRecord<std::uint64_t>> records64;
  bool position_ids = false;  ///< of records: their ids are positions
  /// Whether neighbours are nodes of the same type as those with lists, so that a hop can start at
  /// them.
  bool one_type = true;

  std::uint64_t num_nodes() const { return offsets.size() - 1; }
  std::uint64_t num_edges() const { return offsets.back(); }
  bool has_records() const { return !records32.empty() || !records64.empty(); }
  bool has_edge_ids() const {
    return !edge_ids32.empty() || !edge_ids64.empty() || (has_records() && !position_ids);
  }
  std::uint64_t neighbour(std::uint64_t position) const {
    if (!records32.empty()) return records32[position].neighbour;
    if (!records64.empty()) return records64[position].neighbour;
    return neighbours32.empty() ? neighbours64[position] : neighbours32[position];
  }
  std::uint64_t edge_id(std::uint64_t position) const {
    if (!records32.empty()) return records32[position].edge_id;
    if (!records64.empty()) return records64[position].edge_id;
    if (!edge_ids32.empty()) return edge_ids32[position];
    return edge_ids64.empty() ? position : edge_ids64[position];
  }
  std::int64_t time(std::uint64_t position) const {
    if (!records32.empty()) return records32[position].time;
    if (!records64.empty()) return records64[position].time;
    return times[position];
  }
};

/// The same as arrays to be kept: u64 offsets, u32 or u64 neighbours and edge ids (or none), i64
/// times.
struct TemporalArrays {
  Array offsets, neighbours, edge_ids, times;
  bool one_type = true;
};

class TemporalGraph {
 public:
  /// A relation of a dataset, with its appended edges, loaded and charged to the dataset's ledger
  /// as "topology" and "times". @param relation RelationSchema::key(). Errors: kUsage for a
  /// relation without times; what Dataset fails with; as over().
  static Result<TemporalGraph> load(const Dataset& dataset, std::string_view relation);

  /// The edges of a topology in RAM, with the times that stand beside them. Where it lists its
  /// targets, offsets of all nodes are made, charged to `ledger` as "topology". Errors: as over();
  /// kResource. @param times i64 [edges] @param one_type TemporalView::one_type
  static Result<TemporalGraph> of(std::shared_ptr<Topology> topology,
                                  Array times,
                                  bool one_type,
                                  MemoryLedger* ledger = nullptr);

  /// Arrays that somebody else keeps for as long as this lives. Errors: kData where sizes do not
  /// agree, offsets do not ascend, or a list is not in (time, edge id) order. Reads all of it once.
  static Result<TemporalGraph> over(const TemporalView& view);

  /// Arrays that this keeps. Errors: as over().
  static Result<TemporalGraph> own(TemporalArrays arrays);

  /// The same graph as records, in new memory: a random event then costs one cache miss instead of
  /// three, a list's end fewer too. Its answers are the same. Charged to `ledger` as "topology";
  /// drop this one to have its memory back. Errors: kResource.
  Result<TemporalGraph> as_records(MemoryLedger* ledger) const;

  const TemporalView& view() const { return view_; }

 private:
  explicit TemporalGraph(const TemporalView& view) : view_(view) {}

  TemporalView view_;
  std::shared_ptr<const void> kept_;  // what the spans look into
};

}  // namespace sluice
