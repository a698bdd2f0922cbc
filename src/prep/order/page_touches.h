// What an order does for sampling: how many pages of the feature table the windows of an epoch
// touch, under the order that a dataset has and under another.
#pragma once

#include "prep/order/node_order.h"

#include <cstdint>

namespace sluice {

struct PageTouches {
  std::uint64_t batches = 0;
  std::uint64_t rows = 0;          ///< distinct in their window, summed over windows
  std::uint64_t pages_before = 0;  ///< the same for pages
  std::uint64_t pages_after = 0;
  double ratio() const {
    return pages_before == 0 ? 1
                             : static_cast<double>(pages_after) / static_cast<double>(pages_before);
  }
};

/// Samples an epoch: the type's first training split (else a twentieth of its nodes), shuffled, in
/// mini-batches of 1024 seeds, two hops of 10 in-edges each, drawn with replacement. Pages are
/// counted once a window of 8 mini-batches, as training from disk reads them, and without a cache.
/// @param new_of_old the other order
PageTouches count_page_touches(const OrderInput& input, const IdArray& new_of_old);

}  // namespace sluice
