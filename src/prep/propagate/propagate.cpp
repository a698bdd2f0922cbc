#include "prep/propagate/propagate.h"

#include "core/interrupt.h"
#include "prep/propagate/label_rows.h"
#include "prep/propagate/product_walk.h"
#include "prep/propagate/propagation_plan.h"
#include "prep/propagate/row_mixing.h"
#include "prep/update/added_tables.h"
#include "prep/update/generation.h"
#include "storage/io/disk_space.h"

#include <sluice/dataset.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace sluice {
namespace {

class Propagation {
 public:
  Propagation(const std::filesystem::path& dataset,
              const PropagationOptions& options,
              PrepContext& context)
      : dataset_path_(dataset),
        options_(options),
        context_(context),
        next_(dataset, context),
        manifest_(next_.old_manifest()),
        plan_(make_plan(manifest_, options, context.ledger.available())),
        tables_(planned_tables()),
        dataset_(next_.open_old()),
        place_{dataset_path_,
               manifest_,
               next_.writer().staging().path(),
               context_,
               options.dtype,
               {plan_.weighting, {}},
               plan_.chunk_bytes},
        made_(manifest_.schema.nodes.size()) {
    require_space(place_.scratch, plan_.report.bytes_disk, "the propagated tables");
    for (const std::string& warning : plan_.warnings) context.log.warn(warning);
  }

  PropagationReport run(const std::string& created_by) {
    keep_beside(next_, target().name, tables_);
    weigh();
    if (options_.method == PropagationMethod::kLabels) {
      propagate_labels();
    } else if (options_.method == PropagationMethod::kRandomProjection) {
      for (std::size_t round = 0; round < plan_.rounds.size(); ++round) propagate_round(round);
    } else {
      for (const TreePlan& plan : plan_.rounds.front()) propagate_tree(plan);
    }
    UpdateReport update;
    next_.commit(created_by, update);
    PropagationReport report = std::move(plan_.report);
    report.generation = update.generation;
    return report;
  }

 private:
  const NodeTypeSchema& target() const { return manifest_.schema.nodes[plan_.target]; }

  // As the plan has them, in its order.
  std::vector<FeatureSchema> planned_tables() const {
    std::vector<FeatureSchema> tables;
    for (const PropagationReport::Table& planned : plan_.report.tables) {
      FeatureSchema table;
      table.name = planned.name;
      table.dtype = options_.dtype;
      table.rows = planned.rows;
      table.dim = planned.columns;
      tables.push_back(std::move(table));
    }
    return tables;
  }

  void weigh() {
    if (plan_.weighting == Weighting::kMean) return;
    const EdgeOperator& op = plan_.rounds.front().front().tree.products.front().op;
    roots_ = inverse_roots(dataset_path_, manifest_, op, plan_.weighting, context_.ledger);
    place_.weights.inverse_roots = {reinterpret_cast<const float*>(roots_.data()), target().count};
  }

  std::unique_ptr<RowSource> source_of(std::size_t type) {
    const NodeTypeSchema& node = manifest_.schema.nodes[type];
    const FeatureSchema* const table = table_of(node, options_);
    if (table == nullptr)
      return std::make_unique<NormalRows>(
          node.count, plan_.columns[type], RandomKey(options_.seed).with("rows").with(node.name));
    FeatureStoreOptions how;
    how.staging_bytes = plan_.staging_bytes;
    auto store = dataset_.features(node.name, how, table->name);
    const std::uint64_t rows = chunk_rows(plan_.chunk_bytes, store->row_bytes());
    return std::make_unique<StoredRows>(std::move(store), rows, context_.ledger);
  }

  ProductTables products_of(const TreePlan& plan) {
    const std::size_t type = plan.tree.root_type;
    if (plan.made) return make_products(place_, plan, {nullptr, made_[type].get()});
    const auto rows = source_of(type);
    return make_products(place_, plan, {rows.get(), nullptr});
  }

  // A product's rows as a feature table of the target.
  void write_table(const std::string& name, const PanelTable& rows) {
    write_file(name, [&](FeatureWriter& to) {
      const std::size_t row_bytes = rows.shape().columns * size_of(rows.dtype());
      const std::uint64_t chunk = chunk_rows(plan_.chunk_bytes, row_bytes);
      const std::uint64_t most = std::min(chunk, rows.shape().rows);
      const auto make = [&] {
        return AlignedBuffer::make(most * row_bytes, &context_.ledger, "propagated rows")
            .or_throw();
      };
      AlignedBuffer out = make(), room = make();
      for (std::uint64_t first = 0; first < rows.shape().rows; first += chunk) {
        throw_if_interrupted();
        const std::uint64_t count = std::min(chunk, rows.shape().rows - first);
        rows.read_rows(first, count, room.bytes(), out.bytes());
        to.append_rows(out.bytes().first(count * row_bytes));
      }
    });
  }

