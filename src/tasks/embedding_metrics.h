// EmbeddingMetrics: what embeddings tell of labels that they were learned without: a linear probe
// over the split of the dataset, and clusters. Keeps all rows that have labels until the end.
#pragma once

#include "probe/linear_probe.h"
#include "probe/probe.h"
#include "probe/probe_run.h"

#include <sluice/dataset.h>
#include <sluice/edge_rule.h>
#include <sluice/graph_schema.h>
#include <sluice/random.h>
#include <sluice/task.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace sluice::tasks {

/// What a part is measured by.
struct EmbeddingProbe {
  Split split;                        ///< its arrays ascend
  std::optional<LabelSchema> labels;  ///< none: there are no figures
  probe::LinearProbeOptions probe;
  RandomKey key{1};
  bool clusters = true;                         ///< whether rows are clustered, for "nmi" and "ari"
  probe::Floors floors = probe::Floors::kNone;  ///< that a test wants beside
};

/// Figures, and what they come from.
struct MeasuredEmbeddings {
  std::map<std::string, double> figures;
  /// By numbers of nodes; none where nothing was probed.
  std::optional<probe::ProbedNodes> probed;
};

/// Metrics that also say which nodes the probe was right about.
class EmbeddingMetrics : public MetricAccumulator {
 public:
  virtual MeasuredEmbeddings measured() const = 0;
  virtual const EmbeddingProbe& probe() const = 0;
  std::map<std::string, double> result() const override { return measured().figures; }
};

/// Of the rows that it is given: "accuracy", "f1_micro" and "f1_macro" of a linear probe that is
/// trained on the split's training nodes and stopped by its validation nodes, and "nmi" and "ari"
/// of as many clusters as there are classes, unless nodes have several classes each. For the
/// validation and training parts accuracy is theirs, the test nodes are not looked at, and there is
/// no F1. Figures are NaN where no training node is among the rows, or rows are not finite.
std::unique_ptr<EmbeddingMetrics> make_embedding_metrics(EmbeddingProbe probe, Part part);

}  // namespace sluice::tasks
