// BatchSpool: sampled mini-batches kept in a scratch file without a name from one pass over an
// epoch to the next, so that they need not be sampled twice. Used by one thread; writes and reads
// one batch ahead on another.
#pragma once

#include "storage/io/aligned_buffer.h"
#include "storage/io/scratch_files.h"

#include <sluice/batch.h>
#include <sluice/memory.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <future>
#include <span>
#include <vector>

namespace sluice {

class BatchSpool {
 public:
  /// Batches begin with number `first` of their epoch. @param scratch whose its file is.
  /// Throws Error.
  BatchSpool(const std::filesystem::path& folder,
             std::uint64_t first,
             MemoryLedger& ledger,
             std::shared_ptr<ScratchFiles> scratch = std::make_shared<ScratchFiles>());

  BatchSpool(const BatchSpool&) = delete;
  BatchSpool& operator=(const BatchSpool&) = delete;
  ~BatchSpool();

  /// What its two buffers take for batches of so many bytes.
  static std::uint64_t buffer_bytes(std::uint64_t bytes);
  /// Of the file, that a batch takes there. @param numbers by feature table, as append() takes them
  static std::uint64_t bytes_on_disk(const Batch& batch, std::span<const Array> numbers);
  /// Room for batches of so many bytes from the start: before others take the memory.
  void reserve(std::uint64_t bytes);

  /// Appends a batch as a sampler made it, without what an Assembler adds (transposes, labels,
  /// features), and by feature table the numbers of its rows in its window. Memory: two buffers of
  /// the largest batch's size, charged as "sampled batches", and 16 bytes a batch. Throws Error,
  /// perhaps for the batch before: no more can be appended then, and those before that one are
  /// there.
  /// @pre batches come in the order of their numbers
  void append(const Batch& batch, std::span<const Array> numbers);

  /// All is on disk from now on. Throws Error as append() does.
  void finish();

  /// @pre finished, or given up after an error
  bool has(std::uint64_t index) const { return index - first_ < records_.size(); }
  struct Kept {
    Batch batch;
    std::vector<Array> numbers;  ///< by feature table
  };
  /// The batch of that number, its arrays charged as "batches". Quickest in order. Throws Error:
  /// kIo when what is read is not what was written. @pre has(index)
  Kept read(std::uint64_t index);

  std::uint64_t bytes_written() const { return bytes_written_; }
  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  struct Record {
    std::uint64_t offset;
    std::uint32_t pages;
    std::uint32_t sum;  // XXH3-32 of the pages
  };

  // A buffer, and what is being done with it on a thread of its own.
  struct Side {
    AlignedBuffer buffer;
    std::future<Record> writing;
    std::future<void> reading;
    std::uint64_t batch = 0;  // being read
  };

  void ensure(AlignedBuffer& buffer, std::uint64_t bytes);
  void settle(Side& side);
  void start_reading(Side& side, std::uint64_t index);

  std::shared_ptr<ScratchFiles> scratch_;
  std::shared_ptr<File> file_;
  std::uint64_t first_;
  MemoryLedger& ledger_;
  std::array<Side, 2> sides_;
  std::size_t turn_ = 0;  // the side that the next batch goes through
  std::vector<Record> records_;
  std::uint64_t end_ = 0;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace sluice
