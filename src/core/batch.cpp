#include <sluice/batch.h>

#include "core/hash.h"

namespace sluice {
namespace {

class BatchHasher {
 public:
  void add(std::uint64_t value) { hasher_.update(bytes_of(value)); }
  void add(std::int64_t value) { hasher_.update(bytes_of(value)); }

  // With its type and shape, so that no two arrays in a row can pass for two others.
  void add(const Array& array) {
    add(static_cast<std::uint64_t>(array.dtype()));
    add(static_cast<std::uint64_t>(array.shape().size()));
    for (const std::int64_t extent : array.shape()) add(extent);
    if (!array.empty()) hasher_.update(array.raw());
  }

  // Without the transpose, which follows from the rest.
  void add(const Block& block) {
    add(static_cast<std::uint64_t>(block.relation));
    add(static_cast<std::uint64_t>(block.source_type));
    add(static_cast<std::uint64_t>(block.target_type));
    add(block.num_sources);
    add(block.num_targets);
    add(block.offsets);
    add(block.neighbours);
    add(block.edge_ids);
  }

  void add(const BatchNodes& nodes) {
    add(nodes.ids);
    add(nodes.features);
    add(nodes.degrees);
    add(static_cast<std::uint64_t>(nodes.size_at.size()));
    for (const std::int64_t size : nodes.size_at) add(size);
  }

  std::uint64_t digest() const { return hasher_.digest(); }

 private:
  Hasher hasher_;
};

}  // namespace

std::uint64_t hash_batch(const Batch& batch) {
  BatchHasher hasher;
  hasher.add(batch.epoch);
  hasher.add(batch.index);
  hasher.add(static_cast<std::uint64_t>(batch.seed_type));
  hasher.add(batch.seeds);
  hasher.add(batch.labels);
  hasher.add(static_cast<std::uint64_t>(batch.nodes.size()));
  for (const BatchNodes& nodes : batch.nodes) hasher.add(nodes);
  hasher.add(static_cast<std::uint64_t>(batch.layers.size()));
  for (const auto& relations : batch.layers) {
    hasher.add(static_cast<std::uint64_t>(relations.size()));
    for (const Block& block : relations) hasher.add(block);
  }
  return hasher.digest();
}

}  // namespace sluice
