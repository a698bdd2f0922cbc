// EpochLists: what is noted of each window of an epoch that is planned, of one feature table, in
// scratch files without a name: its rows' ids, the windows that ask for each next, the slots they
// belong in, and those that are missing there. Memory: a few numbers a window.
#pragma once

#include "pipeline/plan/epoch_cost.h"
#include "storage/feature/disk_store.h"
#include "storage/feature/packed_rows.h"
#include "storage/feature/wanted_rows.h"
#include "storage/io/scratch_list.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

namespace sluice {

class EpochLists {
 public:
  /// What is planned for one window.
  struct Step {
    std::uint64_t first_id = 0;  ///< into the lists
    std::uint64_t rows = 0;
    std::uint64_t first_missing = 0;  ///< into those of missing rows
    std::uint64_t prefilled = 0;      ///< the first of them
    std::uint64_t missing = 0;        ///< the others: where the window is packed, its run
    RowDirectory::Admission admission;
    WindowPlan plan = WindowPlan::kDirect;
    std::uint32_t gap_bytes = 0;
  };

  /// @param nodes rows of the table. Throws Error.
  EpochLists(const std::filesystem::path& folder, std::uint64_t nodes);

  std::vector<Step> steps;           ///< by window
  std::uint32_t windows_before = 0;  ///< that the cache counts before the first of these

  /// Makes room on the disk for all that will be noted of the window too, while who fills the disk
  /// meanwhile can still give way. Throws Error: then it may be called again.
  void add_window(std::span<const std::uint64_t> ids);
  /// Of the largest window.
  std::uint64_t most_rows() const;

  /// @param buffer_bytes for notes: where those of all ids take more, ranges of ids come one after
  /// the other
  /// @param check called now and then
  /// @param tell called with the first use of each id from `first` on, as RowCache counts windows;
  /// kNeverUsed where there is none
  using TellUses = std::function<void(std::uint64_t first, std::span<const std::uint32_t> uses)>;
  void find_next_uses(std::uint64_t buffer_bytes,
                      MemoryLedger& ledger,
                      const std::function<void()>& check,
                      const TellUses& tell = {});
  void read_ids(const Step& step, std::vector<std::uint64_t>& out);
  /// As RowCache counts windows; kNeverUsed where no later one of these lists asks for a row.
  void read_next_uses(const Step& step, std::vector<std::uint32_t>& out);

  void append_places(std::span<const std::uint32_t> places);
  /// Rows that the last step misses, ascending: first those that are prefilled.
  void append_missing(std::span<const WantedRow> rows);
  std::uint64_t missing_rows() const { return missing_.size(); }
  /// Once the cache went through all windows: room that was made for rows which are not missing.
  void give_back_room();

  void read_places(const Step& step, std::span<std::uint32_t> places);
  /// The rows to be read, ascending. Where they are packed, prefilled ones are there already.
  void read_missing(const Step& step, std::vector<WantedRow>& wanted);

  /// The missed ids of each window, as PackedRows takes them: once, in order.
  std::unique_ptr<RunIds> runs();

  std::uint64_t bytes_read() const;
  std::uint64_t bytes_written() const;

  /// What the lists of an epoch move, foreseen.
  struct Bytes {
    std::uint64_t read = 0;
    std::uint64_t written = 0;
  };
  struct Sizes {
    std::uint64_t windows = 0;
    std::uint64_t wanted = 0;  ///< rows, summed over windows
    std::uint64_t missed = 0;  ///< of these, that the cache does not have
    std::uint64_t packed = 0;  ///< of the missed ones, that are repacked
  };
  static Bytes bytes(std::uint64_t nodes, const Sizes& sizes, std::uint64_t buffer_bytes);

 private:
  class MissedIds;

  template <class Note>
  void find_next_uses_by(std::uint64_t buffer_bytes,
                         MemoryLedger& ledger,
                         const std::function<void()>& check,
                         const TellUses& tell);
  std::uint32_t to_window(std::uint32_t note) const;
  void make_room(std::uint64_t rows);

  std::uint64_t nodes_;
  std::filesystem::path folder_;
  ScratchList ids_;
  ScratchList places_;  // by ids
  ScratchList missing_;
  ScratchList missing_places_;
  ScratchList next_;  // by ids
};

}  // namespace sluice
