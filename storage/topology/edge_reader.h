// EdgeReader: what pages of a relation's edges are read with: an engine that has its files, a
// buffer that reads follow each other through, and room to sort what is wanted.
//
// Used by one thread at a time, as BlockReader.
#pragma once

#include "storage/io/block_reader.h"
#include "storage/topology/position_sort.h"

#include <sluice/dataset.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sluice {

/// Column files of a relation, in an order that stays: a file's place is its FileSlot.
struct EdgeFile {
  std::shared_ptr<const File> file;
  std::span<const std::uint32_t> page_sums;  ///< as BlockReader::attach(), which keeps it
};

struct EdgeReader {
  std::unique_ptr<BlockReader> reader;
  std::string engine_reason;  ///< why this engine: for the log
  std::shared_ptr<AlignedBuffer> staging;
  BufferSlot staging_slot{};
  PositionSort sort;

  /// The least that reads can go through.
  static constexpr std::uint64_t kLeastStaging = 64 * 1024;

  /// @param staging_bytes of the buffer; sorting takes at most as much again
  /// Charged as "topology staging". Throws Error: kResource, and what files are refused with.
  static std::unique_ptr<EdgeReader> open(std::span<const EdgeFile> files,
                                          IoChoice io,
                                          std::uint64_t num_edges,
                                          std::uint64_t staging_bytes,
                                          MemoryLedger* ledger);
};

}  // namespace sluice
