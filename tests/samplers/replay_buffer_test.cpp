// Replay buffers: which old queries they keep, what these weigh, and how often they come.
#include "samplers/replay_buffer.h"
#include "samplers/replay_support.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kBufferSeed = 50, kBufferSources = 30, kBufferTargets = 20;

ReplayOptions buffer_options(ReplayRule rule, std::uint64_t nodes) {
  return {rule, nodes, RandomKey(kBufferSeed)};
}

}  // namespace

TEST_CASE("links of a buffer are those with an end in it, and weigh what their ends stand for") {
  MESSAGE("seed " << kBufferSeed);
  // Of one type, and of two whose nodes are numbered one behind the other.
  for (const std::uint64_t destinations : {std::uint64_t{0}, kBufferSources}) {
    CAPTURE(destinations);
    const std::uint64_t nodes =
        destinations == 0 ? kBufferSources : kBufferSources + kBufferTargets;
    EdgeList links;
    for (const auto& [one, other] : draw_edges(25, 70, RandomKey(kBufferSeed).with("links")))
      links.emplace_back(one, other % kBufferTargets);
    EdgeList numbered;
    NodeList old;
    for (const auto& [source, target] : links) numbered.emplace_back(source, destinations + target);
    for (std::uint64_t node = 0; node < nodes; ++node)
      if (std::ranges::any_of(numbered, [&](const auto& edge) {
            return edge.first == node || edge.second == node;
          }))
        old.push_back(node);
    REQUIRE(old.size() < nodes);  // some nodes have no link, and are not old
    for (const ReplayRule rule : {ReplayRule::kUniform, ReplayRule::kStructure}) {
      const ReplayBuffer buffer =
          ReplayBuffer::of_links(
              links_of(links), nodes, destinations, buffer_options(rule, 6), nullptr)
              .or_throw();
      CHECK(buffer.old_nodes() == old.size());
      CHECK(buffer.old_queries() == links.size());
      REQUIRE(buffer.nodes().size() == 6);
      CHECK(std::ranges::is_sorted(buffer.nodes()));
      std::map<std::uint64_t, std::uint64_t> weights;
      for (const std::uint64_t node : buffer.nodes()) weights[node] = 1;
      if (rule == ReplayRule::kStructure) {
        const auto [chosen, stands] =
            choose_plainly(old, nodes, numbered, 6, RandomKey(kBufferSeed).with("choice"));
        weights.clear();
        for (std::size_t i = 0; i < chosen.size(); ++i) weights[chosen[i]] = stands[i];
        NodeList sorted = chosen;
        std::ranges::sort(sorted);
        CHECK(list_of(buffer.nodes()) == sorted);
      }
      std::size_t place = 0;
      for (std::uint64_t number = 0; number < numbered.size(); ++number) {
        const auto& [source, target] = numbered[number];
        const auto of = [&](std::uint64_t node) {
          return weights.contains(node) ? weights.at(node) : 0;
        };
        const std::uint64_t expected = of(source) + (source == target ? 0 : of(target));
        if (expected == 0) continue;
        REQUIRE(place < buffer.queries().size());
        CHECK(buffer.queries()[place] == number);
        CHECK(buffer.weight(place) == expected);
        ++place;
      }
      CHECK(place == buffer.queries().size());
    }
  }
}

TEST_CASE("nodes of a buffer are its queries") {
  const EdgeList edges = draw_edges(40, 60, RandomKey(kBufferSeed));
  NodeList old;
  for (std::uint64_t node = 39; node >= 10; node -= 2) old.push_back(node);  // in any order
  const ReplayBuffer buffer =
      ReplayBuffer::of_nodes(
          old, 40, pass_of(edges), buffer_options(ReplayRule::kStructure, 5), nullptr)
          .or_throw();
  const auto [chosen, stands] =
      choose_plainly(old, 40, edges, 5, RandomKey(kBufferSeed).with("choice"));
  REQUIRE(buffer.queries().size() == 5);
  CHECK(std::ranges::is_sorted(buffer.queries()));
  for (std::size_t place = 0; place < 5; ++place) {
    const std::uint64_t node = old[buffer.queries()[place]];
    const auto found = std::ranges::find(chosen, node);
    REQUIRE(found != chosen.end());
    CHECK(buffer.weight(place) == stands[static_cast<std::size_t>(found - chosen.begin())]);
  }
}

TEST_CASE("a buffer of none keeps nothing, and one of all keeps all") {
  const EdgeList edges = draw_edges(20, 50, RandomKey(kBufferSeed));
  const ListedLinks links = links_of(edges);
  const auto kept = [&](ReplayRule rule, std::uint64_t nodes) {
    return ReplayBuffer::of_links(links, 20, 0, buffer_options(rule, nodes), nullptr)
        .or_throw()
        .queries()
        .size();
  };
  CHECK(kept(ReplayRule::kNone, 20) == 0);
  CHECK(kept(ReplayRule::kUniform, 0) == 0);
  CHECK(kept(ReplayRule::kUniform, 20) == 50);
  CHECK(kept(ReplayRule::kStructure, 20) == 50);
}

TEST_CASE("draws are in order, by weight, and by epoch and number alone") {
  const EdgeList edges = draw_edges(30, 90, RandomKey(kBufferSeed).with("drawn"));
  const ReplayBuffer buffer =
      ReplayBuffer::of_links(
          links_of(edges), 30, 0, buffer_options(ReplayRule::kStructure, 8), nullptr)
          .or_throw();
  const std::size_t size = buffer.queries().size();
  REQUIRE(size > 16);
  std::uint64_t sum = 0;
  for (std::size_t place = 0; place < size; ++place) sum += buffer.weight(place);
  constexpr std::uint64_t kBatch = 16, kEpochs = 200, kBatches = 20;
  std::map<std::uint64_t, std::uint64_t> times;
  NodeList drawn(kBatch), again(kBatch), other(kBatch);
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (std::uint64_t index = 0; index < kBatches; ++index) {
      buffer.draw(epoch, index, drawn);
      REQUIRE(std::ranges::is_sorted(drawn));
      // Of each as many as its share says, rounded one way or the other.
      std::map<std::uint64_t, std::uint64_t> own;
      for (const std::uint64_t query : drawn) ++own[query];
      for (std::size_t place = 0; place < size; ++place) {
        const std::uint64_t expected = kBatch * buffer.weight(place);
        const std::uint64_t found = own[buffer.queries()[place]];
        REQUIRE(found * sum <= expected + sum - 1);
        REQUIRE(found >= expected / sum);
        times[buffer.queries()[place]] += found;
      }
    }
  }
  buffer.draw(3, 4, drawn);
  buffer.draw(3, 4, again);
  CHECK(drawn == again);
  std::set<NodeList> different;
  for (std::uint64_t index = 0; index < kBatches; ++index) {
    buffer.draw(3, index, other);
    different.insert(other);
  }
  CHECK(different.size() > 1);
  // How often one comes in a mini-batch has a variance of a quarter at the most: six deviations.
  const double draws = static_cast<double>(kEpochs * kBatches);
  for (std::size_t place = 0; place < size; ++place) {
    const double share = static_cast<double>(buffer.weight(place)) / static_cast<double>(sum);
    const double mean = static_cast<double>(times[buffer.queries()[place]]) / draws;
    CHECK(std::abs(mean - kBatch * share) < 6 * 0.5 / std::sqrt(draws));
  }
}
