#include "prep/import/import_relations.h"

#include "prep/import/edge_splits.h"
#include "prep/import/relation_names.h"
#include "prep/spool/edge_column.h"
#include "prep/spool/sorted_edges.h"
#include "prep/table/text_cells.h"
#include "storage/format/relation_lists.h"

#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace sluice {
namespace {

/// The edges of one type, out of a spool in which each type's stand together.
class EdgesOfType final : public EdgeStream {
 public:
  EdgesOfType(SpooledEdges& all, std::uint64_t count, bool reverse)
      : all_(all), left_(count), count_(count), reverse_(reverse) {}

  std::optional<EdgeView> next() override {
    if (left_ == 0) return std::nullopt;
    std::optional<EdgeView> view = all_.next_at_most(left_);
    if (view)
      left_ -= std::visit([](const auto& span) { return std::uint64_t{span.count}; }, *view);
    if (view && reverse_) return reversed(*view);
    return view;
  }
  std::optional<std::uint64_t> expected() const override { return count_; }
  std::optional<std::uint64_t> id_bound() const override { return all_.id_bound(); }

 private:
  SpooledEdges& all_;
  std::uint64_t left_;
  std::uint64_t count_;
  bool reverse_;
};

/// Writes the relations of one [[edges]].
class Relations {
 public:
  Relations(ImportContext& context,
            const EdgeSpec& spec,
            std::unique_ptr<SpooledTable> table,
            std::vector<RelationImport>& report)
      : context_(context), spec_(spec), table_(std::move(table)), report_(report) {}

  void run() {
    if (table_ && table_->times && !table_->in_time_order) sort_by(*table_->times);
    if (table_ && table_->types) say_blank_types();
    if (table_ && table_->types && spec_.types == EdgeTypes::kRelations) return one_a_type();
    const std::size_t first = report_.size();
    for (const bool reverse : {false, true}) {
      if (reverse && spec_.reverse.empty()) continue;
      const std::string& name = reverse ? spec_.reverse : spec_.relation;
      write(relation_of(name, reverse), reverse, [&] { return stream(reverse); });
    }
    if (table_) report_[first].skipped = table_->skipped;
  }

 private:
  using OpenStream = std::function<std::unique_ptr<EdgeStream>()>;

  void sort_by(const ScratchBytes& keys) {
    table_->edges = sort_edges(table_->edges,
                               keys,
                               context_.writer.staging().path(),
                               context_.prep.ledger.available() * 3 / 4,
                               context_.prep);
  }

  std::unique_ptr<EdgeStream> stream(bool reverse) {
    if (!table_) return open_edges(context_, spec_);
    return std::make_unique<SpooledEdges>(
        table_->edges,
        table_->rows,
        reverse ? SpooledEdges::Way::kReverse : SpooledEdges::Way::kForward);
  }

  void say_blank_types() const {
    for (const std::string& title : table_->type_names)
      if (without_blanks(title) != trimmed_cell(title))
        context_.prep.log.warn(
            "{}: the type {} has a blank that is no space before or behind it: take it out",
            spec_.file,
            shown_cell(title));
  }

  void one_a_type() {
    // Stable, so that edges of a type stay in the order of their times.
    sort_by(*table_->types);
    const std::vector<std::uint64_t>& counts = table_->type_counts;
    const std::map<std::string, std::string>& names = context_.relation_names[&spec_] =
        relation_names(context_.spec, spec_, table_->type_names);
    warn_of_size();
    const std::size_t first = report_.size();
    for (const bool reverse : {false, true}) {
      if (reverse && spec_.reverse.empty()) continue;
      SpooledEdges all(table_->edges, table_->rows);
      for (std::size_t type = 0; type < counts.size(); ++type) {
        const std::string& title = table_->type_names[type];
        const std::string& name = names.at(title);
        RelationSchema relation =
            relation_of(reverse ? reverse_relation_name(spec_, name) : name, reverse);
        if (!reverse && title != name) relation.title = title;
        bool opened = false;
        write(std::move(relation), reverse, [&] {
          opened = true;
          return std::make_unique<EdgesOfType>(all, counts[type], reverse);
        });
        if (!opened) all.skip(counts[type]);  // a stage that an earlier run finished
      }
    }
    report_[first].skipped = table_->skipped;
  }

