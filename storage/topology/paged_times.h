// PagedTimes: the times of a relation whose edges stay on disk, searched there. In RAM: of each
// page its first event, as (time, edge id), a fence of 16 bytes for 512 events; so a search reads
// one page.
//
// Thread-safe; calls that read wait for each other, so ask for many places at once.
#pragma once

#include "storage/format/manifest.h"
#include "storage/topology/time_pages.h"

#include <sluice/array.h>
#include <sluice/dataset.h>
#include <sluice/mutex.h>
#include <sluice/topology.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace sluice {

class PagedTimes {
 public:
  /// Events a page.
  static constexpr std::uint64_t kPerPage = kPageBytes / sizeof(std::int64_t);

  /// Opens times.bin and goes once through it, and through edge_ids.bin where there is one, for the
  /// fence. Charged as "topology" and as TimePages. Errors: kData where a list is not in (time,
  /// edge id) order; kIo, kResource. @param topology the relation's edges @pre it has times and no
  /// log
  static Result<std::unique_ptr<PagedTimes>> open(const std::filesystem::path& root,
                                                  const Manifest& manifest,
                                                  const RelationSchema& relation,
                                                  Topology& topology,
                                                  const DatasetOptions& options,
                                                  const TopologyOptions& topology_options);

  /// A place in a list: before its first event that is not before (time, id).
  struct Ask {
    std::uint64_t begin = 0, end = 0;  ///< of the list
    std::int64_t time = 0;
    std::uint64_t id = 0;  ///< 0: before all events of the time; kNoEdge: behind them
  };
  /// In [first, last]: the events of [first, last), at most a page of them, are of just that time,
  /// and their ids decide.
  struct Found {
    std::uint64_t first = 0, last = 0;
  };
  /// @pre sizes agree; asks are of one thread's chunk, some thousands at most
  Result<void> search(std::span<const Ask> asks, std::span<Found> found);

  /// The times of events, in the order of `positions`.
  Result<void> times(std::span<const std::uint64_t> positions, std::span<std::int64_t> out);

  std::uint64_t bytes_read() const;

 private:
  struct Wanted {
    std::uint64_t page;
    std::size_t index;
  };
  class Scan;

  PagedTimes(TimePages pages, Array fence_times, Array fence_ids)
      : fence_times_(std::move(fence_times)),
        fence_ids_(std::move(fence_ids)),
        pages_(std::move(pages)) {}

  bool fence_is_before(std::uint64_t page, const Ask& ask) const;
  std::uint64_t page_of(const Ask& ask) const;
  template <class Take>
  Result<void> look(std::span<Wanted> wanted, const Take& take);

  Array fence_times_;  // i64 [pages]
  Array fence_ids_;    // u64 [pages]; without a shape where ids are positions

  mutable Mutex mutex_;
  TimePages pages_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice
