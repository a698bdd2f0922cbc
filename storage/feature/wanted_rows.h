// WantedRows: the rows of a table on disk that are to be read, ascending, and where each goes. A
// view, so that reading can begin before a list of them is made. Pure; borrowed for one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice {

/// A row of a table on disk and its place in the caller's memory.
struct WantedRow {
  std::uint64_t row;
  std::uint64_t place;
};

class WantedRows {
 public:
  /// Listed as they stand.
  WantedRows(std::span<const WantedRow> listed) : listed_(listed.data()), size_(listed.size()) {}
  WantedRows(const std::vector<WantedRow>& listed) : WantedRows(std::span(listed)) {}

  /// Picked by number: ids[i] at places[i], for each i of `picked`.
  WantedRows(std::span<const std::uint32_t> picked,
             std::span<const std::uint64_t> ids,
             std::span<const std::uint32_t> places)
      : picked_(picked.data()), ids_(ids.data()), places_(places.data()), size_(picked.size()) {}

  std::size_t size() const { return size_; }
  std::uint64_t row(std::size_t i) const {
    return listed_ != nullptr ? listed_[i].row : ids_[picked_[i]];
  }
  std::uint64_t place(std::size_t i) const {
    return listed_ != nullptr ? listed_[i].place : places_[picked_[i]];
  }
  /// Rows picked by number may lie anywhere in their lists: asks for what row(i) reads.
  void prefetch_row(std::size_t i) const {
    if (listed_ == nullptr && i < size_) __builtin_prefetch(&ids_[picked_[i]]);
  }
  void prefetch(std::size_t i) const {
    if (listed_ != nullptr || i >= size_) return;
    __builtin_prefetch(&ids_[picked_[i]]);
    __builtin_prefetch(&places_[picked_[i]]);
  }

 private:
  const WantedRow* listed_ = nullptr;
  const std::uint32_t* picked_ = nullptr;
  const std::uint64_t* ids_ = nullptr;
  const std::uint32_t* places_ = nullptr;
  std::size_t size_;
};

}  // namespace sluice
