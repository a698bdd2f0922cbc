// What `sluice-train probe` does: reads embeddings and what a dataset says of their nodes, and
// measures them, with floors beside them.
//
// One at a time in a process: tensors are charged to the ledger meanwhile.
#pragma once

#include "probe/linear_probe.h"
#include "probe/node_groups.h"
#include "probe/probe.h"

#include <sluice/dataset.h>
#include <sluice/memory.h>
#include <sluice/threads.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::probe {

enum class Floors { kNone, kBeside };

struct ProbeRequest {
  std::filesystem::path embeddings;
  std::string dataset;
  std::string node_type;  ///< empty: the only one, or the only one with labels
  bool classify = false, cluster = false, links = false;
  std::string split = "default";  ///< of nodes
  std::string link_split;         ///< empty: the only one that stands apart from the edges
  Floors floors = Floors::kNone;
  std::int64_t hops = 2;  ///< of the floor SGC
  std::int64_t random_width = 256;
  std::int64_t seeds = 1;               ///< how often all is measured, each time by another key
  std::uint64_t seed = 0;               ///< the first
  std::uint64_t train_pairs = 100'000;  ///< links that the Hadamard probe trains on, at most
  LinearProbeOptions linear;
};

/// Over the seeds.
struct Figure {
  double mean = 0;
  std::optional<double> deviation;  ///< of the sample, by n - 1; none of one
};

struct ClassifyFigures {
  Figure train, valid, test, f1_micro, f1_macro;
  std::optional<NodeGroups> groups;  ///< mean accuracies; none without edges within the type
};

struct ClusterFigures {
  Figure nmi, ari;
};

struct LinkFigures {
  struct Areas {
    Figure auc, ap;
  };
  Areas dot, cosine, hadamard;
};

/// Of one table of rows.
struct RowsReport {
  std::string name;  ///< "embeddings", or a floor: "features", "sgc", "random"
  std::int64_t columns = 0;
  std::optional<ClassifyFigures> classify;
  std::optional<ClusterFigures> cluster;
  std::optional<LinkFigures> links;
};

struct ProbeReport {
  std::string node_type;
  std::uint64_t nodes = 0;
  std::string link_split;  ///< empty where no links were asked about
  std::vector<RowsReport> rows;
};

/// Throws Error: what reading and measuring throw, and kUsage where nothing is asked.
ProbeReport run_probe(const ProbeRequest& request,
                      const std::shared_ptr<MemoryLedger>& ledger,
                      ThreadArena& threads);

/// What stands beside a probe that was made elsewhere.
struct BesideReport {
  std::optional<NodeGroups> groups;  ///< of that probe; none without edges within the type
  std::vector<RowsReport> floors;    ///< by the request; none where it wants none
};

/// Groups the outcomes of a probe, and measures floors. What `request` says of embeddings and where
/// the dataset lies is not read. Tensors are charged where a LedgerAllocation is installed, the
/// graph and groups to the dataset's ledger. Throws as run_probe().
/// @param probed `trained` and `tested` are numbers of nodes
BesideReport measure_beside(const ProbeRequest& request,
                            const Dataset& dataset,
                            const ProbedNodes& probed,
                            ThreadArena& threads);

/// Bytes that measure_beside() takes at most, about: the graph, and while it is made the relation
/// that is read and a read buffer, or the groups of all test nodes; with floors, if that is more,
/// the read buffers of a feature store, or four copies of features or of the random encoder's rows,
/// whichever are wider.
std::uint64_t beside_bytes(const ProbeRequest& request, const Dataset& dataset);

}  // namespace sluice::probe