  // Each relation has offsets and pages of its own.
  void warn_of_size() const {
    constexpr std::uint64_t kFewTypes = 8, kSmall = 256 * kKiB, kTimes = 4, kEdgeBytes = 16;
    const std::uint64_t types = table_->type_names.size();
    const std::uint64_t nodes = *context_.node(spec_.target).ids.count();
    const std::uint64_t ways = spec_.csc.out_edges || !spec_.reverse.empty() ? 2 : 1;
    const auto pages = [](std::uint64_t bytes) { return (bytes / kPageBytes + 1) * kPageBytes; };
    const std::uint64_t edges = table_->rows / std::max<std::uint64_t>(types, 1);  // of a type
    RelationLists lists;
    lists.nodes = nodes;
    lists.layout = choose_offset_layout(nodes, edges);
    lists.lists = lists.are_listed() ? edges : nodes;
    const std::uint64_t bytes = types * ways * (pages(lists.offset_bytes()) + pages(edges * 4));
    if (types < kFewTypes || bytes < kSmall || bytes / kTimes < table_->rows * kEdgeBytes) return;
    context_.prep.log.warn(
        "{}: {} types of edges make as many relations, each with files of its own beside {} nodes: "
        "about {} for {} edges; types = \"labels\" makes one relation of them, with the type as a "
        "label",
        spec_.file,
        format_count(types),
        format_count(nodes),
        format_bytes(bytes),
        format_count(table_->rows));
  }

  RelationSchema relation_of(const std::string& name, bool reverse) const {
    RelationSchema relation;
    relation.source = reverse ? spec_.target : spec_.source;
    relation.name = name;
    relation.target = reverse ? spec_.source : spec_.target;
    const CscOptions& csc = spec_.csc;
    if (csc.self_loops != SelfLoops::kKeep)
      relation.self_loops = csc.self_loops == SelfLoops::kAdd ? "add" : "drop";
    if (csc.duplicates != Duplicates::kKeep)
      relation.duplicates = csc.duplicates == Duplicates::kDrop ? "drop" : "error";
    return relation;
  }

  void write(RelationSchema relation, bool reverse, const OpenStream& open) {
    CscStats stats;
    context_.writer.stage(fmt::format("edges-{}", report_.size()), [&] {
      stats = build(relation, *open());
      add_columns(relation);
      NodeBits training(context_.prep.ledger);
      // Statistics of features are of the training edges.
      const SplitSpec* const split = reverse ? nullptr : draw_splits(relation, training);
      if (reverse) {
        if (types_are_labels()) types_as_labels(relation);
        share_features(relation);
      } else {
        add_rows(relation, stats.edges_read, split, training);
      }
      context_.writer.schema().relations.push_back(relation);
    });
    const RelationSchema& written = context_.writer.schema().relations.back();
    stats.edges_written = written.edges;  // of a stage taken over no more is known
    report_.push_back({written.key(), stats});
  }

  CscStats build(RelationSchema& relation, EdgeStream& edges) {
    return build_csc(context_.writer,
                     relation,
                     *context_.node(relation.source).ids.count(),
                     *context_.node(relation.target).ids.count(),
                     edges,
                     spec_.csc,
                     context_.prep.arena,
                     context_.prep.progress);
  }

  // What stands beside the neighbours.
  void add_columns(RelationSchema& relation) {
    const auto column =
        [&](const std::optional<ScratchBytes>& values, std::size_t width, const char* file) {
          if (!values) return false;
          const std::string path = relation_path(relation, file);
          (void)write_edge_column(context_.writer, relation, *values, width, path, context_.prep);
          return true;
        };
    if (!table_) return;
    relation.has_times = column(table_->times, sizeof(std::int64_t), "times.bin");
    relation.has_weights = column(table_->weights, sizeof(float), "weights.bin");
  }

  bool types_are_labels() const {
    return table_ && table_->types && spec_.types == EdgeTypes::kLabels;
  }

