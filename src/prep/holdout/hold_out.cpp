#include "prep/holdout/hold_out.h"

#include "prep/csc_builder.h"
#include "prep/dataset_edges.h"
#include "prep/holdout/node_pairs.h"
#include "prep/holdout/pair_files.h"
#include "storage/format/dataset_writer.h"

#include <sluice/dataset.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice {
namespace {

// How a relation's edges stand for pairs.
enum class Direction { kAsStored, kReversed };

// Calls visit(source, target, id) for each edge of a view; the id is 0 where it has none.
template <class Visit>
void for_each_edge(const EdgeView& view, const Visit& visit) {
  std::visit(
      [&visit](const auto& span) {
        for (std::size_t i = 0; i < span.count; ++i)
          visit(std::uint64_t{span.source[i * span.stride]},
                std::uint64_t{span.target[i * span.stride]},
                span.ids == nullptr ? 0 : span.ids[i]);
      },
      view);
}

NodePair pair_of(const NodePairParts& parts,
                 Direction direction,
                 std::uint64_t source,
                 std::uint64_t target) {
  return direction == Direction::kAsStored ? parts.pair(source, target)
                                           : parts.pair(target, source);
}

// The edges of a stream that are trained on.
class TrainingEdges final : public EdgeStream {
 public:
  TrainingEdges(DatasetEdges& edges, const NodePairParts& parts, Direction direction)
      : edges_(edges), parts_(parts), direction_(direction) {}

  std::optional<EdgeView> next() override {
    while (const auto view = edges_.next()) {
      kept_.resize(0);
      ids_.clear();
      for_each_edge(*view, [this](std::uint64_t source, std::uint64_t target, std::uint64_t id) {
        if (parts_.of(pair_of(parts_, direction_, source, target)) != PairPart::kTrain) {
          ++removed_;
          return;
        }
        kept_.source.push_back(source);
        kept_.target.push_back(target);
        ids_.push_back(id);
      });
      if (kept_.size() == 0) continue;
      EdgeSpan<std::uint64_t> span{kept_.source.data(), kept_.target.data(), kept_.size()};
      if (edges_.id_bound()) span.ids = ids_.data();
      return span;
    }
    return std::nullopt;
  }
  std::optional<std::uint64_t> id_bound() const override { return edges_.id_bound(); }
  std::uint64_t removed() const { return removed_; }

 private:
  DatasetEdges& edges_;
  const NodePairParts& parts_;
  Direction direction_;
  EdgeChunk<std::uint64_t> kept_;
  std::vector<std::uint64_t> ids_;
  std::uint64_t removed_ = 0;
};

[[noreturn]] void refuse_hold_out(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kUsage, what, hint);
}

// What is not carried over is refused, not dropped.
void check_relation(const RelationSchema& relation) {
  const auto lacks = [&](bool has, const char* what, const char* hint) {
    if (has)
      refuse_hold_out(
          fmt::format("relation '{}' has {}: hold-out does not carry those", relation.key(), what),
          hint);
  };
  lacks(relation.has_times, "times", "evaluate links by time instead: docs/temporal.md");
  lacks(relation.has_weights, "weights", "import it without weights");
  lacks(!relation.features.empty(), "features", "import it without features of edges");
  lacks(relation.labels.has_value(), "labels", "use [[splits]] of the import instead");
  lacks(relation.appended != 0, "appended edges", "run sluice-prep compact first");
}

void check_shares(const HoldOutOptions& options) {
  if (options.valid >= 0 && options.test > 0 && options.valid + options.test < 1) return;
  refuse_hold_out(fmt::format("shares of {} to validate and {} to test by leave nothing to do",
                              options.valid,
                              options.test),
                  "for example --valid 0.05 --test 0.1");
}

