#include "pipeline/row_fetcher.h"

#include <future>
#include <optional>

namespace sluice {
namespace {

constexpr std::size_t kEnteredBeside = 16384;  // missing rows: fewer are not worth a thread

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

FetchCounts FetchCounts::operator-(const FetchCounts& before) const {
  FetchCounts since = *this;
  since.cache -= before.cache;
  since.rows_evicted -= before.rows_evicted;
  since.windows_swept -= before.windows_swept;
  since.windows_packed -= before.windows_packed;
  return since;
}

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
      RowCache::Admission admission = future.plan != nullptr
                                          ? future.plan->rows(window.number, type, places, wanted_)
                                          : assign(type, window, future.ahead, places);
      if (admission.exclusive) wait();
      if (future.plan != nullptr) {
        read_missing(type, window, future.plan);
      } else {
        admission.misses_again = read_and_enter(type, window);
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
RowCache::Admission RowFetcher::assign(std::size_t type,
                                       const Window& window,
                                       const Window* ahead,
                                       std::span<std::uint32_t> places) {
  RowCache& cache = *data_.caches[type];
  const std::span<const std::uint64_t> ids = window.rows[type]->index->ids();
  std::optional<NextWindow> next;
  if (ahead != nullptr) next.emplace(*ahead->rows[type]->index, cache.next_window() + 1);
  const RowCache::Admission admission =
      cache.assign(ids, {}, next ? &*next : nullptr, places, missing_);
  wanted_.clear();
  wanted_.reserve(missing_.size());
  for (const std::uint32_t i : missing_) wanted_.push_back({ids[i], places[i]});
  return admission;
}

// The cache enters its new rows while they are read: of a large window that takes a while, in which
// a device would have nothing to do. Returns the misses that were here before.
std::uint64_t RowFetcher::read_and_enter(std::size_t type, const Window& window) {
  const auto entered = [&] {
    return data_.caches[type]->enter(window.rows[type]->index->ids(), {}, missing_);
  };
  if (missing_.size() < kEnteredBeside) {
    const std::uint64_t again = entered();
    read_missing(type, window, nullptr);
    return again;
  }
  std::future<std::uint64_t> entering = std::async(std::launch::async, entered);
  read_missing(type, window, nullptr);
  return entering.get();
}

void RowFetcher::read_missing(std::size_t type, const Window& window, EpochPlan* plan) {
  const std::span<std::byte> table = data_.caches[type]->table();
  if (plan != nullptr && plan->plan(window.number, type) == WindowPlan::kPacked) {
    ++counts_.windows_packed;
    plan->read_packed(window.number, type, wanted_, table).or_throw();
    return;
  }
  auto& store = dynamic_cast<DiskFeatureStore&>(*data_.features[type]);
  RequestShape request;
  bool sweep = false;
  std::uint32_t gap = 0;
  if (plan != nullptr) {
    sweep = plan->plan(window.number, type) == WindowPlan::kSweep;
    gap = plan->gap(window.number, type);
  } else if (data_.options.plan != PlanChoice::kDirect) {
    ReadShapeBuilder builder(store.layout());
    for (const WantedRow& wanted : wanted_) builder.add(wanted.row);
    const ReadShape shape = builder.finish();
    const PlanEstimate estimate = data_.options.plan == PlanChoice::kSweep
                                      ? estimate_sweep(*data_.device, shape)
                                      : choose_window_plan(*data_.device, shape);
    sweep = estimate.plan == "sweep";
    gap = estimate.gap_pages * static_cast<std::uint32_t>(kPageBytes);
  }
  if (sweep) {
    ++counts_.windows_swept;
    request = {ReadShape::kSweeps.front().max_pages * static_cast<std::uint32_t>(kPageBytes), gap};
  }
  store.gather_sorted(wanted_, request, table).or_throw();
}

}  // namespace sluice
