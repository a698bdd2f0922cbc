// build_csc: an edge stream becomes a relation's CSC files (offsets, neighbours, edge ids), stable
// in input order.
//
// The output depends on the input alone: not on threads, not on memory. Edges are held in RAM,
// 8 bytes each when both types have fewer than 2^32 nodes, else 16, plus 8 with edge ids, twice
// over while they are sorted; all of it is charged, and what does not fit is refused (kResource).
#pragma once

#include "core/threads.h"
#include "prep/edge_stream.h"
#include "storage/format/dataset_writer.h"

#include <sluice/graph_schema.h>

#include <cstdint>

namespace sluice {

enum class SelfLoops {
  kKeep,
  kDrop,
  kAdd  ///< drops those that are there, then gives each node exactly one, as its last in-edge
};
enum class Duplicates {
  kKeep,
  kDrop,  ///< of equal (source, target) pairs the first stays
  kError
};

struct CscOptions {
  bool undirected = false;  ///< each edge also stands the other way round, under the same edge id;
                            ///< self loops once
  SelfLoops self_loops = SelfLoops::kKeep;
  Duplicates duplicates = Duplicates::kKeep;
  bool edge_ids = false;  ///< write each edge's position in the stream
};

struct CscStats {
  std::uint64_t edges_read = 0;
  std::uint64_t edges_written = 0;
  std::uint64_t self_loops_dropped = 0;
  std::uint64_t duplicates_dropped = 0;
  std::uint64_t max_in_degree = 0;
  std::uint64_t isolated_targets = 0;  ///< nodes of the target type without in-edges
};

/// Drains `edges` and writes the relation's files through `writer`; sets relation.edges and
/// relation.has_edge_ids.
/// @param num_sources, num_targets node counts; ids at or beyond them are a kData error that names
/// the edge
CscStats build_csc(DatasetWriter& writer,
                   RelationSchema& relation,
                   std::uint64_t num_sources,
                   std::uint64_t num_targets,
                   EdgeStream& edges,
                   const CscOptions& options,
                   ThreadArena& arena);

}  // namespace sluice
