#include "prep/update/new_edges.h"

#include "core/interrupt.h"

#include <sluice/no_node.h>

#include <algorithm>
#include <span>
#include <variant>

namespace sluice {

void NewEdges::compare(EdgeStream& there) {
  const std::span<Edge> edges(edges_.data(), edges_.size());
  std::ranges::sort(edges);
  for (std::size_t i = 0; i < edges.size(); ++i)
    if (i == 0 || edges[i].target != edges[i - 1].target || edges[i].source != edges[i - 1].source)
      first_.set(edges[i].place);
  std::uint64_t target = kNoNode;
  std::span<const Edge> of_target;  // edges come target by target
  const auto look = [&](const auto& view) {
    for (std::size_t i = 0; i < view.count; ++i) {
      if (view.target[i * view.stride] != target) {
        target = view.target[i * view.stride];
        const auto found = std::ranges::equal_range(edges, target, {}, &Edge::target);
        of_target = {found.begin(), found.end()};
      }
      const std::uint64_t source = view.source[i * view.stride];
      const auto at = std::ranges::lower_bound(of_target, source, {}, &Edge::source);
      if (at != of_target.end() && at->source == source) there_.set(at->place);
    }
  };
  while (const auto view = there.next()) {
    throw_if_interrupted();
    std::visit(look, *view);
  }
}

}  // namespace sluice
