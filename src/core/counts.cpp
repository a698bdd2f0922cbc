#include "core/counts.h"

#include <sluice/feature_store.h>
#include <sluice/loader_stats.h>
#include <sluice/request_latency.h>
#include <sluice/topology.h>

namespace sluice {

RequestLatency& RequestLatency::operator+=(const RequestLatency& more) {
  return add_counts(*this, more);
}

FeatureStats& FeatureStats::operator+=(const FeatureStats& more) {
  return add_counts(*this, more);
}
FeatureStats FeatureStats::operator-(const FeatureStats& before) const {
  return counts_since(before, *this);
}

TopologyStats& TopologyStats::operator+=(const TopologyStats& more) {
  return add_counts(*this, more);
}
TopologyStats TopologyStats::operator-(const TopologyStats& before) const {
  return counts_since(before, *this);
}

CacheCounts& CacheCounts::operator+=(const CacheCounts& more) {
  return add_counts(*this, more);
}

}  // namespace sluice