class HoldOut {
 public:
  HoldOut(const HoldOutOptions& options, PrepContext& context)
      : options_(options),
        context_(context),
        manifest_(Manifest::load(options.dataset).or_throw()),
        relation_(find(options.relation)),
        reverse_(options.reverse.empty() ? nullptr : &find(options.reverse)),
        parts_(relation_.source == relation_.target ? PairEnds::kOneType : PairEnds::kTwoTypes,
               options.valid,
               options.test,
               RandomKey(options.seed).with("hold out")),
        valid_(context.ledger),
        test_(context.ledger) {
    check_shares(options);
    check_schema();
  }

  HoldOutReport run() {
    warn_of_tables();
    choose();
    look_for_reverses();
    DatasetWriter writer(options_.out, options_.overwrite, &context_.ledger);
    for (const std::string& leftover : writer.staging().swept())
      context_.log.warn("removed what an interrupted run had left: {}", leftover);
    writer.schema() = manifest_.schema;
    adopt_others(writer);
    write_relation(writer, relation_, Direction::kAsStored);
    if (reverse_ != nullptr) write_relation(writer, *reverse_, Direction::kReversed);
    write_pairs(writer);
    report_.schema = writer.schema();
    report_.relation = relation_.key();
    report_.bytes = writer.bytes();
    writer.commit(options_.created_by);
    return std::move(report_);
  }

 private:
  const RelationSchema& find(const std::string& key) const {
    const auto& relations = manifest_.schema.relations;
    if (key.empty() && relations.size() == 1) return relations.front();
    const auto found = std::ranges::find_if(relations, [&](const RelationSchema& relation) {
      return relation.key() == key || relation.name == key;
    });
    if (found != relations.end()) return *found;
    refuse_hold_out(key.empty() ? fmt::format("the dataset has {} relations", relations.size())
                                : fmt::format("the dataset has no relation '{}'", key),
                    "choose one by --relation; sluice-prep inspect shows them");
  }

  void check_schema() const {
    check_relation(relation_);
    if (reverse_ != nullptr) {
      check_relation(*reverse_);
      if (reverse_ == &relation_ || reverse_->source != relation_.target ||
          reverse_->target != relation_.source)
        refuse_hold_out(
            fmt::format(
                "relation '{}' is not '{}' the other way round", reverse_->key(), relation_.key()),
            "leave --reverse out, or name another relation");
    }
    if (const std::string problem = name_problem(options_.split); !problem.empty())
      refuse_hold_out(fmt::format("--split '{}' {}", options_.split, problem),
                      "for example --split links");
    const GraphSchema& schema = manifest_.schema;
    if (schema.graphs)
      refuse_hold_out("the dataset has many graphs", "links are held out of one graph");
    if (schema.partitions)
      refuse_hold_out("the dataset is partitioned", "hold links out first, then partition");
    for (const EdgeSplitSchema& split : schema.edge_splits)
      if (split.name == options_.split || !split.relation.empty())
        refuse_hold_out(fmt::format("the dataset has the split of edges '{}' already", split.name),
                        "begin from a dataset without it, or name another --split");
    if (schema.split(options_.split) != nullptr)
      refuse_hold_out(fmt::format("the dataset has a split '{}' already", options_.split),
                      "name another: --split NAME");
  }

  // A product of edges and features knows the links that are held out, and no schema says which
  // tables are products.
  void warn_of_tables() const {
    for (const NodeTypeSchema& node : manifest_.schema.nodes)
      for (const FeatureSchema& table : node.features)
        if (table.name != "features")
          context_.log.warn(
              "feature table '{}' of node type '{}' stays as it is: where sluice-prep propagate "
              "made it, it tells of the held-out links; hold links out first, then propagate",
              table.name,
              node.name);
  }

  DatasetEdges edges_of(const RelationSchema& relation) const {
    return {options_.dataset, manifest_, relation, {}, &context_.ledger};
  }

  void pass(const RelationSchema& relation,
            Direction direction,
            const std::function<void(const NodePair&)>& visit) const {
    DatasetEdges edges = edges_of(relation);
    while (const auto view = edges.next())
      for_each_edge(*view, [&](std::uint64_t source, std::uint64_t target, std::uint64_t) {
        visit(pair_of(parts_, direction, source, target));
      });
  }

