// ListWriter: the offsets of one direction of a relation on their way into its files, in the layout
// that was chosen for them.
#pragma once

#include "storage/format/dataset_writer.h"
#include "storage/format/relation_lists.h"

#include <sluice/graph_schema.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sluice {

/// Not thread-safe. Throws Error, as DataFileWriter does.
class ListWriter {
 public:
  /// Creates the files. @param nodes that have lists, empty or not
  ListWriter(DatasetWriter& writer,
             const RelationSchema& relation,
             ListsOf side,
             std::uint64_t nodes,
             OffsetLayout layout);

  /// Where the lists of the next nodes end.
  void append(std::span<const std::uint64_t> ends);

  /// Adds the files to `writer`. Returns how many nodes are listed; nothing where each has an
  /// offset. Call once, last.
  std::optional<std::uint64_t> finish(DatasetWriter& writer);

 private:
  void append_listed(std::span<const std::uint64_t> ends);

  DType node_dtype_;
  std::unique_ptr<DataFileWriter> offsets_;
  std::unique_ptr<DataFileWriter> listed_;  // null: each node has an offset
  std::uint64_t node_ = 0;                  // whose end comes next
  std::uint64_t last_end_ = 0;
  std::uint64_t lists_ = 0;
  std::vector<std::uint64_t> ends_, nodes_;  // of lists that are not empty, to be written together
  std::vector<std::uint32_t> narrow_;
};

}  // namespace sluice
