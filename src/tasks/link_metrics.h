// The metrics of link prediction, from scores of links and of other destinations beside each.
//
// - auc, ap: of links and the first other destination of each, as graph autoencoders are measured
//   (Kipf and Welling 2016); of a list that has examples of none, of these. Ties count half in auc,
//   and are one threshold in ap.
// - mrr, hits@10: the rank of a link among all its other destinations; of equal scores the mean.
#pragma once

#include <sluice/task.h>

#include <memory>

namespace sluice::tasks {

std::unique_ptr<MetricAccumulator> make_link_metrics();

}  // namespace sluice::tasks
