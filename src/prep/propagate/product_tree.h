// ProductTree: which products of operators are to be made of a table of rows, each from the one
// before it: A1 X, A2 A1 X, ... Branches share what they begin with.
#pragma once

#include "prep/propagate/edge_operator.h"

#include <sluice/graph_schema.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Products that a dataset may be asked for: each that is kept has a scratch file open meanwhile.
inline constexpr std::size_t kMaxProducts = 512;

struct Product {
  EdgeOperator op;
  std::optional<std::size_t> of;  ///< the product whose rows it reads; nothing: the root's
  bool kept = false;              ///< its rows are wanted; else it is a step on the way
  std::string table{};            ///< the feature table that its rows become; empty: none
};

struct ProductTree {
  std::size_t root_type = 0;      ///< place in GraphSchema::nodes
  std::vector<Product> products;  ///< each after the one that it is made of

  std::vector<std::size_t> made_of(std::optional<std::size_t> product) const;
  bool has_products_of(std::size_t product) const;
};

/// As many times the same operator, within a type, as `keep` has names: of tables; empty: not kept.
ProductTree power_tree(const EdgeOperator& op, const std::vector<std::string>& keep);

/// Every metapath of 1 to `hops` steps from the root's type to `target` (SeHGNN): those that end
/// there are kept, by the name "PREFIX-TYPE-...-TYPE" from the target's neighbours outward. Throws
/// Error: kUsage beyond kMaxProducts.
ProductTree metapath_tree(const GraphSchema& schema,
                          const std::vector<EdgeOperator>& operators,
                          std::size_t root_type,
                          std::size_t target,
                          std::uint64_t hops,
                          const std::string& prefix);

}  // namespace sluice
