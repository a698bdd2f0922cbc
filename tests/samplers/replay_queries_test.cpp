// Query sources of replay: old and new mini-batches in turns, events and nodes of a buffer, and
// events by the stage they came in.
#include "samplers/replay_queries.h"
#include "samplers/event_links.h"
#include "samplers/event_queries.h"
#include "samplers/replay_support.h"
#include "samplers/temporal_support.h"

#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <tuple>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr std::uint64_t kReplayNodes = 25, kReplayEvents = 400, kReplaySeed = 41;

// Ids do not ascend in time: some events came late.
Events replayed_events() {
  Events events;
  for (std::uint64_t id = 0; id < kReplayEvents; ++id) {
    const RandomKey key = RandomKey(kReplaySeed).with(id);
    events.push_back({key.below(kReplayNodes, 0),
                      key.below(kReplayNodes, 1),
                      static_cast<std::int64_t>(id / 3 + key.below(40, 2)),
                      id});
  }
  return events;
}

EventLinks event_links_of(const Events& events) {
  ThreadArena arena(2);
  return EventLinks::make(
             std::make_shared<const TemporalGraph>(make_temporal(events, kReplayNodes)),
             arena,
             nullptr)
      .or_throw();
}

GraphSchema replay_schema() {
  GraphSchema schema;
  schema.nodes.resize(1);
  schema.nodes[0].name = "node";
  schema.nodes[0].count = kReplayNodes;
  schema.relations.resize(1);
  schema.relations[0].source = schema.relations[0].target = "node";
  schema.relations[0].name = "edge";
  return schema;
}

// (time, id, source, target) of all, in order.
using ToldEvents =
    std::vector<std::tuple<std::int64_t, std::uint64_t, std::uint64_t, std::uint64_t>>;
ToldEvents told_events(const Links& links) {
  ToldEvents all;
  for (std::uint64_t number = 0; number < links.size(); ++number) {
    std::uint64_t source = 0, target = 0, id = 0;
    std::int64_t time = 0;
    links.find({&number, 1}, {{&source, 1}, {&target, 1}, {&id, 1}, {}, {&time, 1}}).or_throw();
    all.emplace_back(time, id, source, target);
  }
  return all;
}

ToldEvents told_events(const Events& events, std::uint64_t first, std::uint64_t last) {
  ToldEvents all;
  for (const TemporalEvent& event : events)
    if (event.id >= first && event.id < last)
      all.emplace_back(event.time, event.id, event.source, event.target);
  std::ranges::sort(all);
  return all;
}

// Says which mini-batch it was asked for.
class NumberedSource final : public QuerySource {
 public:
  NumberedSource(std::uint64_t batches, std::uint64_t epoch_offset)
      : batches_(batches), offset_(epoch_offset) {}
  std::uint64_t num_batches() const override { return batches_; }
  std::uint64_t num_queries() const override { return 7 * batches_; }
  Result<QueryBatch> batch(std::uint64_t epoch,
                           std::uint64_t index,
                           MemoryLedger* /*ledger*/) const override {
    QueryBatch batch{epoch, index, index, {}, {}};
    batch.queries.relation = offset_ + index;
    return batch;
  }

 private:
  std::uint64_t batches_, offset_;
};

}  // namespace

TEST_CASE("events by their ids, and merged again, are in the order of time") {
  MESSAGE("seed " << kReplaySeed);
  const Events events = replayed_events();
  const EventLinks all = event_links_of(events);
  const EventLinks old = all.with_ids(0, 250, nullptr).or_throw();
  const EventLinks fresh = all.with_ids(250, kReplayEvents, nullptr).or_throw();
  CHECK(told_events(old) == told_events(events, 0, 250));
  CHECK(told_events(fresh) == told_events(events, 250, kReplayEvents));
  CHECK(told_events(old.merged_with(fresh, nullptr).or_throw()) == told_events(all));
  CHECK(told_events(all) == told_events(events, 0, kReplayEvents));
  CHECK(all.with_ids(kReplayEvents, kReplayEvents + 9, nullptr).or_throw().size() == 0);
  // Of a range, and found in it.
  const EventLinks range = all.range(100, 300);
  const EventLinks part = range.with_ids(250, kReplayEvents, nullptr).or_throw();
  const ToldEvents expected = told_events(part);
  CHECK(expected.size() < fresh.size());
  for (const auto& event : expected) CHECK(std::ranges::count(told_events(range), event) == 1);
  const std::int64_t middle = part.time(part.size() / 2);
  CHECK(part.before(middle) ==
        static_cast<std::uint64_t>(std::ranges::count_if(
            expected, [&](const auto& event) { return std::get<0>(event) < middle; })));
}

