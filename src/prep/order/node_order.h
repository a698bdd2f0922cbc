// NodeOrder: in which order the nodes of a type are stored, so that rows that are read together lie
// together. Memory is a few numbers a node; edges are streamed where an order can do with that.
//
// An order is one file pair and one line in src/registry/core.cpp. The same dataset and options
// give the same order, for any number of threads.
#pragma once

#include "prep/order/id_array.h"
#include "prep/prep_context.h"
#include "storage/format/manifest.h"

#include <sluice/graph_schema.h>

#include <filesystem>
#include <functional>
#include <vector>

namespace sluice {

/// A node type of a dataset, as orders see it.
struct OrderInput {
  const std::filesystem::path& root;
  const Manifest& manifest;
  const NodeTypeSchema& node;
  PrepContext& context;

  /// The relations from the type to itself.
  std::vector<const RelationSchema*> own_relations() const;
  /// Calls f(source, target) for each of their edges, target by target.
  void for_each_edge(const std::function<void(std::uint64_t, std::uint64_t)>& f) const;
  /// The training nodes of the type's first split, in its order; none where it has no split.
  std::vector<std::uint64_t> training_seeds() const;
};

class NodeOrder {
 public:
  virtual ~NodeOrder() = default;

  /// The old id of each new one: a permutation of the type's nodes. Throws Error; kResource where
  /// the order needs more memory than there is.
  virtual IdArray order(const OrderInput& input) = 0;
};

/// How often each node is the source of an edge of any relation: what a sampler will ask for.
IdArray out_degrees(const OrderInput& input);

/// Node ids sorted by `key` (descending), ties by id.
IdArray sorted_by_key(const IdArray& key, MemoryLedger* ledger);

/// The inverse of a permutation.
IdArray inverse(const IdArray& permutation, MemoryLedger* ledger);

}  // namespace sluice
