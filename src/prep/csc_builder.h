// build_csc: an edge stream becomes a relation's CSC files (offsets, neighbours, edge ids), stable
// in input order, and on request its CSR files as well.
//
// The output depends on the input alone: not on threads, not on memory. Edges take what the
// writer's ledger has left; what does not fit goes through a file without a name in the staging
// directory, once out and once in.
#pragma once

#include "core/progress.h"
#include "core/threads.h"
#include "prep/convert/duplicates.h"
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

struct CscOptions {
  bool undirected = false;  ///< each edge also stands the other way round, under the same edge id;
                            ///< self loops once
  SelfLoops self_loops = SelfLoops::kKeep;
  Duplicates duplicates = Duplicates::kKeep;
  bool edge_ids = false;   ///< write each edge's position in the stream
  bool out_edges = false;  ///< write out-edges (CSR) as well
};

struct CscStats {
  std::uint64_t edges_read = 0;
  std::uint64_t edges_written = 0;
  std::uint64_t self_loops_dropped = 0;
  std::uint64_t duplicates_dropped = 0;
  std::uint64_t max_in_degree = 0;
  std::uint64_t isolated_targets = 0;  ///< nodes of the target type without in-edges
  std::uint64_t spilled_bytes = 0;     ///< written to the disk and read from it meanwhile
};

/// Drains `edges` and writes the relation's files through `writer`; sets relation.edges,
/// has_edge_ids, has_out_edges, listed_targets and listed_sources. Where edges are few beside
/// nodes, these are listed (choose_offset_layout()).
/// @param num_sources, num_targets node counts; ids at or beyond them are a kData error that names
/// the edge
CscStats build_csc(DatasetWriter& writer,
                   RelationSchema& relation,
                   std::uint64_t num_sources,
                   std::uint64_t num_targets,
                   EdgeStream& edges,
                   const CscOptions& options,
                   ThreadArena& arena,
                   ProgressStyle progress = ProgressStyle::kSilent);

}  // namespace sluice
