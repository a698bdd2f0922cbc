// Nodes by part of a METIS partition (Karypis and Kumar 1998): the whole graph is in memory, both
// ways, so it is for graphs that fit.
#pragma once

#include "prep/order/node_order.h"

#include <sluice/options.h>

namespace sluice {

class MetisOrder final : public NodeOrder {
 public:
  struct Options {
    std::int64_t seed = 1;
    std::int64_t size = 4096;
    void describe(Schema& schema);
  };
  explicit MetisOrder(const Options& options) : options_(options) {}
  IdArray order(const OrderInput& input) override;

 private:
  Options options_;
};

}  // namespace sluice
