#include "storage/feature/cache_policies.h"

#include <sluice/registry.h>

namespace sluice {

CachePolicyCatalog builtin_caches() {
  CachePolicyCatalog all("cache policy");
  all.add<CachePolicyOf<BeladyPolicy>>("belady", "the row needed again last gives way");
  all.add<CachePolicyOf<LruPolicy>>("lru", "the row not used for longest");
  all.add<CachePolicyOf<ClockPolicy>>("clock", "second chance");
  all.add<CachePolicyOf<DegreePolicy>>("degree", "rows of the nodes with most neighbours stay");
  all.add<CachePolicyOf<HotBytesPolicy>>(
      "ranked", "as degree, over all tables by uses, cost of a miss and size of a row");
  all.add<CachePolicyOf<HotTypesPolicy>>("proportional",
                                         "as degree, each table by what its misses would cost");
  all.add<CachePolicyOf<KeepNonePolicy>>("none", "nothing stays beyond the next window");
  return all;
}

}  // namespace sluice