TEST_CASE("old and new mini-batches come in turns, each with a number of its own") {
  const ReplayMix mix(std::make_unique<NumberedSource>(5, 100),
                      std::make_unique<NumberedSource>(5, 0));
  CHECK(mix.num_batches() == 10);
  CHECK(mix.num_queries() == 70);
  for (std::uint64_t index = 0; index < 10; ++index) {
    const QueryBatch batch = mix.batch(3, index, nullptr).or_throw();
    CHECK(batch.epoch == 3);
    CHECK(batch.index == index);
    CHECK(batch.round == index);  // draws of both differ
    CHECK(batch.queries.relation == (index % 2 == 0 ? 100 : 0) + index / 2);
    CHECK(ReplayMix::is_old(index) == (index % 2 == 0));
  }
}

TEST_CASE("replayed events are those of the buffer, each at its own time") {
  const Events events = replayed_events();
  const auto old =
      std::make_shared<EventLinks>(event_links_of(events).with_ids(0, 250, nullptr).or_throw());
  const auto buffer = std::make_shared<const ReplayBuffer>(
      ReplayBuffer::of_links(
          *old, kReplayNodes, 0, {ReplayRule::kStructure, 4, RandomKey(kReplaySeed)}, nullptr)
          .or_throw());
  const ToldEvents known = told_events(*old);
  EventQueryOptions options;
  options.batch_size = 30;
  options.replayed = ReplayedQueries{buffer, 6};
  const EventQueries queries(replay_schema(), old, options);
  CHECK(queries.num_batches() == 6);
  CHECK(queries.num_queries() == 180);
  NodeList drawn(30);
  for (std::uint64_t index = 0; index < 6; ++index) {
    const QueryBatch batch = queries.batch(2, index, nullptr).or_throw();
    buffer->draw(2, index, drawn);
    const auto ids = std::as_const(batch.queries.ids).as<std::uint64_t>();
    const auto times = std::as_const(batch.queries.times).as<std::int64_t>();
    const auto sources = std::as_const(batch.queries.sources).as<std::int64_t>();
    const auto seeds = std::as_const(batch.seeds[0]).as<std::uint64_t>();
    const auto seed_times = std::as_const(batch.seed_times[0]).as<std::int64_t>();
    REQUIRE(ids.size() == 30);
    CHECK(batch.cut->event == ids[0]);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto& [time, id, source, target] = known[drawn[i]];
      CHECK(ids[i] == id);
      CHECK(times[i] == time);
      const auto row = static_cast<std::size_t>(sources[i]);
      CHECK(seeds[row] == source);
      CHECK(seed_times[row] == time);
      const auto nodes = buffer->nodes();
      CHECK((std::ranges::count(nodes, source) + std::ranges::count(nodes, target)) > 0);
    }
  }
}

TEST_CASE("replayed nodes that weigh much are asked about again, and are seeds once") {
  // A star: its middle stands for all but one.
  EdgeList edges;
  for (std::uint64_t node = 1; node < 20; ++node) edges.emplace_back(0, node);
  NodeList old;
  for (std::uint64_t node = 0; node < 22; ++node) old.push_back(node);  // two by themselves
  const auto buffer = std::make_shared<const ReplayBuffer>(
      ReplayBuffer::of_nodes(
          old, 22, pass_of(edges), {ReplayRule::kStructure, 4, RandomKey(kReplaySeed)}, nullptr)
          .or_throw());
  std::uint64_t sum = 0, most = 0;
  for (std::size_t place = 0; place < 4; ++place) {
    sum += buffer->weight(place);
    most = std::max(most, buffer->weight(place));
  }
  REQUIRE(sum == 22);
  REQUIRE(most > 11);
  GraphSchema schema = replay_schema();
  schema.nodes[0].count = 22;
  ReplayNodeOptions options;
  options.nodes = array_of(old);
  options.batch_size = 100;
  options.times = Array::make(DType::kI64, {22}).or_throw();
  for (std::size_t node = 0; node < 22; ++node)
    options.times.as<std::int64_t>()[node] = 1000 - static_cast<std::int64_t>(node);
  const ReplayNodeQueries queries(schema, options, {buffer, 9});
  CHECK(queries.num_batches() == 9);
  CHECK(queries.num_queries() == 9 * 4);  // no more than there are
  for (std::uint64_t index = 0; index < 9; ++index) {
    const QueryBatch batch = queries.batch(1, index, nullptr).or_throw();
    const auto ids = batch.queries.ids.as<std::uint64_t>();
    const auto rows = batch.queries.nodes.as<std::int64_t>();
    const auto seeds = batch.seeds[0].as<std::uint64_t>();
    REQUIRE(ids.size() == 4);
    CHECK(seeds.size() < 4);
    CHECK(std::set<std::uint64_t>(seeds.begin(), seeds.end()).size() == seeds.size());
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(seeds[static_cast<std::size_t>(rows[i])] == ids[i]);
      CHECK(batch.queries.times.as<std::int64_t>()[i] == 1000 - static_cast<std::int64_t>(ids[i]));
    }
    for (std::size_t row = 0; row < seeds.size(); ++row)
      CHECK(batch.seed_times[0].as<std::int64_t>()[row] ==
            1000 - static_cast<std::int64_t>(seeds[row]));
  }
}
