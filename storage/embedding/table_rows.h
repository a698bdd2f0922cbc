// TableRows: a RowTable over an EmbeddingTable, in memory or on disk; what a run keeps of it are
// generations in a folder.
//
// In memory it is a table of one partition, which is loaded and stays: rows lie one behind the
// other, each with its state, so that all of them are read in place (values a row's length apart)
// and a step over all is one sweep. On disk it is a table by windows, or by partitions where the
// options say so: then who trains says which ones it hold()s, and expect() has no use.
//
// Until open() there is no folder, and on disk no cache either: rows are what they begin as. That
// is what a run is measured with. Rows in memory may be lent to a GPU: they come home before they
// are read, changed or committed here, and a commit writes all of them then. Used by one thread.
// Throws Error.
#pragma once

#include "storage/embedding/row_layout.h"
#include "storage/embedding/row_windows.h"

#include <sluice/embedding_table.h>
#include <sluice/row_table.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace sluice {

class DiskProfile;

struct TableRowsOptions {
  std::uint64_t rows = 1;
  std::uint32_t dim = 0;
  InitialRows initial;
  std::shared_ptr<const SparseOptimizer> optimizer;
  double rate = 0;  ///< of steps, until set_rate()
  Placement placement = Placement::kMemory;
  std::uint32_t partitions = 0;  ///< on disk; 0: windows
  std::uint32_t slots = 0;       ///< of partitions that have memory
  IoChoice io = IoChoice::kAuto;
  MemoryLedger* ledger = nullptr;  ///< outlives the rows
  kernels::Executor executor;
};

/// What a table takes beside what it has been charged, by the mini-batches it was asked for.
struct TableRowsNeeds {
  std::uint64_t disk_bytes = 0;   ///< of all rows, once
  std::uint64_t fixed_bytes = 0;  ///< of memory: lists of pages, staging, a mini-batch's sums
  std::uint64_t slot_bytes = 0;   ///< by partitions: of those that have memory
  std::uint64_t least_cache = 0;  ///< on disk: for the rows of two mini-batches
  std::uint64_t least_rows = 0;   ///< that fit the least cache
  std::uint64_t most_cache = 0;   ///< for all rows
};

/// What the disk moves for a mini-batch, in groups of rows; none of rows in memory. An estimate.
struct TableRowsTraffic {
  double read = 0, written = 0;  ///< groups; those in gaps that are moved too among them
  double reads = 0, writes = 0;  ///< requests
  std::uint64_t group_bytes = 0;
  std::uint64_t groups = 0;  ///< of the table
};

class TableRows final : public RowTable {
 public:
  /// In memory all rows are made. Throws kResource.
  explicit TableRows(const TableRowsOptions& options);

  std::uint64_t rows() const override { return options_.rows; }
  std::int64_t dim() const override { return options_.dim; }
  void expect(std::span<const std::uint64_t> ids) override;
  void begin() override;
  void forget() override;
  bool wants_more() override { return windows_ && windows_->wants_more(); }
  void gather(std::span<const std::uint64_t> ids, std::span<float> out) override;
  void read(std::span<const std::uint64_t> ids, std::span<float> out) override;
  void read_range(std::uint64_t first, std::span<float> out) override;
  void update(std::span<const std::uint64_t> ids, std::span<const float> gradients) override;
  void update_range(std::uint64_t first, std::span<const float> gradients) override;
  RowsInPlace in_place() override;
  bool looks_ahead() override { return by_windows(); }
  RowsInPlace lend(RowBorrower& to) override;
  void take_back(RowBorrower& from) override;
  void step(const kernels::Executor& executor, const RowGradients& rows) override;

  /// Of the steps from now on.
  void set_rate(double rate) { options_.rate = rate; }

  TableRowsNeeds needs() const;
  /// For a mini-batch like the largest that was asked for before open(), once all rows were
  /// touched, with the cache of set_cache() and windows of set_window(). It takes any row to be as
  /// likely as another.
  TableRowsTraffic traffic() const;
  /// What a row on disk takes that the cache lacks: its group is read, and, where rows are written,
  /// so is that of the row that gives way, which is read first unless one row fills it.
  double miss_seconds(const DiskProfile& disk, TableAccess access) const;
  /// Of the rows on disk that stay in memory, from the next open() on.
  void set_cache(std::uint64_t bytes) { cache_bytes_ = bytes; }
  std::uint64_t cache_bytes() const { return cache_bytes_; }
  /// Rows that such a cache has room for.
  std::uint64_t cached_rows() const;
  /// So many mini-batches at the most are announced ahead to be read together, and as many again
  /// behind those; from the next open() on. 1 until this is set.
  void set_window(std::uint64_t batches) { window_ = batches; }

  /// Goes on with a generation of a folder, which grows to rows(); 0: with new rows, in a folder
  /// without a table. What was not committed is gone.
  void open(const std::filesystem::path& folder,
            std::uint64_t generation,
            TableAccess access = TableAccess::kWrite);
  /// On disk: as before open(), until the next. What was not committed is gone. In memory: nothing.
  void close();
  bool in_memory() const { return options_.placement == Placement::kMemory; }

  /// Rows of a partition, of so many; the last ones may have fewer or none.
  std::uint64_t rows_each(std::uint32_t partitions) const { return layout().rows_each(partitions); }
  /// Of a table by partitions that is open: these are in memory or on their way, in this order,
  /// from now on, and no others, whose rows are written behind. gather() of other rows reads them
  /// from disk, update() of such throws. @return how many were not there
  std::uint32_t hold(std::span<const std::uint32_t> partitions);

  /// Of the table that is open.
  std::uint64_t commit();
  void keep(std::span<const std::uint64_t> generations);
  /// More rows, at the end: new ones as they begin.
  void grow(std::uint64_t rows);
  /// Bytes that the disk has moved since this was asked last; waits for what was begun.
  struct Moved {
    std::uint64_t read = 0, written = 0;
    std::uint64_t waited_ns = 0;  ///< the thread that uses the rows, for them
  };
  Moved take_moved();

 private:
  EmbeddingTableOptions table_options() const;
  RowLayout layout() const;
  bool by_windows() const { return !in_memory() && options_.partitions == 0; }
  bool by_partitions() const { return !in_memory() && options_.partitions != 0; }
  bool all_held(std::span<const std::uint64_t> ids);
  void load();
  void make_windows();
  EmbeddingTable& table();
  void come_home();
  void forget_lent();
  void begin_as(std::span<const std::uint64_t> ids, std::span<float> out);

  TableRowsOptions options_;
  std::filesystem::path folder_;
  TableAccess access_ = TableAccess::kWrite;
  std::uint64_t cache_bytes_ = 0;
  std::uint64_t window_ = 1;
  std::uint64_t most_ids_ = 0;  // of a mini-batch, before open()
  std::unique_ptr<EmbeddingTable> table_;
  std::optional<RowWindows> windows_;  // of this table, by windows
  std::vector<std::uint32_t> held_;    // partitions of this table
  RowBorrower* borrower_ = nullptr;
  Moved told_;  // of this table
};

}  // namespace sluice
