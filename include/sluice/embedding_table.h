// EmbeddingTable: trainable rows, each values and its optimizer's state, in memory or on disk
// behind a cache, with the same bits. Torch-free.
//
//   auto table = create_embedding_table(options);  // or open_embedding_table(options, generation)
//   table->expect(next_window);                    // by windows: what is asked for next
//   table->gather(ids, values);                    // values, one row after the other
//   table->update(ids, gradients, rate);           // repeated ids: summed, one step a row
//   const std::uint64_t generation = table->commit();  // durable; costs what changed
//
// A table is used in one of two ways. By windows: any row, each announced by expect() before it is
// asked for. By partitions (options.partitions > 0): rows of the partitions that are resident.
// Rows that were never touched are not on disk: they are a function of their number.
//
// Throws Error. After one of kIo or kResource from the disk every later call throws it again, and
// what was committed is usable. One thread uses a table; it has a thread of its own for the disk.
#pragma once

#include <sluice/dataset.h>
#include <sluice/memory.h>
#include <sluice/sparse_optimizer.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice {

/// What a row is before its first step. Its state begins as zeros.
struct InitialRows {
  enum class Kind {
    kZero,
    kUniform,  ///< in [-scale, scale)
    kNormal,   ///< close to a normal one of deviation `scale`; tails end at 4.9 scale
    kReader,   ///< what `reader` gives: vectors from a file
  };
  Kind kind = Kind::kZero;
  double scale = 1;
  std::uint64_t seed = 0;  ///< a value is a function of seed, row and column
  /// Writes the values of these rows, which ascend, one after the other. Must give the same
  /// whenever it is asked; called by the table's thread or its user's, one at a time. A row that it
  /// has nothing for is its own to make up.
  std::function<void(std::span<const std::uint64_t> rows, std::span<float> out)> reader = nullptr;
  std::string source =
      {};  ///< kReader: names it, so that another is refused when a table is opened
};

enum class TableAccess {
  kWrite,  ///< nobody else opens its folder
  kRead    ///< beside one who writes; changes nothing. kData once the generation was forgotten
};

struct EmbeddingTableOptions {
  /// Where rows are kept; empty: in memory alone, without commits, and no row that changed may
  /// leave memory.
  std::filesystem::path folder;
  std::uint64_t rows = 1;
  std::uint32_t dim = 0;  ///< values a row
  InitialRows initial;
  std::shared_ptr<const SparseOptimizer> optimizer;

  Placement placement = Placement::kMemory;
  std::uint64_t cache_bytes = 0;      ///< windows on disk: rows in memory, with their index
  std::uint32_t partitions = 0;       ///< 0: windows
  std::uint32_t partition_slots = 0;  ///< partitions: how many have memory, a spare one included

  TableAccess access = TableAccess::kWrite;
  IoChoice io = IoChoice::kAuto;
  MemoryLedger* ledger = nullptr;  ///< outlives the table
  kernels::Executor executor;      ///< the CPU's threads that gather and update
};

/// Rows of a resident partition, as they lie. Whoever writes to them says so: touch().
struct PartitionRows {
  std::uint64_t first = 0;  ///< row
  std::uint64_t count = 0;  ///< of rows; fewer in the last, which may be empty
  std::size_t stride = 0;   ///< floats from one row to the next: its values, then its state
  std::span<float> data;    ///< [count, stride]
};

struct EmbeddingStats {
  std::uint64_t rows_read = 0, rows_written = 0;    ///< into memory; to disk
  std::uint64_t bytes_read = 0, bytes_written = 0;  ///< moved by the disk
  std::uint64_t waited_ns = 0;                      ///< the user's thread, for the disk
  std::uint64_t updates = 0;                        ///< rows that took a step
};

class EmbeddingTable {
 public:
  virtual ~EmbeddingTable() = default;

  virtual std::uint64_t rows() const = 0;
  virtual std::uint32_t dim() const = 0;
  virtual std::uint32_t state_width() const = 0;

  // Windows.

  /// Announces the rows of the next window (any order, repeats allowed) and returns: rows that are
  /// missing are read, and dirty ones that give way written before, on the table's thread. The
  /// window announced before becomes the current one, whose rows may be asked for still; those of
  /// older ones may not. Throws kResource where the two do not fit, with the cache that would do.
  virtual void expect(std::span<const std::uint64_t> ids) = 0;

  // Partitions: consecutive rows, as many in each but the last.

  virtual std::uint32_t partitions() const = 0;
  virtual std::uint32_t partition_of(std::uint64_t row) const = 0;
  /// Begins to read a partition. Throws kResource where no slot is free: release() one before.
  virtual void load(std::uint32_t partition) = 0;
  /// Begins to write what changed of a partition; its slot is free for the next load().
  virtual void release(std::uint32_t partition) = 0;
  /// Waits until a loaded partition is there.
  virtual PartitionRows partition(std::uint32_t partition) = 0;
  /// All rows of a resident partition may have changed, by other hands than update().
  virtual void touch(std::uint32_t partition) = 0;

  // Both. Rows must be of the two windows, or of resident partitions; what is on its way is waited
  // for.

  /// out[i] = the values of ids[i]. @pre out.size() == ids.size() * dim()
  virtual void gather(std::span<const std::uint64_t> ids, std::span<float> out) = 0;
  /// One step of each distinct row, with the sum of its gradients in the order of `ids`.
  /// @param rate the learning rate. @pre gradients.size() == ids.size() * dim()
  virtual void update(std::span<const std::uint64_t> ids,
                      std::span<const float> gradients,
                      double rate) = 0;

  /// One step of each of the rows [first, first + gradients.size() / dim()).
  virtual void update_range(std::uint64_t first, std::span<const float> gradients, double rate) = 0;

  /// The values of rows [first, first + out.size() / dim()), wherever they are, without making them
  /// resident: for evaluation and export, tile by tile.
  virtual void read(std::uint64_t first, std::span<float> out) = 0;
  /// The same of any rows, in any order, repeats allowed. @pre out.size() == ids.size() * dim()
  virtual void read_rows(std::span<const std::uint64_t> ids, std::span<float> out) = 0;

  /// Makes all rows durable as they are now, as a generation of its own, and returns its number.
  /// A kill in the middle leaves the generations before. Files: rows-*.ckpt name what they consist
  /// of; side-*.rows hold it.
  virtual std::uint64_t commit() = 0;
  /// Forgets all generations but these, whose room goes to later ones. At most seven may be kept.
  virtual void keep(std::span<const std::uint64_t> generations) = 0;
  /// More rows, at the end. A table in memory is there twice meanwhile. Partitions: with none
  /// resident.
  virtual void grow(std::uint64_t rows) = 0;

  /// Of all that was begun, once it is done.
  virtual EmbeddingStats stats() = 0;
};

/// A new table. Its folder may be there, but must not hold a table (kUsage).
std::unique_ptr<EmbeddingTable> create_embedding_table(const EmbeddingTableOptions& options);

/// A committed generation of the table in options.folder; 0: the newest. What no generation names
/// is removed. More rows in the options than it has: it grows. Throws kUsage where dim, optimizer
/// or initial rows are not those it was made with, kData where it is damaged or not there.
std::unique_ptr<EmbeddingTable> open_embedding_table(const EmbeddingTableOptions& options,
                                                     std::uint64_t generation = 0);

/// The generations that a folder holds, ascending; none where there is no such folder.
std::vector<std::uint64_t> embedding_generations(const std::filesystem::path& folder);

}  // namespace sluice
