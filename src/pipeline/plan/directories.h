// Directories: those of a GraphData's row caches on loan, by node type, empty at first. Who plans
// an epoch lets them go through windows without rows, and hands them on to who plans the next. When
// the loan ends they are back in the caches and know no rows: what they say never came. Movable;
// used by one thread at a time.
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
    for (std::size_t type = 0; type < held_.size(); ++type) {
      if (data.caches[type]) held_[type].emplace(std::move(data.caches[type]->directory));
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
  RowDirectory& of(std::size_t type) { return *held_[type]; }

  void give_back() noexcept {
    GraphData::State* const data = std::exchange(data_, nullptr);
    if (data == nullptr || data->caches_made != made_) return;
    for (std::size_t type = 0; type < held_.size(); ++type) {
      if (!held_[type]) continue;
      held_[type]->clear();
      data->caches[type]->directory = *std::move(held_[type]);
    }
  }

 private:
  GraphData::State* data_ = nullptr;
  std::uint64_t made_ = 0;  // which caches they are of
  std::vector<std::optional<RowDirectory>> held_;
};

}  // namespace sluice
