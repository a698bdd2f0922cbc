#include <sluice/batch.h>
#include <sluice/edge_rule.h>

#include "core/batch_fields.h"
#include "core/hash.h"

namespace sluice {
namespace {

class BatchHasher {
 public:
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
    add(static_cast<std::uint64_t>(array.dtype()));
    add(array.shape().size());
    for (const std::int64_t extent : array.shape()) add(static_cast<std::uint64_t>(extent));
    if (!array.empty()) hasher_.update(array.raw());
  }

  std::uint64_t digest() const { return hasher_.digest(); }

 private:
  void add(std::uint64_t value) { hasher_.update(bytes_of(value)); }

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
  BatchHasher hasher;
  visit_batch(batch, hasher);
  return hasher.digest();
}

}  // namespace sluice