  // An edge has the same features in either direction, and the reverse has the same edge ids: one
  // table is both relations'.
  void share_features(RelationSchema& reverse) {
    if (!spec_.has_features()) return;
    const RelationSchema forward = relation_of(spec_.relation, false);
    const RelationSchema& written = *context_.writer.schema().relation(forward.key());
    for (const FeatureSchema& table : written.features) {
      context_.writer.share(relation_path(written, table.name + ".bin"),
                            relation_path(reverse, table.name + ".bin"));
      reverse.features.push_back(table);
    }
  }

  // What is kept by edge id. Of the reverse, whose ids are the same, features and types: labels of
  // other kinds are of the edge as it stands.
  void add_rows(RelationSchema& relation,
                std::uint64_t edges_read,
                const SplitSpec* split,
                const NodeBits& training) {
    const std::uint64_t rows = table_ ? table_->rows : edges_read;
    RowTarget target;
    if (split != nullptr) {
      target.training = &training;
      target.training_name = fmt::format("the train part of split '{}'", split->name);
    }
    target.owner = relation.key();
    target.check_rows = [&](std::uint64_t count, const Place& place) {
      if (count == rows) return;
      throw Error(ErrorCode::kData,
                  fmt::format("{} rows for {} edges of relation '{}'",
                              format_count(count),
                              format_count(rows),
                              relation.key()),
                  "every edge needs exactly one row, in the order of the edges",
                  place);
    };
    const auto entries_of = [&](const std::string& file) {
      return file == spec_.file ? SparseEntries::kAllow : SparseEntries::kRefuse;
    };
    if (spec_.has_features()) {
      target.entries = entries_of(spec_.features.file);
      target.path = relation_path(relation, "features.bin");
      relation.features.push_back(import_feature_table(context_, spec_.features, target));
    }
    target.path = relation_path(relation, "labels.bin");
    target.entries = entries_of(spec_.labels.file);
    if (spec_.has_labels())
      relation.labels = import_label_table(context_, spec_.labels, target, nullptr);
    if (types_are_labels()) types_as_labels(relation);
  }

  /// @param training out: the training edges of the split that is returned, 'default' or the first;
  /// null: there is none, or nobody asks
  const SplitSpec* draw_splits(const RelationSchema& relation, NodeBits& training) {
    std::vector<const SplitSpec*> own;
    for (const SplitSpec& split : context_.spec.splits)
      if (split.of == SplitOf::kEdges && split.by_ratio() &&
          &edges_of_split(context_.spec, split) == &spec_)
        own.push_back(&split);
    const SplitSpec* counted = nullptr;
    if (spec_.has_features() && spec_.features.scaling.needs_statistics())
      for (const SplitSpec* const split : own)
        if (counted == nullptr || split->name == SplitSpec().name) counted = split;
    for (const SplitSpec* const split : own)
      draw_edge_split(
          context_, *split, relation, table_.get(), split == counted ? &training : nullptr);
    return counted;
  }

  void types_as_labels(RelationSchema& relation) {
    auto file = context_.writer.create(relation_path(relation, "labels.bin"));
    std::vector<std::int64_t> codes;
    std::vector<std::int32_t> labels;
    for (std::uint64_t first = 0; first < table_->rows; first += codes.size()) {
      codes.resize(std::min<std::uint64_t>(1 << 16, table_->rows - first));
      table_->types->read_values(first, std::span(codes));
      labels.assign(codes.begin(), codes.end());
      file->append_values(std::span<const std::int32_t>(labels));
    }
    context_.writer.add(std::move(file));
    relation.labels = LabelSchema{LabelKind::kClass,
                                  static_cast<std::uint32_t>(table_->type_names.size()),
                                  table_->type_names};
  }

  ImportContext& context_;
  const EdgeSpec& spec_;
  std::unique_ptr<SpooledTable> table_;
  std::vector<RelationImport>& report_;
};

}  // namespace

void import_relations(ImportContext& context,
                      const EdgeSpec& spec,
                      std::unique_ptr<SpooledTable> table,
                      std::vector<RelationImport>& report) {
  Relations(context, spec, std::move(table), report).run();
}

}  // namespace sluice