  template <class Write>
  void write_file(const std::string& name, const Write& write) {
    const FeatureSchema& table = *std::ranges::find(tables_, name, &FeatureSchema::name);
    auto file = next_.writer().create(node_path(target().name, name + ".bin"));
    FeatureWriter rows(*file, Manifest::layout_of(table));
    write(rows);
    next_.writer().add(std::move(file));
  }

  void propagate_tree(const TreePlan& plan) {
    ProductTables tables = products_of(plan);
    for (std::size_t at = 0; at < tables.size(); ++at) {
      if (tables[at] == nullptr) continue;
      write_table(plan.tree.products[at].table, *tables[at]);
      tables[at].reset();  // its room on the disk is free for the next
    }
  }

  void propagate_labels() {
    const TreePlan& plan = plan_.rounds.front().front();
    LabelRows labels(dataset_, target(), options_, context_.ledger);
    ProductTables tables = make_products(place_, plan, {&labels, nullptr});
    for (std::size_t at = 0; at < tables.size(); ++at) {
      if (tables[at] == nullptr) continue;
      write_file(plan.tree.products[at].table,
                 [&](FeatureWriter& to) { write_label_table(*tables[at], labels, place_, to); });
      tables[at].reset();
    }
  }

  void propagate_round(std::size_t round) {
    const std::vector<TreePlan>& plans = plan_.rounds[round];
    std::vector<ProductTables> tables;
    tables.reserve(plans.size());
    for (const TreePlan& plan : plans) tables.push_back(products_of(plan));
    for (std::size_t at = 0; at < plans.size(); ++at)
      for (std::size_t i = 0; i < tables[at].size(); ++i)
        if (!plans[at].tree.products[i].table.empty())
          write_table(plans[at].tree.products[i].table, *tables[at][i]);
    if (round + 1 == plan_.rounds.size()) return;
    std::vector<std::unique_ptr<PanelTable>> next(made_.size());
    for (const TreePlan& plan : plan_.rounds[round + 1])
      if (plan.made) next[plan.tree.root_type] = mixed(plan, round, tables);
    made_ = std::move(next);
  }

  // What all relations into the type brought in this round, added up.
  std::unique_ptr<PanelTable> mixed(const TreePlan& plan,
                                    std::size_t round,
                                    const std::vector<ProductTables>& tables) {
    const std::size_t type = plan.tree.root_type;
    const RandomKey key = RandomKey(options_.seed).with("projections").with(round);
    std::vector<MixedRows> parts;
    for (std::size_t at = 0; at < tables.size(); ++at) {
      const std::vector<Product>& products = plan_.rounds[round][at].tree.products;
      for (std::size_t i = 0; i < products.size(); ++i) {
        const EdgeOperator& op = products[i].op;
        if (!products[i].kept || op.to != type) continue;
        const RandomKey own = key.with(manifest_.schema.relations[op.relation].key())
                                  .with(static_cast<std::uint64_t>(op.along))
                                  .with(products[i].of ? "even" : "odd");
        parts.push_back({tables[at][i].get(), own});
      }
    }
    auto rows = std::make_unique<PanelTable>(place_.scratch, plan.shape, options_.dtype);
    mix_rows(parts, place_, *rows);
    return rows;
  }

  std::filesystem::path dataset_path_;
  const PropagationOptions& options_;
  PrepContext& context_;
  NextGeneration next_;
  const Manifest& manifest_;
  PropagationPlan plan_;
  std::vector<FeatureSchema> tables_;  // that are made
  Dataset dataset_;
  WalkPlace place_;
  AlignedBuffer roots_;
  std::vector<std::unique_ptr<PanelTable>> made_;  // rows of types, by the round before
};

}  // namespace

PropagationReport plan_propagation(const std::filesystem::path& dataset,
                                   const PropagationOptions& options,
                                   PrepContext& context) {
  const Manifest manifest = Manifest::load(dataset).or_throw();
  const PropagationPlan plan = make_plan(manifest, options, context.ledger.available());
  for (const std::string& warning : plan.warnings) context.log.warn(warning);
  PropagationReport report = plan.report;
  report.generation = manifest.generation;
  return report;
}

PropagationReport propagate_dataset(const std::filesystem::path& dataset,
                                    const PropagationOptions& options,
                                    const std::string& created_by,
                                    PrepContext& context) {
  return Propagation(dataset, options, context).run(created_by);
}

}  // namespace sluice
