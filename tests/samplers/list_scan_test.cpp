// Which edges are taken of whole lists, against sorting and comparing all of them.
#include "sampler_support.h"

#include "samplers/list_scan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace sluice {
namespace {

using Count = SharedDraws::Count;

struct Lists {
  std::vector<std::uint64_t> targets, sources;
  std::vector<EdgeRange> ranges;
  std::vector<float> weights;

  explicit Lists(RandomKey key) {
    const test::EdgeLists lists = test::random_lists(150, 60, key);
    for (std::uint64_t t = 0; t < lists.size(); ++t) {
      const std::uint64_t begin = sources.size();
      for (const auto& edge : lists[t]) {
        sources.push_back(edge.first);
        weights.push_back(static_cast<float>(edge.second % 5) / 2);
      }
      targets.push_back(t);
      ranges.push_back({begin, sources.size()});
    }
  }
};

struct Taken {
  std::vector<std::int64_t> counts;
  std::vector<std::uint64_t> sources, positions;
  bool operator==(const Taken&) const = default;
};

Taken scan(ListScan& scan, const Lists& lists, ListScan::Request request, std::size_t most) {
  request.targets = lists.targets;
  request.ranges = lists.ranges;
  Taken taken{std::vector<std::int64_t>(lists.targets.size(), -1), {}, {}};
  scan.begin(request, taken.counts, nullptr).or_throw();
  while (const std::size_t count = scan.next_piece(most)) {
    std::vector<std::uint64_t> positions(count), sources;
    scan.choose(positions);
    for (const std::uint64_t position : positions) sources.push_back(lists.sources.at(position));
    scan.take(sources).or_throw();
    taken.sources.insert(taken.sources.end(), scan.sources().begin(), scan.sources().end());
    taken.positions.insert(taken.positions.end(), scan.positions().begin(), scan.positions().end());
  }
  return taken;
}

// By sorting.
Taken expected(const Lists& lists, const ListScan::Request& request) {
  Taken taken;
  for (const EdgeRange& range : lists.ranges) {
    std::vector<std::pair<double, std::uint64_t>> edges;
    double sum = 0;
    const auto weight = [&](std::uint64_t at) {
      return request.weights.empty() ? 1.0 : static_cast<double>(request.weights[at]);
    };
    for (std::uint64_t at = range.begin; at < range.end; ++at) {
      sum += weight(at);
      if (weight(at) > 0)
        edges.push_back({request.draws.numbers.uniform(lists.sources[at]) / weight(at), at});
    }
    if (edges.size() > request.fanout && request.draws.count == Count::kExact) {
      std::ranges::sort(edges);
      edges.resize(request.fanout);
    } else if (edges.size() > request.fanout) {
      std::erase_if(edges, [&](const auto& edge) {
        return edge.first * sum > static_cast<double>(request.fanout);
      });
    }
    taken.counts.push_back(static_cast<std::int64_t>(edges.size()));
    std::ranges::sort(edges, {}, [](const auto& edge) { return edge.second; });
    for (const auto& edge : edges) {
      taken.positions.push_back(edge.second);
      taken.sources.push_back(lists.sources[edge.second]);
    }
  }
  return taken;
}

TEST_CASE("what is taken is what sorting all of a list takes, for any size of pieces") {
  ListScan scanner;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const Lists lists(RandomKey(seed).with("lists"));
    const RandomKey key(seed);
    for (const bool passing : {false, true}) {
      const SourceNumbers numbers =
          passing ? SourceNumbers(key, RandomKey(seed + 1000), 0.3) : SourceNumbers(key);
      for (const Count count : {Count::kExact, Count::kPoisson}) {
        for (const bool weighted : {false, true}) {
          ListScan::Request request{.fanout = 1 + seed % 12, .draws = {numbers, count}};
          if (weighted) request.weights = lists.weights;
          const Taken all = expected(lists, request);
          for (const std::size_t most : {1u, 3u, 50u, 1'000u, 1'000'000u})
            CHECK(scan(scanner, lists, request, most) == all);
        }
      }
    }
  }
}

TEST_CASE("hubs draw on their own and are not looked through, for any size of pieces") {
  ListScan scanner;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    CAPTURE(seed);
    const Lists lists(RandomKey(seed).with("lists"));
    for (const bool weighted : {false, true}) {
      for (const Count count : {Count::kExact, Count::kPoisson}) {
        ListScan::Request request{.fanout = 4,
                                  .draws = {SourceNumbers(RandomKey(seed)), count, 20},
                                  .key = RandomKey(seed).with("own")};
        if (weighted) request.weights = lists.weights;
        const Taken all = scan(scanner, lists, request, 1'000'000);
        for (const std::size_t most : {1u, 7u, 100u})
          CHECK(scan(scanner, lists, request, most) == all);
        // The others are as if there were no bound, and hubs have their fanout.
        ListScan::Request plain = request;
        plain.draws.hub_degree = 0;
        const Taken shared = scan(scanner, lists, plain, 64);
        std::size_t looked_at = 0, hubs = 0;
        for (std::size_t t = 0; t < lists.targets.size(); ++t) {
          const bool hub = lists.ranges[t].degree() > 20;
          hubs += hub;
          looked_at += hub ? 4 : lists.ranges[t].degree();
          if (hub) CHECK(all.counts[t] == 4);
          if (!hub) CHECK(all.counts[t] == shared.counts[t]);
        }
        CHECK(hubs > 0);
        std::vector<std::int64_t> counts(lists.targets.size());
        request.targets = lists.targets;
        request.ranges = lists.ranges;
        scanner.begin(request, counts, nullptr).or_throw();
        CHECK(scanner.next_piece(1'000'000) == looked_at);
      }
    }
  }
}

}  // namespace
}  // namespace sluice
