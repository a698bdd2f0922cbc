#include "pipeline/row_fetcher.h"

namespace sluice {
namespace {

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

void RowFetcher::fetch(Window& window, const Window* ahead, const WaitForEarlier& wait) {
  try {
    for (std::size_t type = 0; type < window.rows.size(); ++type) {
      if (!window.rows[type]) continue;
      fetch_type(type,
                 *window.rows[type],
                 ahead == nullptr ? nullptr : ahead->rows[type].get(),
                 wait);
    }
  } catch (...) {
    // Slots whose rows did not arrive must not look as if they had.
    for (const auto& cache : data_.caches) {
      if (cache) cache->clear();
    }
    throw;
  }
}

void RowFetcher::fetch_type(std::size_t type,
                            WindowRows& rows,
                            const WindowRows* ahead,
                            const WaitForEarlier& wait) {
  RowCache& cache = *data_.caches[type];
  const std::span<const std::uint64_t> ids = rows.index.ids();
  rows.places = Array::make(
                    DType::kU32, {static_cast<std::int64_t>(ids.size())}, &ledger_, "window index")
                    .or_throw();
  const std::span<std::uint32_t> places = rows.places.as<std::uint32_t>();
  const Charge lists = ledger_.charge("fetch lists", ids.size() * 16).or_throw();
  RowCache::Admission admission;
  if (ahead == nullptr) {
    admission = cache.admit(ids, {}, nullptr, places, missing_);
  } else {
    const NextWindow next(ahead->index, cache.next_window() + 1);
    admission = cache.admit(ids, {}, &next, places, missing_);
  }
  if (admission.exclusive) wait();
  rows_.clear();
  slots_.clear();
  for (const std::uint32_t i : missing_) {
    rows_.push_back(ids[i]);
    slots_.push_back(places[i]);
  }
  counts_.rows_wanted += ids.size();
  counts_.rows_resident += admission.hits;
  counts_.rows_evicted += admission.evicted;
  read_missing(type, rows_, slots_);
}

void RowFetcher::read_missing(std::size_t type,
                              std::span<const std::uint64_t> ids,
                              std::span<const std::uint32_t> places) {
  GatherRequest request;
  request.rows = ids;
  request.places = places;
  request.out = data_.caches[type]->table();
  ++counts_.windows_direct;
  data_.features[type]->gather(request).or_throw();
}

}  // namespace sluice
