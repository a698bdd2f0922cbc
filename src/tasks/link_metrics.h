// The metrics of link prediction, from scores of links and of other destinations beside each, or
// from their ranks among all nodes.
//
// - auc, ap: of links and the first other destination of each, as graph autoencoders are measured
//   (Kipf and Welling 2016); of a list that has examples of none, of these. Ties count half in auc,
//   and are one threshold in ap.
// - mrr, hits@1, hits@3, hits@10, mean_rank: the rank of a link among all its other destinations;
//   of equal scores the mean. Of ranks among all nodes, and where other sources are listed: of both
//   ends.
#pragma once

#include <sluice/task.h>

#include <memory>
#include <string>
#include <vector>

namespace sluice::tasks {

/// What a row of outputs is.
enum class LinkOutputs {
  kScores,  ///< the link's score, then those of its other destinations; where other sources are
            ///< listed, then its score by the source, and theirs
  kRanks    ///< the link's score, then its ranks: of the destination, of the source
};

/// Whether each link has other sources of its own.
inline bool lists_sources(const Queries& queries) {
  return queries.shared.empty() && !queries.shared_sources.empty();
}

/// @param types names of the types of links, by label: "mrr:NAME", "hits@10:NAME" and
/// "auc:NAME" follow; empty: links have no types
std::unique_ptr<MetricAccumulator> make_link_metrics(LinkOutputs outputs = LinkOutputs::kScores,
                                                     const std::vector<std::string>& types = {});

}  // namespace sluice::tasks
