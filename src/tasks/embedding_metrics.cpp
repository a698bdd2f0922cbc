#include "tasks/embedding_metrics.h"

#include <sluice/nn/tensor_view.h>
#include <sluice/tasks/classification_metrics.h>

#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice::tasks {
namespace {

using torch::Tensor;

constexpr double kNoFigure = std::numeric_limits<double>::quiet_NaN();

// i64: rows whose nodes a list has, which ascends.
Tensor rows_among(std::span<const std::uint64_t> nodes, const Array& list) {
  std::vector<std::int64_t> rows;
  const auto members = list.as<std::uint64_t>();
  for (std::size_t row = 0; row < nodes.size(); ++row)
    if (std::ranges::binary_search(members, nodes[row]))
      rows.push_back(static_cast<std::int64_t>(row));
  return torch::tensor(rows, torch::kInt64);
}

// i64 [n]
Tensor node_numbers(const std::vector<std::uint64_t>& nodes) {
  return torch::tensor(std::vector<std::int64_t>(nodes.begin(), nodes.end()), torch::kInt64);
}

// In the order of the nodes, whatever the mini-batches' was.
struct CollectedRows {
  Tensor rows, labels;
  std::vector<std::uint64_t> nodes;
};

class CollectedEmbeddings final : public EmbeddingMetrics {
 public:
  CollectedEmbeddings(EmbeddingProbe probe, Part part) : probe_(std::move(probe)), part_(part) {}

  void add(const Tensor& outputs, const Batch& batch) override {
    if (!probe_.labels || batch.labels.empty()) return;
    const auto ids = batch.queries.ids.as<std::uint64_t>();
    nodes_.insert(nodes_.end(), ids.begin(), ids.end());
    rows_.push_back(outputs.detach().to(torch::kFloat32).clone());
    labels_.push_back(labels_of(batch.labels));
  }

  MeasuredEmbeddings measured() const override {
    MeasuredEmbeddings measured;
    for (const char* name : names()) measured.figures[name] = kNoFigure;
    if (rows_.empty()) return measured;
    const CollectedRows all = collect();
    if (!all.rows.isfinite().all().item<bool>()) return measured;
    add_probe(all, measured);
    if (clusters()) add_clusters(all, measured.figures);
    return measured;
  }

  const EmbeddingProbe& probe() const override { return probe_; }

 private:
  bool one_class() const { return probe_.labels->kind == LabelKind::kClass; }
  bool tests() const { return part_ == Part::kTest || part_ == Part::kAll; }
  bool clusters() const { return probe_.clusters && (!probe_.labels || one_class()); }

  // What is measured of the part.
  std::vector<const char*> names() const {
    std::vector<const char*> all{"accuracy"};
    if (tests()) all.insert(all.end(), {"f1_micro", "f1_macro"});
    if (clusters()) all.insert(all.end(), {"nmi", "ari"});
    return all;
  }

  // i64 [n], -1 without; of several classes a node f32 [n, classes].
  Tensor labels_of(const Array& labels) const {
    if (one_class()) return nn::as_tensor(labels).to(torch::kInt64);
    return expand_bits(labels, probe_.labels->width);
  }

  CollectedRows collect() const {
    const Tensor ids = node_numbers(nodes_);
    const Tensor order = ids.argsort(/*stable=*/true, /*dim=*/0, /*descending=*/false);
    const Tensor sorted = ids.index_select(0, order);
    const std::int64_t* const first = sorted.data_ptr<std::int64_t>();
    return {torch::cat(rows_).index_select(0, order),
            torch::cat(labels_).index_select(0, order),
            {first, first + sorted.numel()}};
  }

  void add_probe(const CollectedRows& all, MeasuredEmbeddings& measured) const {
    probe::NodeParts parts{rows_among(all.nodes, probe_.split.train),
                           rows_among(all.nodes, probe_.split.valid),
                           torch::empty({0}, torch::kInt64)};
    if (tests()) parts.test = rows_among(all.nodes, probe_.split.test);
    if (!any_labelled(all.labels, parts.train)) return;
    probe::ProbedNodes probed = probe::probe_nodes(
        all.rows, all.labels, parts, probe_.probe, probe_.key.with("linear probe"));
    const probe::ProbeScores scores = probed.scores;
    const Tensor nodes = node_numbers(all.nodes);
    probed.trained = nodes.index_select(0, probed.trained);
    probed.tested = nodes.index_select(0, probed.tested);
    measured.probed = std::move(probed);
    std::map<std::string, double>& figures = measured.figures;
    figures["accuracy"] = tests()                 ? scores.test
                          : part_ == Part::kTrain ? scores.train
                                                  : scores.valid;
    if (!tests()) return;
    figures["f1_micro"] = scores.f1_micro;
    figures["f1_macro"] = scores.f1_macro;
  }

  bool any_labelled(const Tensor& labels, const Tensor& rows) const {
    if (rows.numel() == 0) return false;
    return !one_class() || labels.index_select(0, rows).ge(0).any().item<bool>();
  }

  void add_clusters(const CollectedRows& all, std::map<std::string, double>& figures) const {
    const std::int64_t clusters = probe_.labels->width;
    if (all.labels.ge(0).sum().item<std::int64_t>() < clusters) return;
    const probe::ClusterScores scores =
        probe::cluster_scores(all.rows, all.labels, clusters, probe_.key.with("clusters"));
    figures["nmi"] = scores.nmi;
    figures["ari"] = scores.ari;
  }

  EmbeddingProbe probe_;
  Part part_;
  std::vector<Tensor> rows_, labels_;
  std::vector<std::uint64_t> nodes_;
};

}  // namespace

std::unique_ptr<EmbeddingMetrics> make_embedding_metrics(EmbeddingProbe probe, Part part) {
  return std::make_unique<CollectedEmbeddings>(std::move(probe), part);
}

}  // namespace sluice::tasks
