#include "pipeline/stage/row_fetcher.h"

#include <algorithm>
#include <future>
#include <optional>

namespace sluice {
namespace {

constexpr std::size_t kEnteredBeside = 16384;  // missing rows: fewer are not worth a thread

constexpr std::uint32_t kSweepBytes =
    ReadShape::kSweeps.front().max_pages * static_cast<std::uint32_t>(kPageBytes);

// The next window's ids are what is known of the future without a trace.
class NextWindow final : public LookAhead {
 public:
  NextWindow(const RowIndex& index, std::uint32_t number) : index_(index), number_(number) {}
  std::uint32_t next_use(std::uint64_t id) const override {
    return index_.find(id) == RowIndex::kNone ? kNeverUsed : number_;
  }

 private:
  const RowIndex& index_;
  std::uint32_t number_;
};

}  // namespace

void RowFetcher::fetch(Window& window, const Future& future, const WaitForEarlier& wait) {
  try {
    for (std::size_t type = 0; type < window.rows.size(); ++type) {
      if (!window.rows[type]) continue;
      WindowRows& rows = *window.rows[type];
      const std::size_t count = rows.size();
      const Charge lists = ledger_.charge("fetch lists", count * kBytesARow).or_throw();
      rows.places =
          Array::make(DType::kU32, {static_cast<std::int64_t>(count)}, &ledger_, "window index")
              .or_throw();
      const std::span<std::uint32_t> places = rows.places.as<std::uint32_t>();
      RowDirectory::Admission admission =
          future.plan != nullptr ? future.plan->rows(window.number, type, places, wanted_)
                                 : assign(type, window, future.ahead, places);
      if (admission.exclusive) wait();
      if (future.plan != nullptr) {
        read_planned(type, window, *future.plan);
      } else {
        admission.misses_again = read_and_enter(type, window, places);
      }
      const std::uint64_t misses = count - admission.hits;
      counts_.cache += {.wanted = count,
                        .hits_window = admission.hits_window,
                        .hits_kept = admission.hits - admission.hits_window,
                        .misses_first = misses - admission.misses_again,
                        .misses_again = admission.misses_again};
      counts_.rows_evicted += admission.evicted;
    }
  } catch (...) {
    if (future.stop_planning) future.stop_planning();
    // Slots whose rows did not arrive must not look as if they had.
    data_.clear_caches();
    throw;
  }
}

// Asks the cache, which knows nothing of the future but the next window, if that.
RowDirectory::Admission RowFetcher::assign(std::size_t type,
                                           const Window& window,
                                           const Window* ahead,
                                           std::span<std::uint32_t> places) {
  RowCache& cache = *data_.caches[type];
  RowDirectory& directory = cache.directory;
  std::optional<NextWindow> next;
  if (ahead != nullptr && ahead->rows[type]->index)
    next.emplace(*ahead->rows[type]->index, directory.next_window() + 1);
  const RowDirectory::Admission admission =
      directory.assign(window.rows[type]->ids(), {}, next ? &*next : nullptr, places, missing_);
  cache.table.expect_rows(directory.resident());
  return admission;
}

// The cache enters its new rows while they are read: of a large window that takes a while, in which
// a disk would have nothing to do. Returns the misses that were here before.
std::uint64_t RowFetcher::read_and_enter(std::size_t type,
                                         const Window& window,
                                         std::span<const std::uint32_t> places) {
  const std::span<const std::uint64_t> ids = window.rows[type]->ids();
  const WantedRows wanted(missing_, ids, places);
  const auto entered = [&] { return data_.caches[type]->directory.enter(ids, {}, missing_); };
  if (missing_.size() < kEnteredBeside) {
    const std::uint64_t again = entered();
    read_missing(type, wanted);
    return again;
  }
  std::future<std::uint64_t> entering = std::async(std::launch::async, entered);
  read_missing(type, wanted);
  return entering.get();
}

void RowFetcher::read_planned(std::size_t type, const Window& window, PlannedEpoch& plan) {
  SlotTable& slots = data_.caches[type]->table;
  const std::span<std::byte> table = slots.all();
  std::uint64_t end = 0;
  for (const WantedRow& row : wanted_) end = std::max(end, row.place + 1);
  slots.expect_rows(static_cast<std::uint32_t>(end));
  const WindowPlan how = plan.plan(window.number, type);
  if (how == WindowPlan::kPacked) {
    ++counts_.windows_packed;
    plan.read_packed(window.number, type, wanted_, table).or_throw();
    return;
  }
  RequestShape request;
  if (how == WindowPlan::kSweep) request = sweep(plan.gap(window.number, type));
  read(type, wanted_, request);
}

// Of a window of which nothing was planned.
void RowFetcher::read_missing(std::size_t type, const WantedRows& wanted) {
  RequestShape request;
  if (data_.options.plan != PlanChoice::kDirect) {
    const ReadShape shape = read_shape_of_many(wanted, disk_store(data_, type).layout());
    const PlanEstimate estimate = data_.options.plan == PlanChoice::kSweep
                                      ? estimate_sweep(*data_.disk, shape)
                                      : choose_window_plan(*data_.disk, shape);
    if (estimate.plan == "sweep")
      request = sweep(estimate.gap_pages * static_cast<std::uint32_t>(kPageBytes));
  }
  read(type, wanted, request);
}

RequestShape RowFetcher::sweep(std::uint32_t gap_bytes) {
  ++counts_.windows_swept;
  return {kSweepBytes, gap_bytes};
}

void RowFetcher::read(std::size_t type, const WantedRows& wanted, const RequestShape& request) {
  disk_store(data_, type)
      .gather_sorted(wanted, request, data_.caches[type]->table.all())
      .or_throw();
}

}  // namespace sluice
