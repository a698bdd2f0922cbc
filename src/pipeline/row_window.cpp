#include "pipeline/row_window.h"

#include <cstring>

namespace sluice {

void RowWindow::fetch(FeatureStore& store, const RowWindow* before) {
  const std::span<const std::uint64_t> ids = index_.ids();
  place_charge_ = ledger_.charge("window index", ids.size() * sizeof(std::uint32_t)).or_throw();
  place_.resize(ids.size());
  table_ =
      Array::make(DType::kU8,
                  {static_cast<std::int64_t>(ids.size()), static_cast<std::int64_t>(row_bytes_)},
                  &ledger_,
                  "window rows")
          .or_throw();
  std::byte* const table = table_.raw().data();
  const auto held = [&](std::uint64_t id) {
    return before != nullptr && before->index_.find(id) != RowIndex::kNone;
  };
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (!held(ids[i])) continue;
    place_[i] = static_cast<std::uint32_t>(reused_);
    std::memcpy(table + reused_ * row_bytes_, before->row(ids[i]), row_bytes_);
    ++reused_;
  }
  std::vector<std::uint64_t> missing;
  const Charge missing_charge =
      ledger_.charge("window index", (ids.size() - reused_) * sizeof(std::uint64_t)).or_throw();
  missing.reserve(ids.size() - reused_);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (held(ids[i])) continue;
    place_[i] = static_cast<std::uint32_t>(reused_ + missing.size());
    missing.push_back(ids[i]);
  }
  store.gather(missing, table_.raw().subspan(reused_ * row_bytes_)).or_throw();
}

}  // namespace sluice
