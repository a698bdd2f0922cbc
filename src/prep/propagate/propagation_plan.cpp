#include "prep/propagate/propagation_plan.h"

#include "prep/propagate/row_source.h"
#include "storage/format/layout.h"
#include "storage/io/aligned_buffer.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kLeastWork = std::uint64_t{10} << 20;  // buffers, as small as they get
constexpr std::uint64_t kMostWork = std::uint64_t{64} << 20;
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
    const std::string key = schema.relations[op.relation].key();
    if (op.from == target && op.to == target && op.along == Along::kEdges &&
        (options.relation.empty() || options.relation == key))
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

class Planner {
 public:
  Planner(const Manifest& manifest, const PropagationOptions& options, std::uint64_t memory)
      : schema_(manifest.schema), options_(options), memory_(memory) {
    check_options(schema_, options);
    plan_.target = target_of(schema_, options);
    plan_.operators = operators_of(schema_, options.backwards ? Ways::kBoth : Ways::kAlong);
    for (const NodeTypeSchema& node : schema_.nodes) plan_.columns.push_back(columns_of(node));
  }

  PropagationPlan make() {
    add_trees();
    check_names();
    for (const auto& round : plan_.rounds)
      for (const TreePlan& plan : round) note_needs(plan);
    share_memory();
    for (auto& round : plan_.rounds) {
      for (TreePlan& plan : round) cut(plan);
      count_round(round);
    }
    plan_.report.bytes_disk = std::max(plan_.report.bytes_disk, plan_.report.bytes_tables);
    return std::move(plan_);
  }

 private:
  const NodeTypeSchema& target() const { return schema_.nodes[plan_.target]; }

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
      plan.dtype = StoredRows::dtype_of(table->dtype);
      plan.stored_bytes = table->rows * feature_row_bytes(table->dtype, table->dim);
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
    plan.tree = metapaths_from(plan_.target);
    if (plan.tree.products.empty())
      refuse(fmt::format(
                 "no path of {} hops leads from '{}' back to itself", options_.hops, target().name),
             "ask for more --hops, or go along out-edges with --backwards");
    plan.dtype = DType::kF16;
    plan.shape = {target().count, label_root_columns(target(), options_), 1};
    kept_bytes_ += target().count * (1 + (target().labels->kind == LabelKind::kClass
                                              ? sizeof(std::int32_t)
                                              : (target().labels->width + 7) / 8)) +
                   (split->train + split->valid + split->test) * sizeof(std::uint64_t);
    plan_.rounds.push_back({std::move(plan)});
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
          if (const std::string problem = name_problem(product.table); !problem.empty())
            refuse(fmt::format("'{}' is no name for a table: {}", product.table, problem),
                   "choose a shorter --name");
          const bool there =
              std::ranges::count(target().features, product.table, &FeatureSchema::name) != 0;
          if (there &&
              (options_.tables == Overwrite::kRefuse || product.table == options_.features))
            refuse(fmt::format("node type '{}' has a feature table '{}' already",
                               target().name,
                               product.table),
                   product.table == options_.features
                       ? "choose another --name: it is what is propagated"
                       : "choose another --name, or replace it with --replace");
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

  // Bytes of a column of what is resident: the root, or a product that others are made of.
  std::uint64_t column_bytes(const TreePlan& plan) const {
    std::uint64_t most = plan.shape.rows * size_of(plan.dtype);
    for (std::size_t at = 0; at < plan.tree.products.size(); ++at)
      if (plan.tree.has_products_of(at))
        most = std::max(most, rows_of(plan.tree.products[at]) * size_of(options_.dtype));
    return std::max<std::uint64_t>(1, most);
  }

  std::uint64_t rows_of(const Product& product) const { return schema_.nodes[product.op.to].count; }

  void note_needs(const TreePlan& plan) {
    most_column_ = std::max(most_column_, round_up_to_page(column_bytes(plan)));
    std::uint64_t lists = 0;
    for (const Product& product : plan.tree.products)
      lists = std::max(lists, list_bytes(schema_, product.op));
    most_sums_ = std::max(most_sums_, (lists + plan.stored_bytes) / kPageBytes * 5);
    widest_ = std::max(widest_, plan.shape.columns);
  }

