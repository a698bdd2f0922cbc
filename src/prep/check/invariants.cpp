#include "prep/check/invariants.h"

#include "prep/check/file_check.h"
#include "prep/dataset_edges.h"
#include "storage/format/appended_edges.h"
#include "storage/format/data_file.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

namespace sluice {
namespace {

std::vector<std::pair<const char*, std::uint64_t>> sizes_of(const auto& split) {
  return {{"train", split.train}, {"valid", split.valid}, {"test", split.test}};
}

class Checker {
 public:
  Checker(const std::filesystem::path& root, const Manifest& manifest, MemoryLedger& ledger)
      : root_(root), manifest_(manifest), ledger_(ledger), files_(root, manifest, ledger) {}

  std::vector<std::string> run() {
    const GraphSchema& schema = manifest_.schema;
    for (const NodeTypeSchema& node : schema.nodes) check_node_type(node);
    for (const RelationSchema& relation : schema.relations) check_relation(relation);
    for (const SplitSchema& split : schema.splits) check_split(split);
    for (const EdgeSplitSchema& split : schema.edge_splits) check_edge_split(split);
    if (schema.graphs) check_graphs(*schema.graphs);
    return files_.take_problems();
  }

 private:
  void check_node_type(const NodeTypeSchema& node) {
    files_.features(node.features, node.count, node_path(node.name, ""));
    files_.labels(node.labels, node.count, node_path(node.name, "labels.bin"), "node");
    if (node.has_times) check_values<std::int64_t>(node_path(node.name, "times.bin"), node.count);
    if (node.ids == IdKind::kString)
      files_.ascending(node_path(node.name, "ids.offsets.bin"), node.count);
  }

  template <class T>
  void check_values(const std::string& path, std::uint64_t count) {
    files_.stream<T>(path, count, [](std::uint64_t, T) { return std::string(); });
  }

  void check_relation(const RelationSchema& relation) {
    check_direction(relation, ListsOf::kTargets);
    if (relation.has_out_edges) check_direction(relation, ListsOf::kSources);
    if (relation.has_times) check_times(relation);
    if (relation.has_weights) {
      files_.stream<float>(
          relation_path(relation, "weights.bin"),
          relation.edges,
          [](std::uint64_t i, float weight) {
            return weight >= 0 && std::isfinite(weight)
                       ? std::string()
                       : fmt::format(
                             "weight {} is {}: weights are finite and not negative", i, weight);
          });
    }
    files_.features(relation.features, relation.edge_id_bound, relation_path(relation, ""));
    files_.labels(
        relation.labels, relation.edge_id_bound, relation_path(relation, "labels.bin"), "edge");
    if (relation.appended == 0) return;
    auto log = load_appended(root_, manifest_, relation, {&ledger_, Verify::kOff});
    if (!log) files_.report(relation_path(relation, kAppendedName), log.error().message());
    if (relation.has_times)
      check_values<std::int64_t>(relation_path(relation, kAppendedTimesName), relation.appended);
  }

  // Times ascend in each node's list.
  void check_times(const RelationSchema& relation) {
    const RelationLists lists = RelationLists::of(manifest_.schema, relation, ListsOf::kTargets);
    if (!find_file(root_, manifest_, lists.offsets)) return;  // that was said
    if (lists.are_listed() && !files_.sound()) return;        // so was that, if it is of the list
    ListCursor cursor(root_, manifest_, lists, &ledger_);
    std::uint64_t end = cursor.end();
    const auto next_end = [&] {
      const auto list = cursor.next();
      return list ? list->end : std::numeric_limits<std::uint64_t>::max();
    };
    std::int64_t last = 0;
    files_.stream<std::int64_t>(
        relation_path(relation, "times.bin"),
        relation.edges,
        [&](std::uint64_t i, std::int64_t time) {
          const bool begins = i == end;
          while (i >= end) end = next_end();
          const bool sound = begins || time >= last;
          const std::string wrong =
              sound ? std::string()
                    : fmt::format("time {} is {} after {}: they ascend in a list", i, time, last);
          last = time;
          return wrong;
        });
  }

  void check_direction(const RelationSchema& relation, ListsOf side) {
    const RelationLists lists = RelationLists::of(manifest_.schema, relation, side);
    const std::uint64_t neighbours = lists.neighbour_nodes;
    const std::uint64_t end = files_.ascending(lists.offsets, lists.lists);
    if (end != relation.edges)
      files_.report(lists.offsets,
                    fmt::format("they end at {}, not at {} edges", end, relation.edges));
    if (lists.are_listed()) check_listed(lists);
    const auto below = [](const char* what, std::uint64_t bound, const char* of) {
      return [=](std::uint64_t i, std::uint64_t id) {
        return id < bound ? std::string()
                          : fmt::format("{} {} is {}, not below {}{}", what, i, id, bound, of);
      };
    };
    files_.stream_ids(lists.neighbours,
                      node_id_dtype(neighbours),
                      relation.edges,
                      below("neighbour", neighbours, " nodes"));
    if (!relation.has_edge_ids) return;
    const char* const ids = side == ListsOf::kTargets ? "edge_ids.bin" : "out_edge_ids.bin";
    files_.stream_ids(relation_path(relation, ids),
                      relation.edge_id_dtype(),
                      relation.edges,
                      below("edge id", relation.edge_id_bound, ""));
  }

