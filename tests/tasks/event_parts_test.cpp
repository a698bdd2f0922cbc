// Events divided by times: two of them, or three, of which the first ends what is in no part.
#include "tasks/event_parts.h"
#include "samplers/temporal_support.h"
#include "support/expect_error.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

using namespace sluice;
using namespace sluice::test;
using tasks::EventParts;
using tasks::EventSplitOptions;
using tasks::SplitBy;

namespace {

using PartIds = std::vector<std::uint64_t>;

// Eight events of which two have one time; ids are their places.
EventLinks eight_events() {
  const std::vector<std::int64_t> times{10, 20, 20, 30, 40, 50, 60, 70};
  Events events;
  for (std::uint64_t id = 0; id < times.size(); ++id) {
    TemporalEvent event{};
    event.target = id % 2;
    event.source = 2;
    event.time = times[id];
    event.id = id;
    events.push_back(event);
  }
  ThreadArena arena(1);
  const auto graph = std::make_shared<const TemporalGraph>(make_temporal(events, 3));
  return EventLinks::make(graph, arena, nullptr).or_throw();
}

PartIds listed_ids(const EventParts& parts, Part part) {
  const std::shared_ptr<const Links> links = parts.links(part);
  PartIds numbers(links->size()), ids(links->size()), sources(links->size()),
      targets(links->size());
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  links->find(numbers, {sources, targets, ids, {}, {}}).or_throw();
  return ids;
}

EventSplitOptions by_times(std::vector<std::int64_t> times) {
  EventSplitOptions options;
  options.by = SplitBy::kTime;
  options.times = std::move(times);
  return options;
}

}  // namespace

TEST_CASE("two times end training and validation") {
  const EventParts parts(eight_events(), by_times({20, 40}), nullptr, nullptr);
  CHECK(listed_ids(parts, Part::kTrain) == PartIds{0, 1, 2});
  CHECK(listed_ids(parts, Part::kValid) == PartIds{3, 4});
  CHECK(listed_ids(parts, Part::kTest) == PartIds{5, 6, 7});
  CHECK(parts.training_first() == 10);
}

TEST_CASE("of three times the first ends what is before training") {
  const EventParts parts(eight_events(), by_times({20, 40, 60}), nullptr, nullptr);
  CHECK(listed_ids(parts, Part::kTrain) == PartIds{3, 4});
  CHECK(listed_ids(parts, Part::kValid) == PartIds{5, 6});
  CHECK(listed_ids(parts, Part::kTest) == PartIds{7});
  CHECK(parts.count(Part::kAll) == 8);
  CHECK(parts.training_first() == 30);
  CHECK(parts.training_last() == 40);
  CHECK(parts.training_end() == 50);
}

TEST_CASE("times that make no split are refused") {
  for (const std::vector<std::int64_t>& times : std::vector<std::vector<std::int64_t>>{
           {}, {1}, {1, 2, 3, 4}, {2, 1}, {1, 3, 2}, {3, 1, 4}}) {
    const Error error = expect_error([&] { by_times(times).check(); });
    CHECK(error.code() == ErrorCode::kUsage);
    CHECK(std::string_view(error.what()).find("task.split_times") != std::string_view::npos);
  }
  by_times({1, 1}).check();
  by_times({1, 1, 1}).check();
  // Nothing is left between the first two.
  const Error none = expect_error([] {
    const EventParts parts(eight_events(), by_times({70, 70, 70}), nullptr, nullptr);
  });
  CHECK(none.code() == ErrorCode::kUsage);
}
