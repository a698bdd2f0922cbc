#include "probe/probe_run.h"

#include "core/interrupt.h"
#include "probe/embedding_file.h"
#include "probe/floors.h"
#include "probe/link_pairs.h"
#include "probe/node_data.h"
#include "storage/format/layout.h"
#include "storage/format/relation_lists.h"

#include <sluice/error.h>
#include <sluice/nn/ledger_allocator.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>

namespace sluice::probe {
namespace {

using torch::Tensor;

Figure figure_of(const std::vector<double>& values) {
  Figure figure;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) figure.mean += value / count;
  if (values.size() < 2) return figure;
  double squares = 0;
  for (const double value : values) squares += (value - figure.mean) * (value - figure.mean);
  figure.deviation = std::sqrt(squares / (count - 1));
  return figure;
}

// Of one member of each of the seeds' scores.
template <class Scores>
Figure figure_of(const std::vector<Scores>& all, double Scores::*member) {
  std::vector<double> values;
  values.reserve(all.size());
  for (const Scores& scores : all) values.push_back(scores.*member);
  return figure_of(values);
}

// Groups are the same nodes by any seed: their accuracies are averaged.
void add_groups(std::vector<NodeGroup>& sum, const std::vector<NodeGroup>& more, double share) {
  if (sum.empty()) {
    sum = more;
    for (NodeGroup& group : sum) group.accuracy = 0;
  }
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i].accuracy += share * more[i].accuracy;
}

bool has_own_edges(const GraphSchema& schema, const std::string& node_type) {
  return std::ranges::any_of(schema.relations, [&](const RelationSchema& relation) {
    return relation.source == node_type && relation.target == node_type;
  });
}

class ProbeRun {
 public:
  ProbeRun(const ProbeRequest& request, const Dataset& dataset, ThreadArena& threads)
      : request_(request),
        dataset_(dataset),
        threads_(threads),
        type_(probed_type(dataset.schema(), request.node_type)) {
    const bool edges = has_own_edges(dataset.schema(), type_);
    // Groups of nodes, links and floors go by it; clusters alone do not.
    const bool asked = request.classify || request.links || request.floors != Floors::kNone;
    if (edges && asked) graph_.emplace(PlainGraph::of(dataset, type_));
    if (request.links && !edges)
      throw Error(ErrorCode::kUsage,
                  "there are no edges between nodes of type '" + type_ + "'",
                  "leave links out of --tasks, or choose another --type",
                  Place{dataset.path(), -1, -1, -1});
    if (request.classify || request.cluster) labels_ = read_labels(dataset, type_);
    if (request.classify) parts_ = read_parts(dataset, type_, request.split);
    if (request.cluster && labels_.values.dim() != 1)
      throw Error(ErrorCode::kUsage,
                  "nodes have several classes each, which clusters are not compared with",
                  "leave cluster out of --tasks",
                  Place{dataset.path(), -1, -1, -1});
    if (!request.links) return;
    held_out_ = read_held_out(dataset, type_, request.link_split, *graph_, key(0));
    train_pairs_ = training_pairs(*graph_, request.train_pairs, key(0));
  }

  ProbeReport run() {
    ProbeReport report;
    report.node_type = type_;
    report.nodes = dataset_.schema().node_type(type_)->count;
    report.link_split = held_out_.split;
    const auto same = [](const Tensor& rows) { return [rows](RandomKey) { return rows; }; };
    report.rows.push_back(
        measure("embeddings", same(read_embeddings(request_.embeddings, dataset_, type_))));
    for (RowsReport& floor : floors()) report.rows.push_back(std::move(floor));
    return report;
  }

  BesideReport beside(const ProbedNodes& probed) {
    BesideReport report;
    if (graph_)
      report.groups = accuracy_by_group(probed, *graph_, probed.trained, dataset_.ledger());
    report.floors = floors();
    return report;
  }

 private:
  std::vector<RowsReport> floors() {
    if (request_.floors == Floors::kNone) return {};
    const auto same = [](const Tensor& rows) { return [rows](RandomKey) { return rows; }; };
    std::vector<RowsReport> all;
    const Tensor features = read_features(dataset_, type_);
    all.push_back(measure("features", same(features)));
    if (!graph_) return all;
    all.push_back(measure("sgc", same(sgc_rows(features, *graph_, request_.hops, threads_))));
    all.push_back(measure("random", [&](RandomKey drawn) {
      return random_encoder_rows(
          features, *graph_, {.width = request_.random_width}, drawn, threads_);
    }));
    return all;
  }

  RandomKey key(std::int64_t seed) const {
    return RandomKey(request_.seed + static_cast<std::uint64_t>(seed)).with("probe");
  }

