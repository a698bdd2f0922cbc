// New nodes of a type behind those that are there: ids, features and labels of both in new files.
// Private to append.
#pragma once

#include "prep/import/import_context.h"

#include <sluice/dataset.h>

#include <cstdint>

namespace sluice {

/// The nodes of a dataset on disk.
class DatasetNodes final : public EarlierNodes {
 public:
  /// All must outlive the object.
  DatasetNodes(const Dataset& dataset, const NodeTypeSchema& schema)
      : dataset_(dataset), schema_(schema) {}

  const NodeTypeSchema& schema() const override { return schema_; }
  void copy_features(FeatureWriter& to) const override;
  void copy_labels(DataFileWriter& to) const override;

 private:
  const Dataset& dataset_;
  const NodeTypeSchema& schema_;
};

/// Whether a [[nodes]] of append's config brings nodes: it has a file, or a count beyond the
/// type's own (count is that of all nodes, as in graph.toml).
bool brings_nodes(const NodeSpec& spec, const NodeTypeSchema& schema);

/// Imports the new nodes of node.spec's type: its files hold those alone. Old ids must be loaded.
/// Throws Error: kUsage or kData where what the type's nodes have is missing for the new ones.
/// @return how many there are
std::uint64_t append_nodes(ImportContext& context, NodeState& node);

}  // namespace sluice
