// Nodes by cluster, found by label propagation with a bound on a cluster's size (Ugander and
// Backstrom 2013: balanced label propagation, here without its linear program). Edges are streamed
// a few times; memory is three numbers a node.
#pragma once

#include "prep/order/node_order.h"

#include <sluice/options.h>

namespace sluice {

class ClusterOrder final : public NodeOrder {
 public:
  struct Options {
    std::int64_t rounds = 8;
    std::int64_t size = 4096;
    void describe(Schema& schema);
  };
  explicit ClusterOrder(const Options& options) : options_(options) {}
  IdArray order(const OrderInput& input) override;

 private:
  Options options_;
};

}  // namespace sluice
