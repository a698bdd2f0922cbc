// FeedOptions: what a loader by itself is told: what it asks, how it samples, what sits where,
// within which memory. One flat table; the keys of the sampler that was chosen stand beside the
// others.
#pragma once

#include "budget/storage_section.h"

#include <sluice/edge_rule.h>
#include <sluice/options.h>
#include <sluice/queries/link_parts.h>
#include <sluice/query.h>
#include <sluice/sampler.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

enum class FeedOrder { kShuffled, kAsGiven };
enum class NegativeChoice { kUniform, kDegree, kInBatch };

/// What the names in options may mean.
struct FeedRegistry {
  SamplerCatalog samplers{"sampler"};
  CachePolicyCatalog caches{"cache policy"};
};

struct FeedOptions {
  /// @param registry must outlive the options
  explicit FeedOptions(const FeedRegistry& registry);

  QueryKind queries = QueryKind::kNodes;
  Part part = Part::kTrain;
  std::string split = "default";
  std::string node_type;  ///< empty: that of the split, or the only one
  LinkPartsOptions links;
  std::int64_t negatives = 0;
  NegativeChoice negative_sampler = NegativeChoice::kUniform;
  bool filtered = false;
  bool hide_links = true;
  std::int64_t batch_size = 1024;
  bool shuffle = true;
  std::uint64_t seed = 1;
  Selection sampler{"neighbor", nullptr};
  bool labels = true;
  bool exact = false;
  bool transpose = false;
  bool degrees = false;
  bool edge_ids = false;
  std::vector<std::string> feature_groups{""};
  std::vector<std::string> edge_feature_groups;
  bool normalize_rows = false;
  bool hash = false;
  StorageSection storage;
  ByteSize memory{0};
  std::int64_t held = 1;
  std::string scratch;
  int data_threads = 0;
  std::int64_t rank = 0;
  std::int64_t world_size = 1;
  bool even = false;
  const FeedRegistry* registry;

  void describe(Schema& schema);

  /// Sets keys, each with a value as TOML; those of the sampler that `sampler` names among them.
  /// Throws one Error(kUsage) that lists every problem.
  void set(const std::vector<std::pair<std::string, std::string>>& keys);
  /// All keys with their values, as TOML.
  std::string text();
};

}  // namespace sluice
