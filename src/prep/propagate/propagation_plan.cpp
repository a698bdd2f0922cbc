#include "prep/propagate/propagation_plan.h"

#include "prep/propagate/predicted_scores.h"
#include "storage/format/layout.h"
#include "storage/io/aligned_buffer.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kLeastWork = std::uint64_t{10} << 20;  // buffers, as small as they get
constexpr std::uint64_t kMostWork = std::uint64_t{64} << 20;

/// Shares memory between buffers and panels, and counts what is moved.
class Planner {
 public:
  Planner(const Manifest& manifest, const PropagationOptions& options, std::uint64_t memory)
      : schema_(manifest.schema),
        options_(options),
        memory_(memory),
        plan_(plan_trees(manifest.schema, options)) {}

  PropagationPlan make() {
    for (const auto& round : plan_.rounds)
      for (const TreePlan& plan : round) note_needs(plan);
    share_memory();
    for (auto& round : plan_.rounds)
      for (TreePlan& plan : round) cut(plan);
    for (std::size_t round = 0; round < plan_.rounds.size(); ++round) count_round(round);
    plan_.report.bytes_written += plan_.report.bytes_tables;
    return std::move(plan_);
  }

 private:
  const NodeTypeSchema& target() const { return schema_.nodes[plan_.target]; }

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
    for (const Product& product : plan.tree.products) {
      lists = std::max(lists, list_bytes(schema_, product.op));
      if (lists_of(schema_, product.op).are_listed()) listed_bytes_ = kSumBlockBytes;
    }
    most_sums_ = std::max(most_sums_, (lists + plan.stored_bytes) / kPageBytes * 5);
    widest_ = std::max(widest_, plan.shape.columns);
  }

  // Of labels, parts and the ids of a split.
  std::uint64_t label_bytes() const {
    const LabelSchema& labels = *target().labels;
    const SplitSchema& split = *schema_.split(options_.split);
    const std::uint64_t row = labels.kind == LabelKind::kClass
                                  ? sizeof(std::int32_t)
                                  : (std::uint64_t{labels.width} + 7) / 8;
    const std::uint64_t scores =
        options_.predictions.empty()
            ? 0
            : PredictedScores::kBytes + std::uint64_t{labels.width} * 2 * sizeof(std::uint64_t);
    return target().count * (row + 1) + scores +
           (split.train + split.valid + split.test) * sizeof(std::uint64_t);
  }

  // Buffers get an eighth, within bounds; what is left is for panels.
  void share_memory() {
    if (plan_.weighting != Weighting::kMean) kept_bytes_ += target().count * sizeof(float);
    if (options_.method == PropagationMethod::kLabels) kept_bytes_ += label_bytes();
    // A row on its way may be wide: there is room for one of each kind.
    kept_bytes_ += most_sums_ + listed_bytes_ + std::uint64_t{widest_} * 64;
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

  // Rounds of random projection keep all rows until the next one's are made of them.
  void count_round(std::size_t at) {
    const bool mixes = at + 1 < plan_.rounds.size();
    const bool together = options_.method == PropagationMethod::kRandomProjection;
    std::uint64_t made = 0;
    if (mixes)
      for (const TreePlan& plan : plan_.rounds[at + 1])
        if (plan.made) made += root_bytes(plan);
    PropagationReport& report = plan_.report;
    report.bytes_written += made;
    std::uint64_t kept = made;
    for (const TreePlan& plan : plan_.rounds[at]) {
      const std::uint64_t scratch = count_tree(plan);
      kept = together ? kept + scratch : scratch;
      report.bytes_disk = std::max(report.bytes_disk, kept + report.bytes_tables);
      if (!mixes) continue;
      for (const Product& product : plan.tree.products)  // once for the tables, once for the mix
        if (!product.table.empty())
          report.bytes_read += rows_of(product) * plan.shape.columns * size_of(options_.dtype);
    }
  }

  static std::uint64_t root_bytes(const TreePlan& plan) {
    return plan.shape.rows * plan.shape.columns * size_of(plan.dtype);
  }

  // Returns the bytes of scratch files that are there at its end.
  std::uint64_t count_tree(const TreePlan& plan) {
    PropagationReport& report = plan_.report;
    const std::uint64_t panels = plan.shape.panels(), columns = plan.shape.columns;
    const std::uint64_t root = root_bytes(plan);
    std::uint64_t scratch = plan.cut_first() || plan.made ? root : 0;
    report.bytes_read += scratch + plan.stored_bytes * (plan.cut_first() ? 1 : panels);
    if (plan.cut_first()) report.bytes_written += root;
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
    return scratch;
  }

  const GraphSchema& schema_;
  const PropagationOptions& options_;
  std::uint64_t memory_;
  PropagationPlan plan_;
  std::uint64_t kept_bytes_ = 0;    // beside panels and buffers
  std::uint64_t most_column_ = 0;   // of a panel, at the least
  std::uint64_t most_sums_ = 0;     // checksums of files that are read
  std::uint64_t listed_bytes_ = 0;  // a read buffer of listed nodes
  std::uint32_t widest_ = 0;
  std::uint64_t panel_bytes_ = 0;
};

}  // namespace

PropagationPlan make_plan(const Manifest& manifest,
                          const PropagationOptions& options,
                          std::uint64_t memory) {
  return Planner(manifest, options, memory).make();
}

}  // namespace sluice
