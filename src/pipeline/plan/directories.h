// Directories: those of a GraphData's row caches on loan, by feature table, empty at first. Who
// plans an epoch lets them go through windows without rows, and hands them on to who plans the
// next. When the loan ends they are back in the caches and know no rows: what they say never came.
// Movable; used by one thread at a time.
#pragma once

#include "pipeline/data/graph_data_state.h"

#include <optional>
#include <utility>
#include <vector>

namespace sluice {

class Directories {
 public:
  Directories() = default;
  /// @pre those of the caches are not on loan
  explicit Directories(GraphData::State& data)
      : data_(&data), made_(data.caches_made), held_(data.caches.size()) {
    data.clear_caches();
    for (std::size_t table = 0; table < held_.size(); ++table) {
      if (data.caches[table]) held_[table].emplace(std::move(data.caches[table]->directory));
    }
  }
  Directories(Directories&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        made_(other.made_),
        held_(std::move(other.held_)) {}
  Directories& operator=(Directories&& other) noexcept {
    give_back();
    data_ = std::exchange(other.data_, nullptr);
    made_ = other.made_;
    held_ = std::move(other.held_);
    return *this;
  }
  ~Directories() { give_back(); }

  bool empty() const { return data_ == nullptr; }
  RowDirectory& of(std::size_t table) { return *held_[table]; }

  void give_back() noexcept {
    GraphData::State* const data = std::exchange(data_, nullptr);
    if (data == nullptr || data->caches_made != made_) return;
    for (std::size_t table = 0; table < held_.size(); ++table) {
      if (!held_[table]) continue;
      held_[table]->clear();
      data->caches[table]->directory = *std::move(held_[table]);
    }
  }

 private:
  GraphData::State* data_ = nullptr;
  std::uint64_t made_ = 0;  // which caches they are of
  std::vector<std::optional<RowDirectory>> held_;
};

}  // namespace sluice
