#include "bench/end_to_end/sizes.h"

namespace sluice::bench {
namespace {

template <class T>
void replace(T& value, const T& given) {
  if (given != T{}) value = given;
}

}  // namespace

Sizes Overrides::applied_to(Sizes sizes) const {
  replace(sizes.nodes, nodes);
  replace(sizes.edges, edges);
  replace(sizes.features, features);
  replace(sizes.batch, batch);
  replace(sizes.fanout, fanout);
  replace(sizes.hidden, hidden);
  replace(sizes.layers, layers);
  replace(sizes.epochs, epochs);
  return sizes;
}

}  // namespace sluice::bench
