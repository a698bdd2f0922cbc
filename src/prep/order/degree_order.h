// Nodes by how often they are a source, hot ones first, training seeds first among equals: what is
// sampled most shares few pages, and a static cache is a prefix of the table.
#pragma once

#include "prep/order/node_order.h"

#include <sluice/options.h>

namespace sluice {

class DegreeOrder final : public NodeOrder {
 public:
  struct Options {
    void describe(Schema&) {}
  };
  explicit DegreeOrder(const Options&) {}
  IdArray order(const OrderInput& input) override;
};

}  // namespace sluice
