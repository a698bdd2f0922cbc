#include "prep/order/node_order.h"

#include "core/interrupt.h"
#include "prep/dataset_edges.h"
#include "storage/format/data_file.h"

#include <sluice/dataset.h>

#include <algorithm>

namespace sluice {

std::vector<const RelationSchema*> OrderInput::own_relations() const {
  std::vector<const RelationSchema*> own;
  for (const RelationSchema& relation : manifest.schema.relations) {
    if (relation.source == node.name && relation.target == node.name) own.push_back(&relation);
  }
  return own;
}

void OrderInput::for_each_edge(const std::function<void(std::uint64_t, std::uint64_t)>& f) const {
  for (const RelationSchema* relation : own_relations()) {
    DatasetEdges edges(root, manifest, *relation, {}, &context.ledger);
    while (const auto view = edges.next()) {
      const auto& span = std::get<EdgeSpan<std::uint64_t>>(*view);
      for (std::size_t i = 0; i < span.count; ++i) f(span.source[i], span.target[i]);
    }
  }
}

std::vector<std::uint64_t> OrderInput::training_seeds() const {
  for (const SplitSchema& split : manifest.schema.splits) {
    if (split.node_type != node.name) continue;
    const Dataset dataset = Dataset::open(root.string(), {.ledger = &context.ledger});
    const Split ids = dataset.split(split.name);
    const auto train = ids.train.as<std::uint64_t>();
    return {train.begin(), train.end()};
  }
  return {};
}

IdArray out_degrees(const OrderInput& input) {
  std::uint64_t most = 1;
  for (const RelationSchema& relation : input.manifest.schema.relations) most += relation.edges;
  IdArray degrees(input.node.count, most, &input.context.ledger, "node order");
  for (const RelationSchema& relation : input.manifest.schema.relations) {
    if (relation.source != input.node.name) continue;
    const std::string path = relation_path(relation, "neighbours.bin");
    const FileEntry entry = find_file(input.root, input.manifest, path).or_throw();
    ValueCursor neighbours(
        input.root, entry, node_id_dtype(input.node.count), relation.edges, &input.context.ledger);
    std::uint64_t seen = 0;
    while (const auto source = neighbours.next()) {
      degrees.set(*source, degrees[*source] + 1);
      if ((++seen & 0xfffff) == 0) throw_if_interrupted();
    }
  }
  return degrees;
}

// A counting sort: keys are bucketed up to a bound, the few above it sorted by comparison.
IdArray sorted_by_key(const IdArray& key, MemoryLedger* ledger) {
  constexpr std::uint64_t kBuckets = std::uint64_t{1} << 16;
  const std::uint64_t count = key.size();
  std::vector<std::uint64_t> begins(kBuckets + 1, 0);
  const auto bucket = [&](std::uint64_t node) {
    return kBuckets - 1 - std::min(key[node], kBuckets - 1);  // large keys first
  };
  for (std::uint64_t node = 0; node < count; ++node) ++begins[bucket(node) + 1];
  for (std::uint64_t b = 0; b < kBuckets; ++b) begins[b + 1] += begins[b];
  const std::uint64_t large = begins[1];  // keys that share the first bucket
  IdArray order(count, count, ledger, "node order");
  for (std::uint64_t node = 0; node < count; ++node) order.set(begins[bucket(node)]++, node);

  std::vector<std::uint64_t> first(large);
  for (std::uint64_t i = 0; i < large; ++i) first[i] = order[i];
  std::stable_sort(first.begin(), first.end(), [&](std::uint64_t a, std::uint64_t b) {
    return key[a] > key[b];
  });
  for (std::uint64_t i = 0; i < large; ++i) order.set(i, first[i]);
  return order;
}

IdArray inverse(const IdArray& permutation, MemoryLedger* ledger) {
  IdArray result(permutation.size(), permutation.size(), ledger, "node order");
  for (std::uint64_t i = 0; i < permutation.size(); ++i) result.set(permutation[i], i);
  return result;
}

}  // namespace sluice
