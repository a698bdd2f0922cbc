#include "prep/propagate/propagation_plan.h"
#include "prep/propagate/row_source.h"
#include "prep/update/added_tables.h"
#include "storage/format/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint32_t kDefaultColumns = 64;

[[noreturn]] void refuse(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kUsage, what, hint);
}

std::size_t target_of(const GraphSchema& schema, const PropagationOptions& options) {
  if (options.node_type.empty() && schema.nodes.size() == 1) return 0;
  const auto found = std::ranges::find(schema.nodes, options.node_type, &NodeTypeSchema::name);
  if (found != schema.nodes.end()) return static_cast<std::size_t>(found - schema.nodes.begin());
  refuse(options.node_type.empty()
             ? std::string("the dataset has several node types")
             : fmt::format("the dataset has no node type '{}'", options.node_type),
         "say one with --type; sluice-prep inspect shows them");
}

// The relation of SGC and SIGN: within the type.
EdgeOperator own_relation(const GraphSchema& schema,
                          const std::vector<EdgeOperator>& operators,
                          std::size_t target,
                          const PropagationOptions& options) {
  std::vector<EdgeOperator> fit;
  for (const EdgeOperator& op : operators) {
    const RelationSchema& relation = schema.relations[op.relation];
    if (op.from == target && op.to == target && op.along == Along::kEdges &&
        (options.relation.empty() || options.relation == relation.key() ||
         options.relation == relation.name))
      fit.push_back(op);
  }
  if (fit.size() == 1) return fit.front();
  const std::string& type = schema.nodes[target].name;
  if (!options.relation.empty())
    refuse(fmt::format("there is no relation '{}' from '{}' to itself", options.relation, type),
           "sluice-prep inspect shows the relations by these keys");
  if (fit.empty())
    refuse(fmt::format("no relation goes from '{}' to itself", type),
           "--method metapaths goes along relations between types");
  refuse(fmt::format("{} relations go from '{}' to itself", fit.size(), type),
         "say one with --relation; sluice-prep inspect shows them");
}

void check_options(const GraphSchema& schema, const PropagationOptions& options) {
  if (const std::string problem = name_problem(options.name); !problem.empty())
    refuse(fmt::format("'{}' is no name for a table: {}", options.name, problem),
           "letters, digits, '-' and '.' make one: --name");
  if (options.hops == 0 || options.hops > 64)
    refuse(fmt::format("{} hops", options.hops), "--hops is 1 to 64");
  if (options.dtype == DType::kI8)
    refuse("propagated tables are not kept as int8", "--dtype is f32, f16 or bf16");
  if (options.parts == 0 || options.parts > 64)
    refuse(fmt::format("{} parts of the training nodes", options.parts), "--parts is 1 to 64");
  for (const RelationSchema& relation : schema.relations)
    if (relation.appended != 0)
      refuse(fmt::format("relation '{}' has appended edges", relation.key()),
             "run sluice-prep compact first");
}

/// What each method multiplies, and what the results are called.
class TreePlanner {
 public:
  TreePlanner(const GraphSchema& schema, const PropagationOptions& options)
      : schema_(schema), options_(options) {
    check_options(schema_, options);
    plan_.target = target_of(schema_, options);
    plan_.operators = operators_of(schema_, options.backwards ? Ways::kBoth : Ways::kAlong);
    check_features();
    for (const NodeTypeSchema& node : schema_.nodes) plan_.columns.push_back(columns_of(node));
    for (const RelationSchema& relation : schema_.relations)
      if (relation.has_weights)
        plan_.warnings.push_back(fmt::format(
            "relation '{}' has weights; propagation counts each edge alike", relation.key()));
  }

  PropagationPlan make() {
    add_trees();
    check_names();
    return std::move(plan_);
  }

 private:
  const NodeTypeSchema& target() const { return schema_.nodes[plan_.target]; }

  // A type without the table begins no path, or with made-up rows: so it is nobody's typing error,
  // and types that have other tables are named.
  void check_features() {
    const bool paths = options_.method == PropagationMethod::kMetapaths;
    if (!paths && options_.method != PropagationMethod::kRandomProjection) return;
    std::set<std::string> known;
    bool found = false;
    for (const NodeTypeSchema& node : schema_.nodes) {
      for (const FeatureSchema& table : node.features) known.insert(table.name);
      found = found || table_of(node, options_) != nullptr;
    }
    if (!found && (paths || options_.features != PropagationOptions{}.features))
      refuse(fmt::format("no node type has a feature table '{}'", options_.features),
             known.empty() ? "no type has any: sluice-prep attach makes tables of rows"
                           : fmt::format("say one with --features: {}", fmt::join(known, ", ")));
    for (const NodeTypeSchema& node : schema_.nodes)
      if (!node.features.empty() && table_of(node, options_) == nullptr)
        plan_.warnings.push_back(
            fmt::format("node type '{}' has no feature table '{}', only others: {}",
                        node.name,
                        options_.features,
                        paths ? "it begins no path" : "it begins with random rows"));
  }

