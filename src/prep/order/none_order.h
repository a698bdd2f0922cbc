// Nodes as they came.
#pragma once

#include "prep/order/node_order.h"

#include <sluice/options.h>

namespace sluice {

class NoneOrder final : public NodeOrder {
 public:
  struct Options {
    void describe(Schema&) {}
  };
  explicit NoneOrder(const Options&) {}
  IdArray order(const OrderInput& input) override;
};

}  // namespace sluice
