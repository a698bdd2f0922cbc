#include "prep/update/append.h"

#include "core/interrupt.h"
#include "prep/import/import_context.h"
#include "prep/import/input_check.h"
#include "prep/import/odd_ids.h"
#include "prep/import/settle_places.h"
#include "prep/update/append_nodes.h"
#include "prep/update/generation.h"
#include "prep/update/new_edges.h"
#include "prep/update/timed_edges.h"
#include "storage/format/appended_edges.h"
#include "storage/format/relation_lists.h"

#include <sluice/catalog.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

namespace sluice {
namespace {

const RelationSchema& relation_of(const Manifest& manifest, const EdgeSpec& edge) {
  const std::string key = edge.source + "__" + edge.relation + "__" + edge.target;
  if (const RelationSchema* found = manifest.schema.relation(key)) return *found;
  throw Error(ErrorCode::kUsage,
              fmt::format("the dataset has no relation '{}'", key),
              "sluice-prep inspect shows its relations");
}

void check_times(const RelationSchema& relation, const EdgeSpec& edge) {
  if (relation.has_times && edge.time_column.empty()) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("edges of relation '{}' have times, and these have none", relation.key()),
        "name their column: [[edges]] time_column");
  }
  if (!relation.has_times && !edge.time_column.empty()) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("edges of relation '{}' have no times, and these have some", relation.key()),
        "leave time_column out, or import the dataset again");
  }
  if (relation.has_times && !relation.has_edge_ids) {
    throw Error(ErrorCode::kUsage,
                fmt::format("relation '{}' has times and stores no edge ids, which are positions "
                            "then and would change",
                            relation.key()),
                "import it with edge_ids = true");
  }
}

void check_relation(const RelationSchema& relation, const GraphSchema& schema) {
  const std::string what = relation.has_weights         ? "weights"
                           : !relation.features.empty() ? "features"
                           : relation.labels            ? "labels"
                           : schema.graphs              ? "graphs of their own"
                                                        : "";
  if (what.empty()) return;
  throw Error(
      ErrorCode::kUsage,
      fmt::format(
          "edges of relation '{}' have {}: append does not know them", relation.key(), what),
      "import the dataset again");
}

void check_spec(const GraphSpec& spec) {
  for (const EdgeSpec& edge : spec.edges) {
    if (edge.has_features() || edge.has_labels() || !edge.weight_column.empty() ||
        !edge.type_column.empty() || !edge.reverse.empty())
      throw Error(
          ErrorCode::kUsage,
          "append takes edges and their times alone: weights, types, features, labels and reverse "
          "do not apply",
          "leave these keys out, or import the dataset again");
    if (edge.csc.self_loops == SelfLoops::kKeep && edge.csc.duplicates == Duplicates::kKeep)
      continue;
    throw Error(ErrorCode::kUsage,
                "append does with self loops and duplicates as the import did: self_loops and "
                "duplicates do not apply",
                "leave these keys out");
  }
}

// Node types and kinds of ids are the dataset's own, whatever the spec leaves out.
void take_types(GraphSpec& spec, const Manifest& manifest) {
  std::vector<NodeSpec> nodes;
  std::vector<std::string> known;
  for (const NodeTypeSchema& node : manifest.schema.nodes) {
    const auto given = std::ranges::find(spec.nodes, node.name, &NodeSpec::type);
    nodes.push_back(given == spec.nodes.end() ? NodeSpec() : *given);
    // Dense ids that begin elsewhere are kept as integers, and go by what they are.
    if (node.ids == IdKind::kDense && nodes.back().first_id != 0)
      throw Error(ErrorCode::kUsage,
                  fmt::format("[[nodes]] '{}': first_id = {}, and the dataset's ids begin with 0",
                              node.name,
                              nodes.back().first_id),
                  "leave first_id out, and count from 0 as the dataset does");
    nodes.back().type = node.name;
    nodes.back().ids = node.ids;
    known.push_back(node.name);
  }
  for (const NodeSpec& node : spec.nodes)
    if (std::ranges::count(known, node.type) == 0)
      throw unknown_name("node type", node.type, known);
  spec.nodes = std::move(nodes);
  spec.splits.clear();
  spec.graphs = {};
  complete_spec(spec, NoEdges::kAllow);
}