  void all_edges(const std::function<void(const NodePair&)>& visit) const {
    pass(relation_, Direction::kAsStored, visit);
    if (reverse_ != nullptr) pass(*reverse_, Direction::kReversed, visit);
  }

  void choose() {
    all_edges([this](const NodePair& pair) {
      const PairPart part = parts_.of(pair);
      if (part == PairPart::kValid) valid_.add(pair);
      if (part == PairPart::kTest) test_.add(pair);
    });
    valid_.sort_and_drop_repeats();
    test_.sort_and_drop_repeats();
    report_.valid = valid_.all().size();
    report_.test = test_.all().size();
    if ((options_.valid > 0 && report_.valid == 0) || report_.test == 0)
      throw Error(ErrorCode::kData,
                  fmt::format("shares of {} and {} leave {} pairs to validate and {} to test by",
                              options_.valid,
                              options_.test,
                              report_.valid,
                              report_.test),
                  "raise --valid or --test: the graph has few edges",
                  Place{options_.dataset.string(), -1, -1, -1});
  }

  // A relation that nobody named and that holds the same edges the other way round would show all
  // that is held out.
  void look_for_reverses() const {
    const std::uint64_t all = report_.valid + report_.test;
    for (const RelationSchema& other : manifest_.schema.relations) {
      if (&other == &relation_ || &other == reverse_ || other.source != relation_.target ||
          other.target != relation_.source)
        continue;
      const std::uint64_t shown = held_out_in(other);
      if (shown == all && other.edges == relation_.edges)
        refuse_hold_out(
            fmt::format("relation '{}' holds the edges of '{}' the other way round, and would show "
                        "what is held out",
                        other.key(),
                        relation_.key()),
            reverse_ == nullptr ? fmt::format("say --reverse {}: they go from it too", other.key())
                                : "import the graph without it: one reverse is enough");
      if (2 * shown > all)
        context_.log.warn(
            "relation '{}' holds {} of the {} held-out pairs too, and shows them: where it is the "
            "other way round of '{}', say --reverse",
            other.key(),
            shown,
            all,
            relation_.key());
    }
  }

  // How many of the pairs are in another relation, the other way round.
  std::uint64_t held_out_in(const RelationSchema& other) const {
    const std::uint64_t all = report_.valid + report_.test;
    const Charge charge = context_.ledger.charge("held-out pairs", all / 8 + 8).or_throw();
    std::vector<bool> shown(all, false);
    const auto mark = [&shown](const ChargedPairs& pairs, std::uint64_t begin, const NodePair& of) {
      const auto found = std::ranges::lower_bound(pairs.all(), of);
      if (found != pairs.all().end() && *found == of)
        shown[begin + static_cast<std::uint64_t>(found - pairs.all().begin())] = true;
    };
    pass(other, Direction::kReversed, [&](const NodePair& pair) {
      mark(valid_, 0, pair);
      mark(test_, report_.valid, pair);
    });
    return static_cast<std::uint64_t>(std::ranges::count(shown, true));
  }

  void adopt_others(DatasetWriter& writer) const {
    const std::string own = relation_path(relation_, "");
    const std::string others = reverse_ == nullptr ? own : relation_path(*reverse_, "");
    for (const auto& [path, entry] : manifest_.files)
      if (!path.starts_with(own) && !path.starts_with(others))
        writer.adopt(options_.dataset, entry);
  }

  void write_relation(DatasetWriter& writer, const RelationSchema& relation, Direction direction) {
    DatasetEdges edges = edges_of(relation);
    TrainingEdges training(edges, parts_, direction);
    RelationSchema after{
        .source = relation.source, .name = relation.name, .target = relation.target};
    after.title = relation.title;
    after.self_loops = relation.self_loops;
    after.duplicates = relation.duplicates;
    CscOptions csc;
    csc.edge_ids = relation.has_edge_ids;
    csc.out_edges = relation.has_out_edges;
    build_csc(writer,
              after,
              manifest_.schema.node_type(relation.source)->count,
              manifest_.schema.node_type(relation.target)->count,
              training,
              csc,
              context_.arena,
              context_.progress);
    report_.removed += training.removed();
    check_clean(writer, after, direction);
    const auto place = &relation - manifest_.schema.relations.data();
    writer.schema().relations[static_cast<std::size_t>(place)] = after;
  }