  std::uint32_t columns_of(const NodeTypeSchema& node) const {
    if (const FeatureSchema* table = table_of(node, options_)) return table->dim;
    if (options_.columns != 0) return options_.columns;
    const FeatureSchema* own = table_of(target(), options_);
    return own == nullptr ? kDefaultColumns : own->dim;
  }

  TreePlan root_of(ProductTree tree) const {
    const NodeTypeSchema& node = schema_.nodes[tree.root_type];
    TreePlan plan;
    plan.shape = {node.count, plan_.columns[tree.root_type], 1};
    if (const FeatureSchema* table = table_of(node, options_)) {
      plan.dtype = StoredRows::dtype_of(*table);
      plan.stored_bytes = table->rows * feature_row_bytes(*table);
    }
    plan.tree = std::move(tree);
    return plan;
  }

  void add_trees() {
    switch (options_.method) {
      case PropagationMethod::kSgc:
      case PropagationMethod::kSign:
        return add_powers();
      case PropagationMethod::kMetapaths:
        return add_metapaths();
      case PropagationMethod::kLabels:
        return add_labels();
      case PropagationMethod::kRandomProjection:
        return add_projections();
    }
  }

  void add_powers() {
    const bool sgc = options_.method == PropagationMethod::kSgc;
    if (table_of(target(), options_) == nullptr)
      refuse(
          fmt::format("node type '{}' has no feature table '{}'", target().name, options_.features),
          "say one with --features; sluice-prep inspect shows them");
    plan_.weighting = sgc ? Weighting::kSymmetricWithLoops : Weighting::kSymmetric;
    std::vector<std::string> keep;
    for (std::uint64_t hop = 1; hop <= options_.hops; ++hop) {
      if (!sgc)
        keep.push_back(fmt::format("{}-{}", options_.name, hop));
      else
        keep.push_back(hop == options_.hops ? options_.name : std::string());
    }
    const EdgeOperator op = own_relation(schema_, plan_.operators, plan_.target, options_);
    plan_.rounds.push_back({root_of(power_tree(op, keep))});
  }

  ProductTree metapaths_from(std::size_t type) const {
    return metapath_tree(
        schema_, plan_.operators, type, plan_.target, options_.hops, options_.name);
  }

  void add_metapaths() {
    plan_.rounds.emplace_back();
    std::size_t products = 0;
    for (std::size_t type = 0; type < schema_.nodes.size(); ++type) {
      if (table_of(schema_.nodes[type], options_) == nullptr) continue;
      ProductTree tree = metapaths_from(type);
      products += tree.products.size();
      if (!tree.products.empty()) plan_.rounds.back().push_back(root_of(std::move(tree)));
    }
    if (products > kMaxProducts)
      refuse(fmt::format("{} products of relations end at '{}'", products, target().name),
             "ask for fewer --hops");
    if (products == 0)
      refuse(fmt::format("no metapath from a node type with the table '{}' ends at '{}'",
                         options_.features,
                         target().name),
             "import reverses of the relations, or go along out-edges with --backwards");
  }

  void add_labels() {
    if (!target().labels || target().labels->kind == LabelKind::kRegression)
      refuse(fmt::format("node type '{}' has no labels that are classes", target().name),
             "say a type that has some with --type");
    const SplitSchema* split = schema_.split(options_.split);
    if (split == nullptr || split->node_type != target().name)
      refuse(fmt::format("the dataset has no split '{}' of '{}'", options_.split, target().name),
             "say one with --split; sluice-prep inspect shows them");
    TreePlan plan;
    if (!options_.predictions.empty()) plan.stored_bytes = prediction_bytes();
    plan.tree = metapaths_from(plan_.target);
    if (plan.tree.products.empty())
      refuse(fmt::format(
                 "no path of {} hops leads from '{}' back to itself", options_.hops, target().name),
             "ask for more --hops, or go along out-edges with --backwards");
    plan.dtype = DType::kF16;
    plan.shape = {target().count, label_root_columns(target(), options_), 1};
    plan_.rounds.push_back({std::move(plan)});
  }

  // Of the table of class scores that nodes without a label show.
  std::uint64_t prediction_bytes() const {
    const auto& tables = target().features;
    const auto found = std::ranges::find(tables, options_.predictions, &FeatureSchema::name);
    if (target().labels->kind != LabelKind::kClass)
      refuse(fmt::format("nodes of '{}' are of many classes, and predictions are of one each",
                         target().name),
             "leave --predictions out");
    if (found == tables.end())
      refuse(fmt::format("node type '{}' has no table '{}' of predictions",
                         target().name,
                         options_.predictions),
             "sluice-prep attach makes one of what `sluice-train embed` writes");
    if (found->dim != label_columns(target()))
      refuse(fmt::format("table '{}' has {} columns, and '{}' {} classes",
                         found->name,
                         found->dim,
                         target().name,
                         label_columns(target())),
             "attach the class scores that `sluice-train embed` writes");
    return found->rows * feature_row_bytes(*found);
  }