class Append {
 public:
  Append(NextGeneration& next,
         const TableFormats& formats,
         GraphSpec& spec,
         PrepContext& context,
         const std::filesystem::path& root)
      : next_(next),
        dataset_(next.open_old()),
        imports_{spec, formats, root, next.writer(), context, {}} {
    const GraphSchema& schema = next.old_manifest().schema;
    for (const NodeSpec& node : spec.nodes) {
      const NodeTypeSchema& there = *schema.node_type(node.type);
      NodeState state{node, NodeIds(node.type, {node.ids}, context.ledger), there, nullptr};
      state.ids.load(dataset_.ids(node.type), there.count);
      if (brings_nodes(node, there)) {
        earlier_.push_back(std::make_unique<DatasetNodes>(dataset_, there));
        state.earlier = earlier_.back().get();
      } else {
        state.ids.set_count(there.count, "the dataset", {});
      }
      imports_.nodes.emplace(node.type, std::move(state));
    }
  }

  /// The new nodes of all types. Returns how many came.
  std::uint64_t nodes() {
    std::uint64_t more = 0;
    for (const NodeTypeSchema& there : next_.old_manifest().schema.nodes) {
      NodeState& node = imports_.node(there.name);
      if (node.earlier == nullptr) {
        next_.keep_nodes(there);
      } else {
        more += append_nodes(imports_, node);
      }
      next_.writer().schema().nodes.push_back(node.schema);
    }
    return more;
  }

  /// All [[edges]] of the relation behind what its log has. Returns how many came.
  std::uint64_t relation(RelationSchema& relation) {
    std::vector<const EdgeSpec*> specs;
    for (const EdgeSpec& edge : imports_.spec.edges) {
      if (&relation_of(next_.old_manifest(), edge) ==
          next_.old_manifest().schema.relation(relation.key()))
        specs.push_back(&edge);
    }
    const std::string log_path = relation_path(relation, kAppendedName);
    std::vector<std::string> anew;
    extend_offsets(relation, ListsOf::kTargets, anew);
    if (relation.has_out_edges) extend_offsets(relation, ListsOf::kSources, anew);
    const std::string times_path = relation_path(relation, kAppendedTimesName);
    const std::uint64_t loops = new_loops(relation);
    if (!specs.empty() || loops != 0) anew.insert(anew.end(), {log_path, times_path});
    next_.keep_relation(relation, anew);
    if (specs.empty() && loops == 0) return 0;
    Log log{next_.writer().create(log_path), nullptr};
    if (relation.appended != 0) next_.copy_values(log_path, relation.appended * 3, *log.edges);
    if (relation.has_times) log.times = next_.writer().create(times_path);
    if (log.times && relation.appended != 0)
      next_.copy_values(times_path, relation.appended, *log.times);
    std::uint64_t id = relation.appended != 0  ? relation.appended_id_bound
                       : relation.has_edge_ids ? relation.edge_id_bound
                                               : relation.edges;
    const std::uint64_t before = relation.appended;
    if (!specs.empty()) say_reverse(relation);
    const std::unique_ptr<NewEdges> fresh = compare_edges(specs, relation);
    for (const EdgeSpec* spec : specs) append_file(*spec, relation, fresh.get(), log, id);
    add_loops(loops, relation, log, id);
    relation.appended_id_bound = id;
    next_.writer().add(std::move(log.edges));
    if (log.times) next_.writer().add(std::move(log.times));
    return relation.appended - before;
  }

 private:
  // A relation that looks like the same edges the other way round stays as it is.
  void say_reverse(const RelationSchema& relation) const {
    for (const RelationSchema& other : next_.old_manifest().schema.relations) {
      const bool turned = other.source == relation.target && other.target == relation.source &&
                          other.edges == relation.edges && other.edges != 0 &&
                          other.appended == relation.appended && other.key() != relation.key();
      if (!turned) continue;
      const bool given = std::ranges::any_of(imports_.spec.edges, [&](const EdgeSpec& edge) {
        return relation_of(next_.old_manifest(), edge).key() == other.key();
      });
      if (given) continue;
      imports_.prep.log.warn(
          "'{0}' has as many edges as '{1}', between the same types the other way round: if it is "
          "its reverse, append the edges to it as well, source_column and target_column exchanged",
          other.key(),
          relation.key());
    }
  }

