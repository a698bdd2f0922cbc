#include "registry/samplers.h"

#include "samplers/neighbor_sampler.h"

namespace sluice {

SamplerCatalog builtin_samplers() {
  SamplerCatalog all("sampler");
  all.add<SamplerKind<NeighborSampler>>(
      "neighbor", "in-edges of each node, hop by hop: uniform or weighted, or all of them");
  return all;
}

}  // namespace sluice