  // Listed nodes ascend, below the count.
  void check_listed(const RelationLists& lists) {
    std::uint64_t least = 0;
    files_.stream_ids(
        lists.listed, lists.node_dtype(), lists.lists, [&](std::uint64_t i, std::uint64_t node) {
          const bool sound = node >= least && node < lists.nodes;
          least = node + 1;
          return sound ? std::string()
                       : fmt::format("listed node {} is {}: they ascend, below {} nodes",
                                     i,
                                     node,
                                     lists.nodes);
        });
  }

  void check_split(const SplitSchema& split) {
    const NodeTypeSchema* node = manifest_.schema.node_type(split.node_type);
    if (node == nullptr)
      return files_.report("splits/" + split.name, "it names an unknown node type");
    files_.parts(split.name, sizes_of(split), "node", node->count);
  }

  void check_edge_split(const EdgeSplitSchema& split) {
    if (split.relation.empty()) return check_edge_rows(split);
    const RelationSchema* relation = manifest_.schema.relation(split.relation);
    if (relation == nullptr)
      return files_.report("splits/" + split.name, "it names an unknown relation");
    files_.parts(split.name, sizes_of(split), "edge id", relation->edge_id_bound);
  }

  void check_edge_rows(const EdgeSplitSchema& split) {
    constexpr std::uint64_t kWords = sizeof(EdgeSplit::Row) / sizeof(std::uint64_t);
    const auto& relations = manifest_.schema.relations;
    for (const auto& [part, count] : sizes_of(split)) {
      EdgeSplit::Row row{};
      const auto wrong_with = [&](std::uint64_t i) -> std::string {
        if (row.relation >= relations.size())
          return fmt::format("row {} names relation {} of {}", i, row.relation, relations.size());
        const RelationSchema& relation = relations[row.relation];
        const std::uint64_t types = relation.labels ? relation.labels->width : 1;
        if (row.source >= manifest_.schema.node_type(relation.source)->count ||
            row.target >= manifest_.schema.node_type(relation.target)->count ||
            row.type >= std::max<std::uint64_t>(types, 1) || row.label > 1)
          return fmt::format("row {} is no edge of relation '{}'", i, relation.key());
        return {};
      };
      files_.stream<std::uint64_t>(
          split_path(split.name, part), count * kWords, [&](std::uint64_t i, std::uint64_t word) {
            std::memcpy(
                reinterpret_cast<std::byte*>(&row) + i % kWords * sizeof word, &word, sizeof word);
            return i % kWords + 1 == kWords ? wrong_with(i / kWords) : std::string();
          });
    }
  }

  void check_graphs(const GraphCollectionSchema& graphs) {
    const std::uint64_t nodes = manifest_.schema.node_type(graphs.node_type)->count;
    const std::uint64_t end = files_.ascending("graphs/offsets.bin", graphs.count);
    if (end != nodes)
      files_.report("graphs/offsets.bin",
                    fmt::format("they end at {}, not at {} nodes", end, nodes));
    files_.labels(graphs.labels, graphs.count, "graphs/labels.bin", "graph");
    for (const SplitSchema& split : graphs.splits)
      files_.parts(split.name, sizes_of(split), "graph", graphs.count);
    for (const RelationSchema& relation : manifest_.schema.relations) {
      const bool inside =
          relation.source == graphs.node_type && relation.target == graphs.node_type;
      if (inside && files_.sound()) check_inside(graphs, relation);
    }
  }

  // No edge joins two graphs. @pre the files are sound so far
  void check_inside(const GraphCollectionSchema& graphs, const RelationSchema& relation) {
    auto entry = find_file(root_, manifest_, "graphs/offsets.bin");
    ValueCursor offsets(
        root_, std::move(entry).or_throw(), DType::kU64, graphs.count + 1, &ledger_);
    DatasetEdges edges(root_, manifest_, relation, {}, &ledger_);
    std::uint64_t first = 0, end = 0;  // nodes of the graph that the target is in
    while (const auto view = edges.next()) {
      const auto& span = std::get<EdgeSpan<std::uint64_t>>(*view);
      for (std::size_t i = 0; i < span.count; ++i) {
        while (span.target[i] >= end) first = std::exchange(end, offsets.next().value_or(~0ull));
        if (span.source[i] >= first && span.source[i] < end) continue;
        return files_.report(
            relation_path(relation, "neighbours.bin"),
            fmt::format(
                "the edge from node {} to {} joins two graphs", span.source[i], span.target[i]));
      }
    }
  }

  const std::filesystem::path& root_;
  const Manifest& manifest_;
  MemoryLedger& ledger_;
  FileCheck files_;
};

}  // namespace

std::vector<std::string> check_invariants(const std::filesystem::path& root,
                                          const Manifest& manifest,
                                          MemoryLedger& ledger) {
  return Checker(root, manifest, ledger).run();
}

}  // namespace sluice