  RowsReport measure(std::string name, const std::function<Tensor(RandomKey)>& rows_by) {
    RowsReport report;
    report.name = std::move(name);
    std::vector<ProbedNodes> probed;
    std::vector<ClusterScores> clusters;
    std::vector<LinkScores> dot, cosine, hadamard;
    for (std::int64_t seed = 0; seed < request_.seeds; ++seed) {
      throw_if_interrupted();
      const Tensor rows = rows_by(key(seed));
      report.columns = rows.size(1);
      if (request_.classify)
        probed.push_back(probe_nodes(rows, labels_.values, parts_, request_.linear, key(seed)));
      if (request_.cluster)
        clusters.push_back(cluster_scores(rows, labels_.values, labels_.classes, key(seed)));
      if (!request_.links) continue;
      dot.push_back(link_scores(rows, held_out_.test, PairScore::kDot));
      cosine.push_back(link_scores(rows, held_out_.test, PairScore::kCosine));
      hadamard.push_back(
          link_scores(rows, train_pairs_, held_out_.valid, held_out_.test, request_.linear));
    }
    if (request_.classify) report.classify = classify_figures(probed);
    if (request_.cluster)
      report.cluster = ClusterFigures{figure_of(clusters, &ClusterScores::nmi),
                                      figure_of(clusters, &ClusterScores::ari)};
    const auto areas = [](const std::vector<LinkScores>& all) {
      return LinkFigures::Areas{figure_of(all, &LinkScores::auc), figure_of(all, &LinkScores::ap)};
    };
    if (request_.links) report.links = LinkFigures{areas(dot), areas(cosine), areas(hadamard)};
    return report;
  }

  ClassifyFigures classify_figures(const std::vector<ProbedNodes>& probed) const {
    std::vector<ProbeScores> scores;
    scores.reserve(probed.size());
    for (const ProbedNodes& of_seed : probed) scores.push_back(of_seed.scores);
    ClassifyFigures figures{figure_of(scores, &ProbeScores::train),
                            figure_of(scores, &ProbeScores::valid),
                            figure_of(scores, &ProbeScores::test),
                            figure_of(scores, &ProbeScores::f1_micro),
                            figure_of(scores, &ProbeScores::f1_macro),
                            std::nullopt};
    if (!graph_) return figures;
    NodeGroups sum;
    const double share = 1 / static_cast<double>(probed.size());
    for (const ProbedNodes& of_seed : probed) {
      const NodeGroups groups =
          accuracy_by_group(of_seed, *graph_, of_seed.trained, dataset_.ledger());
      add_groups(sum.by_degree, groups.by_degree, share);
      add_groups(sum.by_distance, groups.by_distance, share);
    }
    figures.groups = std::move(sum);
    return figures;
  }

  const ProbeRequest& request_;
  const Dataset& dataset_;
  ThreadArena& threads_;
  std::string type_;
  std::optional<PlainGraph> graph_;  // none: the type has no own edges, or nothing goes by them
  NodeLabels labels_;
  NodeParts parts_;
  HeldOutPairs held_out_;
  LinkPairs train_pairs_;
};

}  // namespace

ProbeReport run_probe(const ProbeRequest& request,
                      const std::shared_ptr<MemoryLedger>& ledger,
                      ThreadArena& threads) {
  if (!request.classify && !request.cluster && !request.links)
    throw Error(ErrorCode::kUsage,
                "there is nothing to measure",
                "say --tasks with one or more of classify, cluster, links");
  const nn::LedgerAllocation tensors(ledger);
  const Dataset dataset = Dataset::open(request.dataset, {.ledger = ledger.get()});
  return ProbeRun(request, dataset, threads).run();
}

BesideReport measure_beside(const ProbeRequest& request,
                            const Dataset& dataset,
                            const ProbedNodes& probed,
                            ThreadArena& threads) {
  return ProbeRun(request, dataset, threads).beside(probed);
}

namespace {

// A relation in memory while its edges are read; with appended ones, as it was besides.
std::uint64_t loaded_bytes(const GraphSchema& schema, const RelationSchema& relation) {
  const RelationLists lists = RelationLists::of(schema, relation, ListsOf::kTargets);
  std::uint64_t an_edge = size_of(node_id_dtype(lists.neighbour_nodes));
  if (relation.has_edge_ids) an_edge += size_of(relation.edge_id_dtype());
  const std::uint64_t copies = relation.appended == 0 ? 1 : 2;
  return lists.resident_bytes() + copies * an_edge * (relation.edges + relation.appended);
}

}  // namespace

std::uint64_t beside_bytes(const ProbeRequest& request, const Dataset& dataset) {
  const GraphSchema& schema = dataset.schema();
  const std::string type = probed_type(schema, request.node_type);
  const NodeTypeSchema& nodes = *schema.node_type(type);
  std::uint64_t edges = 0, loaded = 0;
  for (const RelationSchema& relation : schema.relations) {
    if (relation.source != type || relation.target != type) continue;
    edges += relation.edges + relation.appended;
    loaded = std::max(loaded, loaded_bytes(schema, relation));
  }
  // Offsets; an edge in the lists of both its ends.
  const std::uint64_t graph =
      sizeof(std::uint64_t) * (nodes.count + 1) + 2 * sizeof(std::uint32_t) * edges;
  // While it is made: where each list is filled to, and a file's piece at a time.
  const std::uint64_t making = sizeof(std::uint64_t) * (nodes.count + 1) + loaded + kSumBlockBytes;
  const SplitSchema* const split = schema.split(request.split);
  const std::uint64_t groups = group_bytes(nodes.count, split == nullptr ? 0 : split->test);
  if (request.floors == Floors::kNone) return graph + std::max(making, groups);
  auto columns = static_cast<std::uint64_t>(request.random_width);
  for (const FeatureSchema& table : nodes.features)
    if (table.name == "features") columns = std::max<std::uint64_t>(columns, table.dim);
  const std::uint64_t rows = nodes.count * columns * sizeof(float);
  // Rows on their way from the disk and as numbers, beside the store's read buffers; then four.
  const std::uint64_t floors = std::max(FeatureStoreOptions().staging_bytes + 2 * rows, 4 * rows);
  return graph + std::max(making, groups + floors);
}

}  // namespace sluice::probe