  // What was written is read again: no held-out pair is there.
  void check_clean(const DatasetWriter& writer,
                   const RelationSchema& written,
                   Direction direction) const {
    const std::filesystem::path& root = writer.staging().path();
    const RelationLists lists = RelationLists::of(manifest_.schema, written, ListsOf::kTargets);
    const auto entry = [&](const std::string& path) { return writer.entry(path); };
    ListCursor cursor(root, lists, entry, &context_.ledger);
    ValueCursor neighbours(root,
                           writer.entry(lists.neighbours),
                           node_id_dtype(lists.neighbour_nodes),
                           written.edges,
                           &context_.ledger);
    while (const auto list = cursor.next()) {
      for (std::uint64_t at = list->begin; at < list->end; ++at) {
        const NodePair pair = pair_of(parts_, direction, neighbours.next().value_or(0), list->node);
        if (valid_.has(pair) || test_.has(pair))
          throw Error(ErrorCode::kInternal,
                      fmt::format("edge ({}, {}) was held out and is in relation '{}' still",
                                  pair.first,
                                  pair.second,
                                  written.key()),
                      "report this, with the command");
      }
    }
  }

  void write_pairs(DatasetWriter& writer) {
    const NodeCounts nodes{manifest_.schema.node_type(relation_.source)->count,
                           manifest_.schema.node_type(relation_.target)->count};
    const std::vector<NodePair> others = draw_pairs_without_edges(
        parts_,
        nodes,
        report_.valid + report_.test,
        RandomKey(options_.seed).with("pairs without edges"),
        [this](const std::function<void(const NodePair&)>& visit) { all_edges(visit); },
        context_.ledger);
    const std::span<const NodePair> drawn(others);
    if (!options_.pairs.empty()) write_files(drawn);
    write_part(writer, "train", {}, {});
    write_part(writer, "valid", valid_.all(), drawn.first(report_.valid));
    write_part(writer, "test", test_.all(), drawn.subspan(report_.valid));
    writer.schema().edge_splits.push_back(
        {options_.split, {}, 0, 2 * report_.valid, 2 * report_.test});
  }

  void write_files(std::span<const NodePair> others) const {
    const Dataset dataset = Dataset::open(options_.dataset.string(), {.ledger = &context_.ledger});
    const ExternalIds source = dataset.ids(relation_.source);
    const ExternalIds target = dataset.ids(relation_.target);
    const PairIds ids{source, target};
    write_pair_file(options_.pairs / "valid.csv", ids, valid_.all(), others.first(report_.valid));
    write_pair_file(options_.pairs / "test.csv", ids, test_.all(), others.subspan(report_.valid));
  }

  void write_part(DatasetWriter& writer,
                  const char* part,
                  std::span<const NodePair> links,
                  std::span<const NodePair> others) const {
    const auto place = static_cast<std::uint64_t>(&relation_ - manifest_.schema.relations.data());
    auto file = writer.create(split_path(options_.split, part));
    const auto write = [&](std::span<const NodePair> pairs, std::uint64_t label) {
      for (const auto& [source, target] : pairs) {
        const EdgeSplit::Row row{place, 0, source, target, label};
        file->append_values(std::span<const EdgeSplit::Row>(&row, 1));
      }
    };
    write(links, 1);
    write(others, 0);
    writer.add(std::move(file));
  }

  const HoldOutOptions& options_;
  PrepContext& context_;
  Manifest manifest_;
  const RelationSchema& relation_;
  const RelationSchema* reverse_;
  NodePairParts parts_;
  ChargedPairs valid_, test_;
  HoldOutReport report_;
};

}  // namespace

HoldOutReport hold_out_links(const HoldOutOptions& options, PrepContext& context) {
  return HoldOut(options, context).run();
}

}  // namespace sluice
