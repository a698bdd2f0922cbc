// EpochLists: what is noted of each window of an epoch that is planned, of one feature table, in
// scratch files without a name: its rows' ids, the windows that ask for each next, the slots they
// belong in, and those that are missing there. Memory: a few numbers a window.
#pragma once

#include "pipeline/plan/epoch_cost.h"
#include "storage/feature/packed_rows.h"
#include "storage/feature/row_directory.h"
#include "storage/feature/wanted_rows.h"
#include "storage/io/scratch_list.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

namespace sluice {

/// Rows, and the places that they belong in.
struct RowList {
  /// @param nodes of the type. Throws Error.
  RowList(const std::filesystem::path& folder, std::uint64_t nodes);

  void append(std::span<const WantedRow> rows);
  void read(std::uint64_t at, std::uint64_t count, std::vector<WantedRow>& out);

  ScratchList ids;
  ScratchList places;
};

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
  ScratchList ids;                   ///< of all windows' rows
  ScratchList places;                ///< by ids: slots
  RowList missing;  ///< of each window, ascending, but first those that are prefilled

  /// Makes room on the disk for all that will be noted of the window too, while who fills the disk
  /// meanwhile can still give way. Throws Error: then it may be called again.
  void add_window(std::span<const std::uint64_t> window);
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
  /// As RowCache counts windows; kNeverUsed where no later one of these lists asks for a row.
  void read_next_uses(const Step& step, std::vector<std::uint32_t>& out);
  /// Once the cache went through all windows: room that was made for rows which are not missing.
  void give_back_room();
  /// The rows to be read, ascending. Where they are packed, prefilled ones are there already.
  void read_missing(const Step& step, std::vector<WantedRow>& wanted);
  /// The missed ids of each window, as PackedRows takes them: once, in order.
  std::unique_ptr<RunIds> runs();

  struct Bytes {
    std::uint64_t read = 0;
    std::uint64_t written = 0;
  };
  /// What the lists moved so far.
  Bytes moved() const;
  struct Sizes {
    std::uint64_t windows = 0;
    std::uint64_t wanted = 0;  ///< rows, summed over windows
    std::uint64_t missed = 0;  ///< of these, that the cache does not have
    std::uint64_t packed = 0;  ///< of the missed ones, that are repacked
  };
  /// What the lists of an epoch will move, foreseen.
  static Bytes bytes(std::uint64_t nodes, const Sizes& sizes, std::uint64_t buffer_bytes);

 private:
  class MissedIds;

  template <class Note>
  void find_next_uses_by(std::uint64_t buffer_bytes,
                         MemoryLedger& ledger,
                         const std::function<void()>& check,
                         const TellUses& tell);
  std::uint32_t to_window(std::uint32_t note) const;

  std::uint64_t nodes_;
  std::filesystem::path folder_;
  ScratchList next_;  // by ids
};

}  // namespace sluice
