// The relations of a hop that are on disk: read at the same time, to the bits of RAM.
#include "sampler_support.h"

#include "core/condition_variable.h"
#include "samplers/group_sampler.h"
#include "samplers/labor_sampler.h"

#include <sluice/mutex.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

namespace sluice {
namespace {

using test::Held;
using test::TestGraph;

using Method = std::shared_ptr<const SamplerMethod>;

// Where reads of several relations meet: each waits until so many are under way.
class Meeting {
 public:
  explicit Meeting(int wanted) : wanted_(wanted) {}

  void enter() {
    constexpr auto kPatience = std::chrono::seconds(20);
    MutexLock lock(mutex_);
    most_ = std::max(most_, ++inside_);
    met_.notify_all();
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (most_ < wanted_ && !missed_) {
      if (!met_.wait_until(lock, end)) missed_ = true;  // once, not each time
    }
  }
  void leave() {
    const MutexLock lock(mutex_);
    --inside_;
  }
  int most() const {
    const MutexLock lock(mutex_);
    return most_;
  }

 private:
  const int wanted_;
  mutable Mutex mutex_;
  ConditionVariable met_;
  int inside_ SLUICE_GUARDED_BY(mutex_) = 0;
  int most_ SLUICE_GUARDED_BY(mutex_) = 0;
  bool missed_ SLUICE_GUARDED_BY(mutex_) = false;
};

class MeetingTopology final : public Topology {
 public:
  MeetingTopology(std::shared_ptr<Topology> inner, Meeting& meeting)
      : inner_(std::move(inner)), meeting_(meeting) {}

  std::uint64_t num_sources() const override { return inner_->num_sources(); }
  std::uint64_t num_targets() const override { return inner_->num_targets(); }
  std::uint64_t num_edges() const override { return inner_->num_edges(); }
  Result<void> ranges(std::span<const std::uint64_t> targets, std::span<EdgeRange> out) override {
    return inner_->ranges(targets, out);
  }
  Result<void> neighbours(std::span<const std::uint64_t> positions,
                          std::span<std::uint64_t> out) override {
    meeting_.enter();
    auto found = inner_->neighbours(positions, out);
    meeting_.leave();
    return found;
  }
  Result<void> edge_ids(std::span<const std::uint64_t> positions,
                        std::span<std::uint64_t> out) override {
    return inner_->edge_ids(positions, out);
  }

 private:
  std::shared_ptr<Topology> inner_;
  Meeting& meeting_;
};

// As many in-edges for each target of type 0, from drawn nodes of type `source`.
void add_even_relation(TestGraph& graph, std::size_t source, std::uint64_t degree) {
  const RandomKey key = RandomKey(graph.edges.size()).with("even relation");
  const std::uint64_t sources = graph.schema.nodes.at(source).count;
  test::EdgeLists lists(graph.schema.nodes.at(0).count);
  std::uint64_t edge = 0;
  for (auto& list : lists) {
    for (std::uint64_t i = 0; i < degree; ++i, ++edge)
      list.push_back({key.below(sources, edge), 7 * edge + 3});
  }
  test::add_relation(graph, source, 0, std::move(lists));
}

struct RelationRequests {
  std::vector<std::vector<std::uint64_t>> seeds;
  std::vector<SampleRequest> requests;

