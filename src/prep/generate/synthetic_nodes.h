// Synthetic node data that can be learned: each node has a hidden class; features are the class's
// centre plus noise, labels follow from the class, and a split is drawn. Written in bounded memory,
// whatever the number of nodes.
#pragma once

#include "prep/features/feature_choice.h"
#include "prep/prep_context.h"
#include "storage/format/dataset_writer.h"

#include <sluice/graph_schema.h>
#include <sluice/options.h>
#include <sluice/random.h>

#include <cstdint>
#include <functional>
#include <string>

namespace sluice {

struct SyntheticNodeOptions {
  std::int64_t features = 128;
  std::int64_t classes = 16;
  double signal = 1.0;
  FeatureChoice storage;
  LabelKind labels = LabelKind::kClass;
  double target_noise = 0.1;
  double train = 0.1;
  double valid = 0.02;
  double test = 0.05;

  void describe(Schema& schema);
};

/// The hidden class of a node; pure and thread-safe.
using ClassOf = std::function<std::uint32_t(std::uint64_t node)>;

/// Writes features.bin, labels.bin and the split "default" of node type `type`, and adds the type
/// to the schema.
void write_synthetic_nodes(DatasetWriter& writer,
                           const std::string& type,
                           std::uint64_t count,
                           const SyntheticNodeOptions& options,
                           const ClassOf& class_of,
                           RandomKey key,
                           PrepContext& context);

}  // namespace sluice
