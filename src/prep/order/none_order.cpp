#include "prep/order/none_order.h"

namespace sluice {

IdArray NoneOrder::order(const OrderInput& input) {
  IdArray order(input.node.count, input.node.count, &input.context.ledger, "node order");
  for (std::uint64_t node = 0; node < order.size(); ++node) order.set(node, node);
  return order;
}

}  // namespace sluice