  void add_projections() {
    for (std::uint64_t round = 1; round <= options_.hops; ++round) {
      plan_.rounds.emplace_back();
      for (std::size_t type = 0; type < schema_.nodes.size(); ++type) {
        ProductTree tree = projections_of(type, round);
        if (tree.products.empty()) continue;
        TreePlan plan = root_of(std::move(tree));
        if (round > 1 && is_made(type)) {
          plan.made = true;
          plan.stored_bytes = 0;
          plan.dtype = options_.dtype;
        }
        plan_.rounds.back().push_back(std::move(plan));
      }
      if (plan_.rounds.back().empty())
        refuse(fmt::format("no relation leads to '{}'", target().name),
               "import reverses of the relations, or go along out-edges with --backwards");
    }
  }

  // Whether rounds give the type new rows; those that no relation leads to keep their own.
  bool is_made(std::size_t type) const {
    return std::ranges::count(plan_.operators, type, &EdgeOperator::to) != 0;
  }

  // Odd: a relation's mean. Even: its mean of what its reverse takes of the target's own rows. In
  // the last round only those of the target are wanted.
  ProductTree projections_of(std::size_t type, std::uint64_t round) const {
    const bool last = round == options_.hops;
    ProductTree tree{type, {}};
    const auto name = [&](const EdgeOperator& op, const char* parity) {
      return op.to == plan_.target ? fmt::format("{}-{}-{}-{}",
                                                 options_.name,
                                                 round,
                                                 step_name(schema_, plan_.operators, op),
                                                 parity)
                                   : std::string();
    };
    for (const EdgeOperator& op : plan_.operators)
      if (op.from == type && (!last || op.to == plan_.target))
        tree.products.push_back({op, std::nullopt, true, name(op, "odd")});
    for (const EdgeOperator& op : plan_.operators) {
      if (op.to != type || (last && op.to != plan_.target)) continue;
      const EdgeOperator back = reverse_of(schema_, op);
      std::size_t of = 0;
      while (of < tree.products.size() && (tree.products[of].of || !(tree.products[of].op == back)))
        ++of;
      if (of == tree.products.size()) tree.products.push_back({back, std::nullopt});
      tree.products.push_back({op, of, true, name(op, "even")});
    }
    return tree;
  }

  void check_names() {
    std::set<std::string> names;
    for (const auto& round : plan_.rounds) {
      for (const TreePlan& plan : round) {
        for (const Product& product : plan.tree.products) {
          if (product.table.empty()) continue;
          check_table_name(product.table);
          const bool there =
              std::ranges::count(target().features, product.table, &FeatureSchema::name) != 0;
          if (there &&
              (options_.tables == Overwrite::kRefuse || product.table == options_.features ||
               product.table == options_.predictions))
            refuse(fmt::format("node type '{}' has a feature table '{}' already",
                               target().name,
                               product.table),
                   options_.tables == Overwrite::kRefuse
                       ? "choose another --name, or replace it with --replace"
                       : "choose another --name: it is what is propagated");
          if (!names.insert(product.table).second)
            refuse(fmt::format("two metapaths would be named '{}'", product.table),
                   "rename node types or relations so that '-' and '.' tell them apart");
          add_table(product.table, plan.shape.columns);
        }
      }
    }
  }

  void add_table(const std::string& name, std::uint32_t columns) {
    if (options_.method == PropagationMethod::kLabels) columns = label_columns(target());
    plan_.report.tables.push_back({name, target().count, columns});
    plan_.report.bytes_tables +=
        FeatureLayout::make(options_.dtype, columns, target().count).file_bytes();
  }

  const GraphSchema& schema_;
  const PropagationOptions& options_;
  PropagationPlan plan_;
};

}  // namespace

const FeatureSchema* table_of(const NodeTypeSchema& node, const PropagationOptions& options) {
  const auto found = std::ranges::find(node.features, options.features, &FeatureSchema::name);
  return found == node.features.end() ? nullptr : &*found;
}

std::uint32_t label_columns(const NodeTypeSchema& node) {
  return node.labels ? node.labels->width : 0;
}

std::uint32_t label_root_columns(const NodeTypeSchema& node, const PropagationOptions& options) {
  const std::uint64_t parts = options.parts + 1;
  const std::uint64_t columns = parts * (std::uint64_t{label_columns(node)} + 1);
  if (columns > kMaxFeatureDim)
    refuse(fmt::format("{} classes in {} parts are too many columns", label_columns(node), parts),
           "ask for fewer --parts");
  return static_cast<std::uint32_t>(columns);
}

PropagationPlan plan_trees(const GraphSchema& schema, const PropagationOptions& options) {
  return TreePlanner(schema, options).make();
}

}  // namespace sluice
