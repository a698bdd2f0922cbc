// ResidentTopology: a relation's CSC loaded into RAM. Immutable after load; thread-safe.
#pragma once

#include "storage/format/manifest.h"
#include "storage/topology/relation_offsets.h"
#include "storage/topology/removed_positions.h"

#include <sluice/array.h>
#include <sluice/dataset.h>
#include <sluice/topology.h>

#include <filesystem>
#include <memory>

namespace sluice {

class ResidentTopology final : public Topology {
 public:
  /// Loads and checks the relation's files: offsets must ascend from 0 to the edge count,
  /// neighbours must be below the source count (kData errors). Charged as "topology". Throws Error.
  static std::unique_ptr<ResidentTopology> load(const std::filesystem::path& root,
                                                const Manifest& manifest,
                                                const RelationSchema& relation,
                                                const DatasetOptions& options,
                                                IoChoice io);

  std::uint64_t num_sources() const override { return num_sources_; }
  std::uint64_t num_targets() const override { return num_targets_; }
  std::uint64_t num_edges() const override { return view_.offsets.back(); }
  Result<void> ranges(std::span<const std::uint64_t> targets, std::span<EdgeRange> out) override;
  Result<void> neighbours(std::span<const std::uint64_t> positions,
                          std::span<std::uint64_t> out) override;
  Result<void> edge_ids(std::span<const std::uint64_t> positions,
                        std::span<std::uint64_t> out) override;
  const CscView* resident() const override { return &view_; }

  /// Takes edges out, in place. Those that stay keep their edge ids. @pre nothing was removed
  /// before, and nobody reads meanwhile
  void remove(RemovedPositions removed);

 private:
  void show_offsets();
  /// Puts the edges of the log among those of the files.
  void merge(const MergedOrder::Source& source,
             const RelationSchema& relation,
             const DatasetOptions& options);

  std::uint64_t num_sources_ = 0;
  std::uint64_t num_targets_ = 0;
  RelationOffsets offsets_;
  Array neighbours_, edge_ids_;
  CscView view_;
  RemovedPositions removed_;  // where edge ids are positions, those that they were
};

}  // namespace sluice
