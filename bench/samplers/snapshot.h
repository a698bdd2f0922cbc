// Mini-batches sampled from edges on disk through each kind of snapshot cache, with a tenth of the
// memory that all edges take.
#pragma once

#include <sluice/dataset.h>
#include <sluice/snapshot.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::bench {

/// An R-MAT graph, and the same one with a tenth more edges behind the others; they go with this
/// object.
class GrowingGraph {
 public:
  /// 2^scale nodes, 16 edges a node, in folders of their own below `dir`.
  GrowingGraph(const std::string& dir, std::uint64_t scale);
  ~GrowingGraph();
  GrowingGraph(const GrowingGraph&) = delete;
  GrowingGraph& operator=(const GrowingGraph&) = delete;

  std::string base() const { return base_.string(); }
  std::string later() const { return later_.string(); }

 private:
  std::filesystem::path base_, later_;
};

struct SnapshotWork {
  SnapshotOptions options;
  Placement placement = Placement::kDisk;
  bool appended = false;  ///< the later graph takes the base's place half-way
  std::vector<std::int64_t> fanout{15, 10, 5};
  int threads = 2;
  std::uint64_t num_batches = 100;
  std::uint64_t batch_size = 1024;
};

struct SnapshotResult {
  std::uint64_t edges = 0;          ///< sampled
  double seconds = 0;               ///< of sampling, with the update half-way
  double prepare_seconds = 0;       ///< of opening, and choosing hot nodes
  TopologyStats read;               ///< while sampling
  std::uint64_t bytes_prepare = 0;  ///< read to choose hot nodes
  std::uint64_t memory = 0;         ///< topology, caches and snapshots, at the end
  SnapshotStats snapshot;
};

/// Samples an epoch's first batches once, in groups, from a cold start.
SnapshotResult run_snapshot(const GrowingGraph& graph, const SnapshotWork& work);

/// Every mode on disk, static or appended to, a line each.
void print_snapshots(const GrowingGraph& graph, const SnapshotWork& work, const std::string& name);

}  // namespace sluice::bench
