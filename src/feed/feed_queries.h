// What a feed asks: from its options, or from lists that the user gave, to a QuerySource.
#pragma once

#include "feed/feed_options.h"

#include <sluice/array.h>
#include <sluice/dataset.h>
#include <sluice/edge_rule.h>
#include <sluice/loader.h>
#include <sluice/queries/link_parts.h>
#include <sluice/query.h>
#include <sluice/sampler.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Lists of what is asked about, in place of a part of a split. Arrays without a shape: not given.
struct FeedLists {
  Array nodes;       ///< u64 [n]: distinct dense ids
  Array node_times;  ///< i64 [n]: when each is asked about
  LinkArrays links;
  Array graphs;  ///< u64 [n]: distinct numbers

  bool has_links() const { return !links.sources.shape().empty(); }
};

/// What of the data itself follows from what is asked: settled before the data is opened.
class FeedSubject {
 public:
  /// Throws Error: kUsage where the dataset lacks what is asked about.
  FeedSubject(const Dataset& dataset, const FeedOptions& options, const FeedLists& lists);

  std::vector<std::shared_ptr<const EdgeRule>> edge_rules() const;
  LabelsOf labels_of() const;
  QueryKind kind() const { return kind_; }
  /// Whether a loader with these options may go over the same data.
  bool same_data(const FeedSubject& other) const;

  /// @pre data was made with edge_rules() and labels_of()
  std::vector<std::string> warnings(const GraphData& data) const;
  /// @param sampler that mini-batches are sampled by
  std::shared_ptr<const QuerySource> queries(const Dataset& dataset,
                                             const GraphData& data,
                                             const FeedOptions& options,
                                             const FeedLists& lists,
                                             std::shared_ptr<const SamplerMethod> sampler,
                                             MemoryLedger& ledger) const;

 private:
  struct Asked;
  std::shared_ptr<const QuerySource> node_queries(const Asked& asked) const;
  std::shared_ptr<const QuerySource> link_queries(const Asked& asked) const;
  std::shared_ptr<const QuerySource> graph_queries(const Asked& asked) const;
  std::shared_ptr<const Links> links(const Asked& asked) const;
  std::shared_ptr<const Links> events(const Asked& asked) const;

  QueryKind kind_;
  std::size_t type_ = 0;            // of nodes
  std::optional<LinkParts> links_;  // of links
  bool split_ = false;              // the relation's edges are split
  bool labels_ = true;
};

}  // namespace sluice
