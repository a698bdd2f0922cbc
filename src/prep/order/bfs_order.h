// Breadth-first over in-edges, from the hottest node of each component: neighbours come to lie near
// each other. Edges are in memory where they fit, else their pages are read as they are needed.
#pragma once

#include "prep/order/node_order.h"

#include <sluice/options.h>

namespace sluice {

class BfsOrder final : public NodeOrder {
 public:
  struct Options {
    void describe(Schema&) {}
  };
  explicit BfsOrder(const Options&) {}
  IdArray order(const OrderInput& input) override;
};

}  // namespace sluice
