// The options of link prediction.
#pragma once

#include "nn/link_loss.h"

#include <sluice/graph_schema.h>
#include <sluice/nn/decoder.h>
#include <sluice/queries/link_parts.h>

#include <cstdint>
#include <string>

namespace sluice::tasks {

/// Which ends of a link are asked about, in training and beside drawn nodes in evaluation.
enum class LinkEnds { kDestination, kBoth };

/// What a link is ranked among in evaluation.
enum class Ranking {
  kSampled,  ///< other ends that are drawn
  kAll       ///< all nodes, at both ends, but those that make a known link
};

enum class Regularizer { kNone, kN3, kLp };

struct LinkPredictionOptions {
  LinkPartsOptions links;
  std::int64_t width = 64;
  nn::DecoderKind decoder = nn::DecoderKind::kDot;
  std::int64_t decoder_hidden = 64;
  double decoder_init = 0.001;
  double relation_dropout = 0;
  nn::Distance distance = nn::Distance::kL2;
  double gamma = 0;
  bool reciprocal = false;
  nn::LinkLoss loss = nn::LinkLoss::kLogistic;
  double margin = 1;
  double temperature = 1;
  LinkEnds ends = LinkEnds::kDestination;
  double relation_weight = 0;
  Regularizer regularizer = Regularizer::kNone;
  double regularizer_weight = 0;
  double regularizer_power = 2;
  std::int64_t negatives = 1;
  std::int64_t chunk = 0;
  bool share = false;
  double of_batch = 0;
  std::int64_t eval_negatives = 1;
  Ranking ranking = Ranking::kSampled;
  std::string stored_negatives;
  bool filtered = false;
  bool hide_links = true;
  void describe(Schema& schema);

  /// Throws kUsage for options that do not go together.
  void check() const;
  /// Whether links are told apart by types.
  bool typed(const RelationSchema& relation) const;
  nn::DecoderOptions decoder_options(const RelationSchema& relation, RandomKey key) const;
};

}  // namespace sluice::tasks