  RelationRequests(const TestGraph& graph, std::size_t count, std::size_t batch_size)
      : seeds(count), requests(count) {
    for (std::size_t i = 0; i < count; ++i) {
      seeds[i] = test::random_seeds(graph, 0, batch_size, RandomKey(i).with("seeds"));
      requests[i] = {.epoch = 1, .round = i, .index = i, .seeds = seeds[i]};
    }
  }
};

std::vector<std::uint64_t> hashes_in_ram(const TestGraph& graph,
                                         const Method& method,
                                         const RelationRequests& asked) {
  const auto sampler = method->make(graph.open(Held::k32), test::kAllParts, RandomKey(1));
  std::vector<std::uint64_t> hashes;
  for (const SampleRequest& request : asked.requests)
    hashes.push_back(hash_batch(sampler->sample(request, nullptr).or_throw()));
  return hashes;
}

std::vector<std::uint64_t> hashes_of_group(GroupSampler& sampler,
                                           const RelationRequests& asked,
                                           MemoryLedger* ledger) {
  std::vector<std::uint64_t> hashes;
  for (const Batch& batch : sampler.sample(asked.requests, ledger).or_throw())
    hashes.push_back(hash_batch(batch));
  return hashes;
}

Method neighbor_method(NeighborSamplerOptions options) {
  return std::make_shared<SamplerKind<NeighborSampler>>(std::move(options));
}

Method labor_method(LaborSamplerOptions options) {
  return std::make_shared<SamplerKind<LaborSampler>>(std::move(options));
}

TEST_CASE("reads of a hop's relations are under way together, as many as there are threads") {
  TestGraph graph = test::make_graph({80, 60, 40});
  for (const std::size_t source : {0u, 1u, 2u}) add_even_relation(graph, source, 9);
  const Method method = neighbor_method({{4, 4}});
  const RelationRequests asked(graph, 3, 20);
  const auto expected = hashes_in_ram(graph, method, asked);
  for (const int threads : {1, 2, 3}) {
    CAPTURE(threads);
    Meeting meeting(threads);
    SamplerGraph opened = graph.open(Held::kHidden);
    for (auto& relation : opened.relations)
      relation = std::make_shared<MeetingTopology>(relation, meeting);
    ThreadArena arena(threads);
    GroupSampler sampler(opened, method, test::kAllParts, RandomKey(1), arena);
    CHECK(hashes_of_group(sampler, asked, nullptr) == expected);
    CHECK(meeting.most() == threads);
  }
}

TEST_CASE("relations in RAM between those on disk, in any mixture, are the same batches") {
  TestGraph graph = test::make_graph({80, 60});
  const RandomKey key = RandomKey(3).with("mixture");
  const std::vector<std::pair<std::size_t, std::size_t>> ends{{0, 0}, {1, 0}, {0, 1}, {1, 0}};
  for (const auto& [source, target] : ends) {
    const std::uint64_t sources = graph.schema.nodes[source].count;
    const std::uint64_t targets = graph.schema.nodes[target].count;
    test::add_relation(
        graph, source, target, test::random_lists(sources, targets, key.with(graph.edges.size())));
  }
  const std::vector<Method> methods{
      neighbor_method({{5, 3, 2}}),
      neighbor_method({.fanout = {5, -1}, .relations = {{"r1", {0, 2}}}}),
      neighbor_method({.fanout = {4, 3, 2}, .draw_once = true}),
      labor_method({.fanout = {4, 3}, .hub_degree = 40}),
      labor_method({.fanout = {4, 3}, .draw_once = true})};
  const RelationRequests asked(graph, 5, 25);
  for (std::size_t m = 0; m < methods.size(); ++m) {
    CAPTURE(m);
    const auto expected = hashes_in_ram(graph, methods[m], asked);
    for (unsigned on_disk = 0; on_disk < 1u << ends.size(); ++on_disk) {
      CAPTURE(on_disk);
      SamplerGraph mixed = graph.open(Held::k32);
      const SamplerGraph hidden = graph.open(Held::kHidden);
      for (std::size_t r = 0; r < ends.size(); ++r) {
        if ((on_disk >> r & 1u) != 0) mixed.relations[r] = hidden.relations[r];
      }
      ThreadArena arena(1 + static_cast<int>(on_disk % 3));
      MemoryLedger ledger;
      GroupSampler sampler(mixed, methods[m], test::kAllParts, RandomKey(1), arena);
      REQUIRE(hashes_of_group(sampler, asked, &ledger) == expected);
      CHECK(ledger.used() == sampler.workspace_bytes());
    }
  }
}

TEST_CASE("relations of more positions than are asked for at once take turns within that memory") {
  TestGraph graph = test::make_graph({100});
  const std::vector<std::uint64_t> degrees{500, 8000, 3000, 3000, 200};
  for (const std::uint64_t degree : degrees) add_even_relation(graph, 0, degree);
  // Of each method, how often each relation is asked: the second has more edges than a piece.
  const std::vector<std::pair<Method, int>> methods{{neighbor_method({{-1}}), 2},
                                                    {labor_method({.fanout = {10}}), 2}};
  RelationRequests asked(graph, 1, 1);
  asked.seeds[0].resize(100);
  for (std::uint64_t node = 0; node < 100; ++node) asked.seeds[0][node] = node;
  asked.requests[0].seeds = asked.seeds[0];
  for (const auto& [method, calls] : methods) {
    const auto expected = hashes_in_ram(graph, method, asked);
    const SamplerGraph opened = graph.open(Held::kHidden);
    MemoryLedger ledger;
    ThreadArena arena(2);
    GroupSampler sampler(opened, method, test::kAllParts, RandomKey(1), arena);
    CHECK(hashes_of_group(sampler, asked, &ledger) == expected);
    for (std::size_t r = 0; r < degrees.size(); ++r) {
      CAPTURE(r);
      const auto& topology = dynamic_cast<test::ListTopology&>(*opened.relations[r]);
      CHECK(topology.neighbour_calls == (r == 1 ? calls : 1));
    }
    // Positions and answers of a piece, not of all relations (1.2 Mi positions, 20 MB).
    CHECK(sampler.workspace_bytes() < 3 * sizeof(std::uint64_t) * GroupSampler::kMaxPositions);
  }
}

TEST_CASE("a relation that cannot be read fails the group, and the sampler works on") {
  TestGraph graph = test::make_graph({80, 60, 40});
  for (const std::size_t source : {0u, 1u, 2u}) add_even_relation(graph, source, 9);
  const Method method = neighbor_method({{4, 4}});
  const RelationRequests asked(graph, 3, 20);
  const SamplerGraph opened = graph.open(Held::kHidden);
  ThreadArena arena(2);
  GroupSampler sampler(opened, method, test::kAllParts, RandomKey(1), arena);
  for (const auto& relation : opened.relations) {
    auto& topology = dynamic_cast<test::ListTopology&>(*relation);
    topology.fail_neighbours = true;
    CHECK(sampler.sample(asked.requests, nullptr).error().code() == ErrorCode::kIo);
    topology.fail_neighbours = false;
    CHECK(hashes_of_group(sampler, asked, nullptr) == hashes_in_ram(graph, method, asked));
  }
}

}  // namespace
}  // namespace sluice