  // Times far from those that are there are of another unit.
  void say_times(const EdgeSpec& spec,
                 const RelationSchema& relation,
                 std::int64_t least,
                 std::int64_t largest) const {
    constexpr std::uint64_t kLooked = 4096;
    constexpr double kFar = 500;  // thousandths of a second are a thousand of it
    const auto there =
        next_.first_values(relation_path(relation, "times.bin"), std::min(relation.edges, kLooked));
    if (there.empty() || least > largest) return;
    const auto [low, high] = std::ranges::minmax(there);
    const auto far = [](std::int64_t small, std::int64_t large) {
      return small > 0 && static_cast<double>(large) > kFar * static_cast<double>(small);
    };
    if (!far(high, least) && !far(largest, low)) return;
    imports_.prep.log.warn(
        "{}: its times are {} to {}, and those of the dataset are like {} to {}: are they in the "
        "same unit? time_unit and time_scale say it",
        spec.file,
        least,
        largest,
        low,
        high);
  }

  // Of a relation, on its way.
  struct Log {
    std::unique_ptr<DataFileWriter> edges;
    std::unique_ptr<DataFileWriter> times;  // null: it has none
  };

  // New nodes have no edges in the files that are there: where nodes are listed, these stay.
  void extend_offsets(const RelationSchema& relation,
                      ListsOf side,
                      std::vector<std::string>& anew) {
    const RelationLists lists = RelationLists::of(next_.old_manifest().schema, relation, side);
    const std::string& type = side == ListsOf::kTargets ? relation.target : relation.source;
    const std::uint64_t more = imports_.node(type).schema.count - lists.nodes;
    if (more == 0 || lists.are_listed()) return;
    anew.push_back(lists.offsets);
    auto file = next_.writer().create(lists.offsets);
    next_.copy_values(lists.offsets, lists.lists + 1, *file);
    const std::vector<std::uint64_t> ends(std::min<std::uint64_t>(more, 1 << 16), relation.edges);
    for (std::uint64_t left = more; left != 0;) {
      const std::uint64_t some = std::min<std::uint64_t>(left, ends.size());
      file->append_values(std::span(ends).first(some));
      left -= some;
    }
    next_.writer().add(std::move(file));
  }

  // How many nodes came to a relation in which each has an edge to itself.
  std::uint64_t new_loops(const RelationSchema& relation) {
    if (relation.self_loops != "add") return 0;
    return imports_.node(relation.target).schema.count -
           next_.old_manifest().schema.node_type(relation.target)->count;
  }

  void add_loops(std::uint64_t loops, RelationSchema& relation, Log& log, std::uint64_t& id) {
    const std::uint64_t nodes = imports_.node(relation.target).schema.count;
    for (std::uint64_t node = nodes - loops; node < nodes; ++node, ++id) {
      const AppendedEdge loop{node, node, id};
      log.edges->append_values(std::span(&loop, 1));
    }
    relation.appended += loops;
  }

  // Calls take(source, target, its place in the chunk) for each row that a chunk makes, and returns
  // how many self loops it left out.
  template <class Take>
  static std::uint64_t for_rows(const TimedEdges::Chunk& chunk,
                                const EdgeSpec& spec,
                                const RelationSchema& relation,
                                Take&& take) {
    std::uint64_t loops = 0;
    for (std::size_t i = 0; i < chunk.sources.size(); ++i) {
      const std::uint64_t source = chunk.sources[i], target = chunk.targets[i];
      const bool loop = relation.source == relation.target && source == target;
      if (loop && !relation.self_loops.empty()) {
        ++loops;
        continue;
      }
      take(source, target, i);
      if (spec.csc.undirected && source != target) take(target, source, i);
    }
    return loops;
  }

  // Null: the relation keeps duplicates.
  std::unique_ptr<NewEdges> compare_edges(const std::vector<const EdgeSpec*>& specs,
                                          const RelationSchema& relation) {
    if (relation.duplicates.empty() || specs.empty()) return nullptr;
    auto fresh = std::make_unique<NewEdges>(imports_.prep.ledger);
    for (const EdgeSpec* spec : specs) {
      TimedEdges edges(imports_, *spec);
      while (const auto chunk = edges.next()) {
        throw_if_interrupted();
        for_rows(*chunk, *spec, relation, [&](auto source, auto target, std::size_t) {
          fresh->add(source, target);
        });
      }
    }
    const auto there = next_.edges(relation);
    fresh->compare(*there);
    return fresh;
  }

