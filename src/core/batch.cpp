#include <sluice/batch.h>
#include <sluice/deferred_features.h>  // IWYU pragma: keep
#include <sluice/edge_rule.h>

#include "core/batch_fields.h"
#include "core/hash.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace sluice {
namespace {

class BatchHasher {
 public:
  explicit BatchHasher(const Batch& batch) : batch_(batch) {}

  template <class Number>
  void number(const Number& value) {
    add(static_cast<std::uint64_t>(value));
  }
  template <class List>
  void count(const List& list) {
    add(list.size());
  }
  // With its type and shape, so that no two arrays in a row can pass for two others. What is
  // derived follows from the rest.
  void array(const Array& array, BatchPart part) {
    if (part == BatchPart::kDerived) return;
    if (part == BatchPart::kFeatures && batch_.deferred && add_deferred(array)) return;
    add(static_cast<std::uint64_t>(array.dtype()));
    add(array.shape().size());
    for (const std::int64_t extent : array.shape()) add(static_cast<std::uint64_t>(extent));
    if (!array.empty()) hasher_.update(array.raw());
  }

  std::uint64_t digest() const { return hasher_.digest(); }

 private:
  void add(std::uint64_t value) { hasher_.update(bytes_of(value)); }

  // As if the features of nodes were there, a piece at a time. False of other arrays.
  bool add_deferred(const Array& array) {
    for (std::size_t type = 0; type < batch_.nodes.size(); ++type) {
      const BatchNodes& nodes = batch_.nodes[type];
      for (std::size_t group = 0; group < nodes.features.size(); ++group) {
        if (&nodes.features[group] != &array) continue;
        const std::int64_t columns = batch_.deferred->columns(type, group);
        if (columns != 0) add_rows(type, group, nodes.ids.numel(), columns);
        return columns != 0;
      }
    }
    return false;
  }

  void add_rows(std::size_t type, std::size_t group, std::int64_t rows, std::int64_t columns) {
    add(static_cast<std::uint64_t>(DType::kF32));
    add(2);
    add(static_cast<std::uint64_t>(rows));
    add(static_cast<std::uint64_t>(columns));
    const std::int64_t most = std::max<std::int64_t>(1, kPieceFloats / columns);
    std::vector<float> piece;
    for (std::int64_t first = 0; first < rows; first += most) {
      piece.resize(static_cast<std::size_t>(std::min(most, rows - first) * columns));
      batch_.deferred->gather(type, group, first, piece);
      hasher_.update(std::as_bytes(std::span(std::as_const(piece))));
    }
  }

  static constexpr std::int64_t kPieceFloats = 1 << 18;

  const Batch& batch_;
  Hasher hasher_;
};

}  // namespace

std::string to_string(Part part) {
  switch (part) {
    case Part::kTrain:
      return "train";
    case Part::kValid:
      return "valid";
    case Part::kTest:
      return "test";
    case Part::kAll:
      return "all";
    case Part::kNone:
      return "none";
  }
  return {};
}

SeedLists::SeedLists(const std::vector<Array>& seeds) : lists_(seeds.size()) {
  for (std::size_t type = 0; type < seeds.size(); ++type) {
    if (!seeds[type].empty()) lists_[type].ids = seeds[type].as<std::uint64_t>();
  }
}

SeedLists::SeedLists(const QueryBatch& batch) : SeedLists(batch.seeds) {
  for (std::size_t type = 0; type < batch.seed_times.size(); ++type) {
    if (!batch.seed_times[type].empty())
      lists_[type].times = batch.seed_times[type].as<std::int64_t>();
  }
  for (std::size_t type = 0; type < batch.seed_events.size(); ++type) {
    if (!batch.seed_events[type].empty())
      lists_[type].events = batch.seed_events[type].as<std::uint64_t>();
  }
}

std::uint64_t hash_batch(const Batch& batch) {
  BatchHasher hasher(batch);
  visit_batch(batch, hasher);
  return hasher.digest();
}

}  // namespace sluice
