// Options of the pretexts: one struct a table below [task].
#pragma once

#include "tasks/pretext_parts.h"

#include <sluice/options.h>

#include <cstdint>

namespace sluice::tasks {

/// Which embeddings a decoder gets in place of what they are.
enum class Remask {
  kNone,    ///< none
  kMasked,  ///< those of nodes whose features were masked, by zeros (GraphMAE)
  kRandom   ///< a random share, by a learned row, anew for each of several views (GraphMAE2)
};

/// [task.masked]: features that are masked, and made again.
struct MaskedOptions {
  double weight = 1;
  double rate = 0.5;
  double replace = 0;
  double gamma = 3;
  double edge_drop = 0;
  DecoderLayer decoder = DecoderLayer::kGat;
  Remask remask = Remask::kMasked;
  double remask_rate = 0.5;
  std::int64_t remask_views = 3;
  void describe(Schema& schema);
};

/// What the second view of a contrast lacks.
enum class ViewDrop { kNodes, kEdges };

/// [task.contrast]: a node's embeddings in two views should be alike, and unlike other nodes'.
struct ContrastOptions {
  double weight = 0;
  double temperature = 0.5;
  ViewDrop drop = ViewDrop::kNodes;
  double drop_rate = 0.5;
  std::int64_t hidden = 256;
  std::int64_t nodes = 2048;
  void describe(Schema& schema);
};

/// [task.adjacency]: which pairs of a block of nodes are linked.
struct AdjacencyOptions {
  double weight = 0;
  double square = 0;
  double distance = 0;
  std::int64_t nodes = 1024;
  void describe(Schema& schema);
};

/// [task.variance]: embeddings should not all become alike.
struct VarianceOptions {
  double weight = 0;
  void describe(Schema& schema);
};

/// [task.latent]: the embedding of an unmasked view by an encoder that follows.
struct LatentOptions {
  double weight = 0;
  double edge_drop = 0;
  std::int64_t hidden = 256;
  void describe(Schema& schema);
};

/// [task.views]: the two views of BGRL.
struct ViewsOptions {
  double first_edges = 0.2;
  double second_edges = 0.4;
  double first_columns = 0.3;
  double second_columns = 0.4;
  std::int64_t hidden = 512;
  void describe(Schema& schema);
};

/// [task.momentum]: of the encoder that follows.
struct MomentumOptions {
  double start = 0.99;
  double epochs = 0;
  std::int64_t from_epoch = 0;
  void describe(Schema& schema);
};

}  // namespace sluice::tasks