  static void refuse_duplicate(const EdgeSpec& spec,
                               const RelationSchema& relation,
                               const AppendedEdge& edge) {
    if (relation.duplicates != "error") return;
    throw Error(ErrorCode::kData,
                fmt::format("relation '{}' would have the edge {} -> {} more than once",
                            relation.key(),
                            edge.source,
                            edge.target),
                "it was imported with duplicates = \"error\": take the edge out, or import all "
                "with \"drop\" or \"keep\"; the numbers are those of the dataset",
                Place{spec.file, -1, -1, -1});
  }

  void say_left_out(const EdgeSpec& spec,
                    const RelationSchema& relation,
                    std::uint64_t loops,
                    std::uint64_t duplicates) const {
    if (loops != 0)
      imports_.prep.log.warn(
          "{}: {} self loops are left out, as by the import, which had self_loops = \"{}\"",
          spec.file,
          loops,
          relation.self_loops);
    if (duplicates != 0)
      imports_.prep.log.warn(
          "{}: {} edges that are there, or came before, are left out, as by the import, which had "
          "duplicates = \"drop\"",
          spec.file,
          duplicates);
  }

  void append_file(const EdgeSpec& spec,
                   RelationSchema& relation,
                   NewEdges* fresh,
                   Log& log,
                   std::uint64_t& id) {
    say_header_ids(imports_, spec);
    if (!spec.csc.undirected && next_.stands_both_ways(relation))
      imports_.prep.log.warn(
          "{}: edges of '{}' stand both ways, and these are added as they are: if each stands once "
          "for both directions, say undirected = true",
          spec.file,
          relation.key());
    const bool one_type = relation.source == relation.target;
    if (spec.csc.undirected && !one_type) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("relation '{}' joins two node types: undirected does not apply",
                              relation.key()),
                  "append the reverse to a relation of its own");
    }
    std::vector<AppendedEdge> rows;
    std::vector<std::int64_t> times;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t largest = std::numeric_limits<std::int64_t>::min();
    std::uint64_t loops = 0, duplicates = 0;
    TimedEdges edges(imports_, spec);
    while (const auto chunk = edges.next()) {
      throw_if_interrupted();
      rows.clear();
      times.clear();
      loops += for_rows(
          *chunk, spec, relation, [&](std::uint64_t source, std::uint64_t target, std::size_t i) {
            const AppendedEdge edge{source, target, id + i};
            if (fresh != nullptr && !fresh->next_is_new()) {
              refuse_duplicate(spec, relation, edge);
              ++duplicates;
              return;
            }
            rows.push_back(edge);
            if (log.times) times.push_back(chunk->times[i]);
          });
      id += chunk->sources.size();
      for (const std::int64_t time : times) {
        least = std::min(least, time);
        largest = std::max(largest, time);
      }
      log.edges->append_values(std::span<const AppendedEdge>(rows));
      if (log.times) log.times->append_values(std::span<const std::int64_t>(times));
      relation.appended += rows.size();
    }
    for (const std::string& remark : edges.remarks())
      imports_.prep.log.warn("{}: {}", spec.file, remark);
    if (log.times) say_times(spec, relation, least, largest);
    say_left_out(spec, relation, loops, duplicates);
  }

  NextGeneration& next_;
  Dataset dataset_;
  std::vector<std::unique_ptr<DatasetNodes>> earlier_;
  ImportContext imports_;
};

}  // namespace

UpdateReport append_to_dataset(const std::filesystem::path& dataset,
                               GraphSpec spec,
                               const TableFormats& formats,
                               const std::filesystem::path& root,
                               const std::string& created_by,
                               PrepContext& context) {
  check_spec(spec);
  NextGeneration next(dataset, context);
  take_types(spec, next.old_manifest());
  check_contents(spec, formats, root, context);
  settle_places(spec, formats, root, context);
  for (const EdgeSpec& edge : spec.edges) {
    const RelationSchema& relation = relation_of(next.old_manifest(), edge);
    check_relation(relation, next.old_manifest().schema);
    check_times(relation, edge);
  }
  next.keep_splits();
  UpdateReport report;
  Append append(next, formats, spec, context, root);
  report.nodes = append.nodes();
  if (report.nodes == 0 && spec.edges.empty())
    throw Error(ErrorCode::kUsage, "there is nothing to append", "give [[nodes]] or [[edges]]");
  for (RelationSchema relation : next.old_manifest().schema.relations) {
    report.edges += append.relation(relation);
    next.writer().schema().relations.push_back(std::move(relation));
  }
  next.commit(created_by, report);
  return report;
}

}  // namespace sluice
