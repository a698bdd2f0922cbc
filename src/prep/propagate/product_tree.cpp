#include "prep/propagate/product_tree.h"

#include "storage/format/layout.h"

#include <sluice/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace sluice {
namespace {

/// Builds the tree depth by depth, so that a product stands behind the one that it is made of.
class MetapathTree {
 public:
  MetapathTree(const GraphSchema& schema,
               const std::vector<EdgeOperator>& operators,
               std::size_t target,
               std::uint64_t hops,
               const std::string& prefix)
      : schema_(schema), operators_(operators), target_(target), hops_(hops), prefix_(prefix) {
    find_reach();
  }

  ProductTree grow(std::size_t root_type) {
    tree_.root_type = root_type;
    add_steps(std::nullopt, root_type, 0);
    std::size_t begin = 0;
    for (std::uint64_t depth = 1; depth < hops_; ++depth) {
      const std::size_t end = tree_.products.size();
      for (std::size_t at = begin; at < end; ++at) add_steps(at, tree_.products[at].op.to, depth);
      begin = end;
    }
    return std::move(tree_);
  }

 private:
  // reach_[k][type]: whether the target is at most k steps away.
  void find_reach() {
    reach_.emplace_back(schema_.nodes.size(), false);
    reach_[0][target_] = true;
    for (std::uint64_t steps = 1; steps < hops_; ++steps) {
      std::vector<bool> wider = reach_.back();
      for (const EdgeOperator& op : operators_)
        if (reach_.back()[op.to]) wider[op.from] = true;
      reach_.push_back(std::move(wider));
    }
  }

  void add_steps(std::optional<std::size_t> of, std::size_t type, std::uint64_t depth) {
    for (const EdgeOperator& op : operators_) {
      if (op.from != type || !reach_[hops_ - 1 - depth][op.to]) continue;
      if (tree_.products.size() == kMaxProducts)
        throw Error(ErrorCode::kUsage,
                    fmt::format("more than {} products of relations end at '{}' in {} hops",
                                kMaxProducts,
                                schema_.nodes[target_].name,
                                hops_),
                    "ask for fewer --hops");
      tree_.products.push_back({op, of});
      if (op.to != target_) continue;
      tree_.products.back().kept = true;
      tree_.products.back().table = name_of(tree_.products.size() - 1);
    }
  }

  // What is too long for a file's name, or was taken by another path, goes by its number.
  std::string name_of(std::size_t product) {
    std::string name = prefix_;
    for (std::optional<std::size_t> at = product; at; at = tree_.products[*at].of)
      name += fmt::format("-{}", step_name(schema_, operators_, tree_.products[*at].op));
    if (!name_problem(name).empty() || !names_.insert(name).second) {
      name = fmt::format("{}-{}-path{}", prefix_, schema_.nodes[tree_.root_type].name, product);
      names_.insert(name);
    }
    return name;
  }

  const GraphSchema& schema_;
  const std::vector<EdgeOperator>& operators_;
  std::size_t target_;
  std::uint64_t hops_;
  const std::string& prefix_;
  std::vector<std::vector<bool>> reach_;
  std::set<std::string> names_;
  ProductTree tree_;
};

}  // namespace

std::vector<std::size_t> ProductTree::made_of(std::optional<std::size_t> product) const {
  std::vector<std::size_t> all;
  for (std::size_t at = 0; at < products.size(); ++at)
    if (products[at].of == product) all.push_back(at);
  return all;
}

bool ProductTree::has_products_of(std::size_t product) const {
  return std::ranges::any_of(products, [&](const Product& other) { return other.of == product; });
}

ProductTree power_tree(const EdgeOperator& op, const std::vector<std::string>& keep) {
  ProductTree tree{op.from, {}};
  for (std::size_t hop = 0; hop < keep.size(); ++hop)
    tree.products.push_back({op,
                             hop == 0 ? std::nullopt : std::optional<std::size_t>(hop - 1),
                             !keep[hop].empty(),
                             keep[hop]});
  return tree;
}

ProductTree metapath_tree(const GraphSchema& schema,
                          const std::vector<EdgeOperator>& operators,
                          std::size_t root_type,
                          std::size_t target,
                          std::uint64_t hops,
                          const std::string& prefix) {
  return MetapathTree(schema, operators, target, hops, prefix).grow(root_type);
}

}  // namespace sluice
