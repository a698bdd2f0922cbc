// Columns of a relation: values that stand beside its neighbours (times, weights), from values by
// edge id.
#pragma once

#include "prep/prep_context.h"
#include "prep/spool/scratch_bytes.h"
#include "storage/format/dataset_writer.h"

#include <sluice/graph_schema.h>

#include <cstdint>
#include <string>

namespace sluice {

struct EdgeColumnStats {
  std::uint64_t bytes_read = 0;    ///< of edge ids, values and scratch files
  std::uint64_t around_bytes = 0;  ///< of these, what scratch files' pages have around what is read
  std::uint64_t scratch_bytes = 0;  ///< written to scratch files
};

/// Writes `path`: element p is the value of the edge at position p of the relation's CSC, that is
/// values[edge_ids[p]]. Values are looked up in memory where they fit. Else edge ids are parted by
/// ranges of ids (EdgeIdBuckets) and values looked up range by range: of files beside the output, a
/// value and a u32 an edge are written once and read once, in whole pages, whatever memory there
/// is. The same bytes. Throws Error: kResource where the disk or the budget has no room.
/// @param width bytes of a value: 4 or 8
/// @pre the relation's edge_ids.bin was added to the writer
EdgeColumnStats write_edge_column(DatasetWriter& writer,
                                  const RelationSchema& relation,
                                  const ScratchBytes& values,
                                  std::size_t width,
                                  const std::string& path,
                                  PrepContext& context);

}  // namespace sluice