  // Buffers get an eighth, within bounds; what is left is for panels.
  void share_memory() {
    if (plan_.weighting != Weighting::kMean) kept_bytes_ += target().count * sizeof(float);
    // A row on its way may be wide: there is room for one of each kind.
    kept_bytes_ += most_sums_ + std::uint64_t{widest_} * 64;
    plan_.report.least_memory = kept_bytes_ + most_column_ + kLeastWork;
    if (memory_ < plan_.report.least_memory)
      throw Error(
          ErrorCode::kResource,
          fmt::format("{} of memory does not hold a column of all nodes and the buffers",
                      format_bytes(memory_)),
          fmt::format("set --memory to at least {}MiB", (plan_.report.least_memory >> 20) + 1));
    std::uint64_t work = std::clamp(memory_ / 8, kLeastWork, kMostWork);
    if (memory_ - kept_bytes_ < work + most_column_) work = kLeastWork;
    panel_bytes_ = memory_ - kept_bytes_ - work;
    plan_.chunk_bytes = work / 16;
    plan_.staging_bytes = work / 5;
  }

  void cut(TreePlan& plan) {
    const std::uint64_t fit = std::max<std::uint64_t>(1, panel_bytes_ / column_bytes(plan));
    const std::uint32_t columns = std::max<std::uint32_t>(1, plan.shape.columns);
    plan.shape.panel = static_cast<std::uint32_t>(std::min<std::uint64_t>(fit, columns));
    if (options_.panel != 0) plan.shape.panel = std::min(plan.shape.panel, options_.panel);
    plan_.report.cuts.push_back({schema_.nodes[plan.tree.root_type].name,
                                 plan.shape.columns,
                                 plan.shape.panel,
                                 plan.shape.panels(),
                                 plan.tree.products.size()});
  }

  void count_round(const std::vector<TreePlan>& round) {
    // Rounds of random projection keep all rows until the next one's are made of them.
    const bool together = options_.method == PropagationMethod::kRandomProjection;
    std::uint64_t kept = 0;
    for (const TreePlan& plan : round) {
      const std::uint64_t scratch = count_tree(plan);
      PropagationReport& report = plan_.report;
      kept = together ? kept + scratch : scratch;
      report.bytes_disk = std::max(report.bytes_disk, kept + report.bytes_tables);
    }
  }

  // Returns the bytes of scratch files that are there at its end.
  std::uint64_t count_tree(const TreePlan& plan) {
    PropagationReport& report = plan_.report;
    const std::uint64_t panels = plan.shape.panels(), columns = plan.shape.columns;
    const std::uint64_t root = plan.shape.rows * columns * size_of(plan.dtype);
    std::uint64_t scratch = plan.cut_first() || plan.made ? root : 0;
    report.bytes_read += scratch + plan.stored_bytes * (plan.cut_first() ? 1 : panels);
    report.bytes_written += scratch;
    for (std::size_t at = 0; at < plan.tree.products.size(); ++at) {
      const Product& product = plan.tree.products[at];
      const std::uint64_t rows = rows_of(product) * columns * size_of(options_.dtype);
      const std::uint64_t in =
          product.of ? schema_.nodes[product.op.from].count * columns * size_of(options_.dtype)
                     : root;
      report.passes += panels;
      report.bytes_edges += panels * list_bytes(schema_, product.op);
      report.bytes_formula += in + 4 * panels * schema_.relations[product.op.relation].edges + rows;
      report.bytes_written += rows;
      if (plan.tree.has_products_of(at)) report.bytes_read += rows;
      if (product.kept) report.bytes_read += rows;  // to become rows again
      scratch +=
          product.kept ? rows : rows / std::max<std::uint64_t>(1, columns) * plan.shape.panel;
    }
    for (const Product& product : plan.tree.products)
      if (!product.table.empty())
        report.bytes_written +=
            FeatureLayout::make(options_.dtype, plan.shape.columns, rows_of(product)).file_bytes();
    return scratch;
  }

  const GraphSchema& schema_;
  const PropagationOptions& options_;
  std::uint64_t memory_;
  PropagationPlan plan_;
  std::uint64_t kept_bytes_ = 0;   // beside panels and buffers
  std::uint64_t most_column_ = 0;  // of a panel, at the least
  std::uint64_t most_sums_ = 0;    // checksums of files that are read
  std::uint32_t widest_ = 0;
  std::uint64_t panel_bytes_ = 0;
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

PropagationPlan make_plan(const Manifest& manifest,
                          const PropagationOptions& options,
                          std::uint64_t memory) {
  return Planner(manifest, options, memory).make();
}

}  // namespace sluice
