#include "tasks/event_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace sluice::tasks {
namespace {

constexpr std::array<Part, 3> kParts{Part::kTrain, Part::kValid, Part::kTest};

std::uint64_t place_of_share(double share, std::uint64_t events) {
  const auto place = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(events)));
  return std::min(place, events);
}

using TimeOf = std::function<std::int64_t(std::uint64_t)>;

// How many are not after a time.
std::uint64_t up_to_time(std::uint64_t count, const TimeOf& time, std::int64_t bound) {
  std::uint64_t first = 0, last = count;
  while (first < last) {
    const std::uint64_t middle = first + (last - first) / 2;
    if (time(middle) <= bound) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

// How many are not after a quantile of all times: of whole times those up to its floor.
std::uint64_t up_to_quantile(std::uint64_t count, const TimeOf& time, double share) {
  if (count == 0) return 0;
  const double place = share * static_cast<double>(count - 1);
  const auto low = static_cast<std::uint64_t>(place);
  const std::int64_t before = time(low);
  const std::int64_t after = time(std::min(low + 1, count - 1));
  const double between =
      (static_cast<double>(after) - static_cast<double>(before)) * (place - std::floor(place));
  return up_to_time(count, time, before + static_cast<std::int64_t>(std::floor(between)));
}

[[noreturn]] void refuse_split(const std::string& message, const std::string& hint) {
  throw Error(ErrorCode::kUsage, "[task] split_by: " + message, hint);
}

const Array& ids_of(const EdgeSplit& split, Part part) {
  return part == Part::kTrain ? split.train : part == Part::kValid ? split.valid : split.test;
}

}  // namespace

void EventSplitOptions::describe(Schema& schema) {
  schema
      .choice(
          "split_by",
          by,
          {{"ratio", SplitBy::kRatio, "shares of the events in the order of time"},
           {"quantile",
            SplitBy::kQuantile,
            "up to quantiles of the times, as TGN and TGB do: events of one time stay together"},
           {"time", SplitBy::kTime, "up to split_times"},
           {"stored", SplitBy::kStored, "the edge split that [dataset] split names"}})
      .help("which events are for train, valid and test");
  schema.field("edge_split", shares)
      .help("of split_by \"ratio\" and \"quantile\": shares of train, valid and test")
      .range(0, 1);
  schema.field("split_times", times)
      .help(
          "of split_by \"time\": the last time of train, and the last of valid; of three times the "
          "first is the last before train: what was until then is seen, and in no part")
      .unit("ticks");
}

void EventSplitOptions::check() const {
  if (by == SplitBy::kTime &&
      (times.size() < 2 || times.size() > 3 || !std::ranges::is_sorted(times)))
    refuse_split("'task.split_times' is not two or three times, none after the next",
                 "for example split_times = [1862652, 2218288]: the last of train, of valid");
  if (by != SplitBy::kRatio && by != SplitBy::kQuantile) return;
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (shares.size() == 3 && std::abs(sum - 1) < 1e-6 && shares[0] > 0) return;
  refuse_split("'task.edge_split' is not three shares that sum to 1, that of training above 0",
               "for example edge_split = [0.7, 0.15, 0.15]: train, valid, test");
}

std::array<std::uint64_t, 4> part_ends(const EventSplitOptions& options,
                                       std::uint64_t count,
                                       const TimeOf& time) {
  if (options.by == SplitBy::kTime) {
    const auto last = [&](std::size_t from_end) {
      return up_to_time(count, time, options.times[options.times.size() - from_end]);
    };
    return {options.times.size() == 3 ? last(3) : 0, last(2), last(1), count};
  }
  const double first = options.shares[0], second = first + options.shares[1];
  if (options.by == SplitBy::kQuantile)
    return {0,
            up_to_quantile(count, time, first),
            up_to_quantile(count, time, std::min(second, 1.0)),
            count};
  return {0, place_of_share(first, count), place_of_share(second, count), count};
}

EventParts::EventParts(const EventLinks& all,
                       const EventSplitOptions& options,
                       const EdgeSplit* split,
                       MemoryLedger* ledger) {
  links_[static_cast<std::size_t>(Part::kAll)] = std::make_shared<EventLinks>(all);
  if (options.by == SplitBy::kStored) {
    take_listed(all, *split, ledger);
  } else {
    const auto ends =
        part_ends(options, all.size(), [&all](std::uint64_t number) { return all.time(number); });
    for (std::size_t part = 0; part < kParts.size(); ++part)
      links_.at(part) = std::make_shared<EventLinks>(all.range(ends.at(part), ends.at(part + 1)));
  }
  if (count(Part::kTrain) == 0)
    refuse_split("the split leaves no events for training",
                 "set task.split_by and task.edge_split or task.split_times");
  note_times();
}

EventParts EventParts::joined(const EventParts& one,
                              const EventParts& other,
                              MemoryLedger* ledger) {
  EventParts all;
  for (std::size_t part = 0; part < all.links_.size(); ++part) {
    const auto* const own = dynamic_cast<const EventLinks*>(one.links_.at(part).get());
    const auto* const theirs = dynamic_cast<const EventLinks*>(other.links_.at(part).get());
    if (own == nullptr || theirs == nullptr)
      throw Error(ErrorCode::kInternal, "parts of listed events are joined");
    all.links_.at(part) =
        std::make_shared<EventLinks>(own->merged_with(*theirs, ledger).or_throw());
  }
  all.note_times();
  return all;
}

// Which events each list names: all are gone through in the order of time. Without a list for
// training it has those of no other.
void EventParts::take_listed(const EventLinks& all, const EdgeSplit& split, MemoryLedger* ledger) {
  const auto make = [ledger](DType dtype, std::size_t count) {
    return Array::make(dtype, {static_cast<std::int64_t>(count)}, ledger, "edge split").or_throw();
  };
  Array numbers = make(DType::kU64, all.size()), ids = make(DType::kU64, all.size());
  Array sources = make(DType::kU64, all.size()), targets = make(DType::kU64, all.size());
  Array times = make(DType::kI64, all.size());
  const auto every = numbers.as<std::uint64_t>();
  std::iota(every.begin(), every.end(), std::uint64_t{0});
  all.find(every,
           {sources.as<std::uint64_t>(),
            targets.as<std::uint64_t>(),
            ids.as<std::uint64_t>(),
            {},
            times.as<std::int64_t>()})
      .or_throw();
  const auto sorted = [&](Part part) {
    const Array& given = ids_of(split, part);
    Array made = make(DType::kU64, static_cast<std::size_t>(given.numel()));
    if (!given.empty())
      std::ranges::copy(given.as<std::uint64_t>(), made.as<std::uint64_t>().begin());
    std::ranges::sort(made.as<std::uint64_t>());
    return made;
  };
  const std::array<Array, 3> lists{sorted(Part::kTrain), sorted(Part::kValid), sorted(Part::kTest)};
  const auto has = [&](Part part, std::uint64_t id) {
    return std::ranges::binary_search(lists.at(static_cast<std::size_t>(part)).as<std::uint64_t>(),
                                      id);
  };
  for (const Part part : kParts) {
    const auto listed = lists.at(static_cast<std::size_t>(part)).as<std::uint64_t>();
    const bool others = part == Part::kTrain && listed.empty();
    std::vector<std::uint64_t> own;
    for (std::size_t i = 0; i < every.size(); ++i) {
      const std::uint64_t id = ids.as<std::uint64_t>()[i];
      if (others ? !has(Part::kValid, id) && !has(Part::kTest, id) : has(part, id))
        own.push_back(i);
    }
    if (own.size() < listed.size())
      refuse_split(fmt::format("the edge split lists {} events as {}, and the relation has {} of "
                               "them",
                               listed.size(),
                               to_string(part),
                               own.size()),
                   "choose another [dataset] split, or another task.split_by");
    LinkArrays links{make(DType::kU64, own.size()),
                     make(DType::kU64, own.size()),
                     make(DType::kU64, own.size()),
                     {},
                     make(DType::kI64, own.size())};
    all.find(own,
             {links.sources.as<std::uint64_t>(),
              links.targets.as<std::uint64_t>(),
              links.ids.as<std::uint64_t>(),
              {},
              links.times.as<std::int64_t>()})
        .or_throw();
    links_.at(static_cast<std::size_t>(part)) = std::make_shared<ListedLinks>(std::move(links));
  }
}

std::shared_ptr<const Links> EventParts::links(Part part) const {
  const auto place = static_cast<std::size_t>(part);
  if (place < links_.size()) return links_.at(place);
  refuse_split("it has no such part", "choose --part train, valid, test or all");
}

void EventParts::note_times() {
  const auto time_of = [](const Links& links, std::uint64_t number) {
    std::uint64_t source = 0, target = 0;
    std::int64_t time = 0;
    links.find({&number, 1}, {{&source, 1}, {&target, 1}, {}, {}, {&time, 1}}).or_throw();
    return time;
  };
  const Links& train = *links(Part::kTrain);
  training_first_ = time_of(train, 0);
  training_last_ = time_of(train, train.size() - 1);
  training_end_ = std::numeric_limits<std::int64_t>::max();
  for (const Part part : {Part::kValid, Part::kTest}) {
    const Links& others = *links(part);
    if (others.size() != 0) training_end_ = std::min(training_end_, time_of(others, 0));
  }
}

std::uint64_t EventParts::expected(Part part,
                                   const EventSplitOptions& options,
                                   std::uint64_t events) {
  if (part == Part::kAll) return events;
  const bool sound = options.by != SplitBy::kTime && options.shares.size() == 3;
  const std::array<double, 3> shares{sound ? options.shares[0] : 0.7,
                                     sound ? options.shares[1] : 0.15,
                                     sound ? options.shares[2] : 0.15};
  return place_of_share(shares.at(static_cast<std::size_t>(part)), events);
}

}  // namespace sluice::tasks
