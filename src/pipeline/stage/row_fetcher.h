// RowFetcher: the second stage. Brings a window's rows into the caches of GraphData, reading those
// that are not there by the plan that costs the disk least. Used by one thread.
#pragma once

#include "core/counts.h"
#include "pipeline/data/graph_data_state.h"
#include "pipeline/plan/planned_epoch.h"
#include "pipeline/stream/window.h"
#include "storage/feature/row_cache.h"
#include "storage/feature/wanted_rows.h"

#include <sluice/feature_store.h>
#include <sluice/loader.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sluice {

/// What fetching did so far.
struct FetchCounts {
  CacheCounts cache;
  std::uint64_t rows_evicted = 0;
  std::uint64_t windows_swept = 0;
  std::uint64_t windows_packed = 0;

  FetchCounts operator-(const FetchCounts& before) const { return counts_since(before, *this); }
};

class RowFetcher {
 public:
  /// Waits until no earlier window is read from any more; called when one gives up its rows.
  using WaitForEarlier = std::function<void()>;

  RowFetcher(GraphData::State& data, MemoryLedger& ledger) : data_(data), ledger_(ledger) {}

  /// What is known of the windows to come: a plan of the epoch, or the window after, or neither.
  struct Future {
    PlannedEpoch* plan = nullptr;
    const Window* ahead = nullptr;
    std::function<void()> stop_planning = {};  ///< called before the caches are emptied
  };

  /// Fills in `places` and reads the missing rows. Throws Error; the caches are empty then.
  void fetch(Window& window, const Future& future, const WaitForEarlier& wait);

  const FetchCounts& counts() const { return counts_; }

  /// Bytes of memory that fetching takes for each row of a window.
  static constexpr std::uint64_t kBytesARow = sizeof(std::uint32_t) + sizeof(WantedRow);

 private:
  RowDirectory::Admission assign(std::size_t type,
                                 const Window& window,
                                 const Window* ahead,
                                 std::span<std::uint32_t> places);
  std::uint64_t read_and_enter(std::size_t type,
                               const Window& window,
                               std::span<const std::uint32_t> places);
  void read_planned(std::size_t type, const Window& window, PlannedEpoch& plan);
  void read_missing(std::size_t type, const WantedRows& wanted);
  RequestShape sweep(std::uint32_t gap_bytes);
  void read(std::size_t type, const WantedRows& wanted, const RequestShape& request);

  GraphData::State& data_;
  MemoryLedger& ledger_;
  FetchCounts counts_;
  // Numbers of a window's missing rows, or the rows as a plan has them; reused between calls.
  std::vector<std::uint32_t> missing_;
  std::vector<WantedRow> wanted_;
};

}  // namespace sluice
