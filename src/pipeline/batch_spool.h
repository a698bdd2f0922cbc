// BatchSpool: sampled mini-batches kept in a scratch file without a name from one pass over an
// epoch to the next, so that edges on disk need not be read twice. Used by one thread.
#pragma once

#include "storage/io/aligned_buffer.h"
#include "storage/io/file.h"

#include <sluice/batch.h>
#include <sluice/memory.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace sluice {

class BatchSpool {
 public:
  /// Batches begin with number `first` of their epoch. Throws Error.
  BatchSpool(const std::filesystem::path& folder,
             std::uint64_t epoch,
             std::uint64_t first,
             MemoryLedger& ledger);

  /// Room for a batch of so many bytes from the start: before others take the memory.
  void reserve(std::uint64_t bytes) { ensure(round_up_to_page(bytes) + kPageBytes); }

  /// Appends a batch as a sampler made it: without features and labels. Memory: a buffer of the
  /// largest batch's size, charged as "sampled batches", and 16 bytes a batch. Throws Error.
  /// @pre batches come in the order of their numbers
  void append(const Batch& batch);

  bool has(std::uint64_t epoch, std::uint64_t index) const {
    return epoch == epoch_ && index >= first_ && index - first_ < records_.size();
  }
  /// The batch of that number, its arrays charged as "batches". Throws Error: kIo when what is read
  /// is not what was written. @pre has(epoch, index)
  Batch read(std::uint64_t index);

  std::uint64_t bytes_written() const { return bytes_written_; }
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  struct Record {
    std::uint64_t offset;
    std::uint32_t pages;
    std::uint32_t sum;  // XXH3-32 of the pages
  };

  void ensure(std::uint64_t bytes);

  File file_;
  std::uint64_t epoch_;
  std::uint64_t first_;
  MemoryLedger& ledger_;
  AlignedBuffer buffer_;
  std::vector<Record> records_;
  std::uint64_t end_ = 0;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace sluice
