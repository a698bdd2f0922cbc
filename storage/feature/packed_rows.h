// PackedRows: the rows that later windows will miss, copied out of a table in one pass over it into
// runs on disk, one run a window, and read back in sequence. The "repack" plan: T + 2 M bytes for a
// table of T and M missed, where single pages would be 4096 bytes a row.
//
// The scratch file has no name and goes with this object or the process. Everything read is
// verified: the table by its checksums, the runs by sums taken when they were written. Used by one
// thread at a time.
#pragma once

#include "storage/feature/disk_store.h"
#include "storage/feature/packing_buffers.h"
#include "storage/io/read_ahead.h"
#include "storage/io/scratch_files.h"

#include <sluice/memory.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace sluice {

/// The ids of the rows of each run, ascending, given a few at a time.
class RunIds {
 public:
  virtual ~RunIds() = default;
  virtual std::size_t runs() const = 0;
  /// Rows of a run.
  virtual std::uint64_t size(std::size_t run) const = 0;
  /// The next ids of the run: at least one unless it is at its end. Throws Error.
  virtual std::size_t take(std::size_t run, std::span<std::uint64_t> out) = 0;
};

/// Which parts of a table are needed at all: a bit for every `granule` rows.
class NeededParts {
 public:
  static constexpr std::uint64_t kPartBytes = 64 * 1024;

  NeededParts(const FeatureLayout& layout, MemoryLedger* ledger);
  /// Memory that it takes.
  static std::uint64_t bytes(const FeatureLayout& layout);
  void add(std::uint64_t row) { bits_[row / rows_a_part_] = true; }
  bool has(std::uint64_t part) const { return bits_[part]; }
  std::uint64_t parts() const { return bits_.size(); }
  std::uint64_t rows_a_part() const { return rows_a_part_; }
  std::uint64_t needed() const;

 private:
  static std::uint64_t rows_a_part(const FeatureLayout& layout);

  std::uint64_t rows_a_part_;
  Charge charge_;
  std::vector<bool> bits_;
};

/// Rows that need no run: while the table is passed over they go straight to their places.
struct Prefill {
  std::span<const WantedRow> rows;  ///< ascending
  std::span<std::byte> table;
};

struct PackedRowsOptions {
  std::filesystem::path folder;             ///< where the scratch file is
  IoEngineOptions engine;                   ///< to read the runs back
  std::uint64_t buffer_bytes = 128 << 20;   ///< while packing, all buffers together
  std::shared_ptr<PackingBuffers> buffers;  ///< made before for as many runs, or null; let go after
  std::uint64_t read_bytes = 8 << 20;       ///< while reading back
  bool read_at_once = false;                ///< begin that, if packing leaves memory for it
  std::shared_ptr<ScratchFiles> scratch = std::make_shared<ScratchFiles>();  ///< file is of these
};

class PackedRows {
 public:
  /// Of one read of the runs, at most.
  static constexpr std::uint64_t kRequestBytes = 1024 * 1024;

  /// Makes room for the runs and copies the rows. `stopped` is asked now and then; when it says so,
  /// the Error kInterrupted is thrown. Throws Error: kResource where folder or ledger have no room.
  PackedRows(const DiskFeatureStore& store,
             RunIds& ids,
             const NeededParts& needed,
             PackedRowsOptions options,
             MemoryLedger* ledger,
             const std::function<bool()>& stopped = {},
             const Prefill& prefill = {});
  ~PackedRows();

  /// Memory that reading back has by now, bytes.
  std::uint64_t read_buffer_bytes() const { return ahead_ ? read_bytes_ : 0; }

  /// Reads the next run, which is number `run` and whose rows are `wanted`, ascending: each goes to
  /// its place of `out`. Those that follow are read ahead meanwhile: from the first call on, which
  /// takes the memory for it, unless that began at once.
  Result<void> read(std::size_t run, std::span<const WantedRow> wanted, std::span<std::byte> out);

  std::uint64_t bytes_written() const { return bytes_written_; }
  std::uint64_t writes() const { return writes_; }
  std::uint64_t bytes_read() const { return bytes_read_; }  ///< of the runs
  std::uint64_t requests() const { return io_stats().requests; }
  /// Of the pass over the table.
  const IoStats& scan_stats() const { return scan_stats_; }
  /// Of reading the runs; `busy_ns` has the waits for their consumer too.
  IoStats io_stats() const { return ahead_ ? ahead_->stats() : IoStats{}; }

 private:
  void pack(const DiskFeatureStore& store,
            RunIds& ids,
            const NeededParts& needed,
            PackingBuffers& buffers,
            const std::function<bool()>& stopped,
            const Prefill& prefill);
  Result<void> begin_reading(std::shared_ptr<AlignedBuffer> buffer);
  Result<void> copy_next(std::span<std::byte> to);
  Result<void> skip(std::uint64_t bytes);
  Result<void> read_on();

  MemoryLedger* ledger_;
  std::size_t row_bytes_;
  IoEngineOptions engine_;
  std::uint64_t read_bytes_;
  std::shared_ptr<ScratchFiles> scratch_;
  std::shared_ptr<File> file_;
  IoStats scan_stats_;
  Charge sums_charge_;
  std::vector<std::uint64_t> begins_;  // of runs, bytes; and the end
  std::vector<std::uint64_t> sizes_;   // of runs, rows
  std::vector<std::uint32_t> sums_;
  std::unique_ptr<ReadAhead> ahead_;  // after sums_, which it reads
  std::span<const std::byte> here_;   // what was read and not copied yet
  std::size_t next_run_ = 0;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t writes_ = 0;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace sluice
