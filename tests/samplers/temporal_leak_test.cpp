// The leak test: what the temporal neighbour sampler shows of who is written to is what was there
// before, no more and no less. On the UCI messages; skipped where they are not there.
//
// A sampler that leaks the message that is asked about makes it easy to tell from others: not by
// how many messages a node had (AUC .707 without, .712 with it), but by when the last one was (.935
// and .999; all four measured apart from this code).
#include "samplers/temporal_neighbor_sampler.h"
#include "temporal_support.h"

#include <doctest/doctest.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>

namespace sluice {
namespace {

using test::Events;

constexpr std::size_t kLatest = 10;
constexpr std::uint64_t kLeakSeed = 37;

// By line: id 0 is the first. Nothing, with a word, where the file is not there.
Events read_messages() {
  const char* data = std::getenv("SLUICE_DATA");
  const char* source = std::getenv("SLUICE_SOURCE");
  const std::filesystem::path folder =
      data != nullptr ? std::filesystem::path(data)
                      : std::filesystem::path(source != nullptr ? source : ".") / "../shared/data";
  std::ifstream file(folder / "uci" / "uci.csv");
  if (!file) {
    MESSAGE("skipped: no ", (folder / "uci" / "uci.csv").string(), "; set SLUICE_DATA");
    return {};
  }
  Events messages;
  std::string line;
  std::getline(file, line);
  REQUIRE(line.starts_with("src,dest,ts"));
  while (std::getline(file, line)) {
    TemporalEvent message{.id = messages.size()};
    const char* const end = line.data() + line.size();
    const auto from = std::from_chars(line.data(), end, message.source);
    const auto to = std::from_chars(from.ptr + 1, end, message.target);
    REQUIRE(std::from_chars(to.ptr + 1, end, message.time).ec == std::errc());
    messages.push_back(message);
  }
  std::ranges::stable_sort(messages, test::comes_before);
  return messages;
}

// Messages as both relations of a graph have them: who was written to, and who wrote.
struct Messages {
  explicit Messages(const Events& messages) {
    std::uint64_t count = 0;
    for (const TemporalEvent& each : messages)
      count = std::max({count, each.source + 1, each.target + 1});
    schema.nodes = {{.name = "student", .count = count}};
    schema.relations = {{.source = "student", .name = "writes", .target = "student"},
                        {.source = "student", .name = "is_written", .target = "student"}};
    Events turned = messages;
    for (TemporalEvent& each : turned) std::swap(each.source, each.target);
    for (const Events* const events : {&messages, static_cast<const Events*>(&turned)}) {
      graph.relations.push_back(nullptr);  // not looked at
      graph.temporal.push_back(
          std::make_shared<const TemporalGraph>(test::make_temporal(*events, count)));
      times.emplace_back(count);
      for (const TemporalEvent& each : *events) times.back()[each.target].push_back(each.time);
    }
    graph.schema = &schema;
  }
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  GraphSchema schema;
  SamplerGraph graph;
  std::vector<std::vector<std::vector<std::int64_t>>> times;  // by relation and node
};

// What a student's rows show at a time.
struct Shown {
  std::array<std::size_t, 2> events{};  // by relation
  std::int64_t since = test::kLastTime;
  bool asked_event = false;
};

// `asked` are events at whose times their targets are asked about.
std::vector<Shown> ask(const Messages& messages,
                       const Events& asked,
                       TemporalVisibility visibility) {
  constexpr std::size_t kBatch = 300;
  TemporalNeighborSampler sampler(messages.graph,
                                  {.count = {kLatest}, .visibility = visibility},
                                  {.transpose = false, .edge_ids = true},
                                  RandomKey(kLeakSeed));
  std::vector<Shown> all;
  for (std::size_t first = 0; first < asked.size(); first += kBatch) {
    const std::size_t last = std::min(first + kBatch, asked.size());
    std::map<std::pair<std::uint64_t, std::int64_t>, std::size_t> rows;
    std::vector<std::uint64_t> nodes;
    std::vector<std::int64_t> times;
    for (std::size_t i = first; i < last; ++i) {
      if (!rows.try_emplace({asked[i].target, asked[i].time}, nodes.size()).second) continue;
      nodes.push_back(asked[i].target);
      times.push_back(asked[i].time);
    }
    QueryBatch batch;
    batch.seeds.push_back(test::make_array(nodes));
    batch.seed_times.push_back(test::make_array(times));
    const Batch sampled = sampler.sample({.seeds = SeedLists(batch)}, nullptr).or_throw();
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t row = rows.at({asked[i].target, asked[i].time});
      Shown& shown = all.emplace_back();
      for (std::size_t r = 0; r < shown.events.size(); ++r) {
        const Block& block = sampled.layers.at(0).at(r);
        const auto offsets = block.offsets.as<std::int64_t>();
        const auto begin = static_cast<std::size_t>(offsets[row]);
        shown.events[r] = static_cast<std::size_t>(offsets[row + 1]) - begin;
        for (std::size_t e = begin; e < begin + shown.events[r]; ++e) {
          shown.since = std::min(shown.since, block.deltas.as<std::int64_t>()[e]);
          if (block.edge_ids.as<std::uint64_t>()[e] == asked[i].id) shown.asked_event = true;
        }
      }
    }
  }
  return all;
}

// How many rows are longer or shorter than what a look at all of a student's messages says.
std::size_t wrong_counts(const Messages& messages,
                         const Events& asked,
                         const std::vector<Shown>& shown,
                         TemporalVisibility visibility) {
  const bool own_time = visibility == TemporalVisibility::kInclusive;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    for (std::size_t r = 0; r < 2; ++r) {
      const auto before =
          std::ranges::count_if(messages.times[r][asked[i].target], [&](std::int64_t time) {
            return time < asked[i].time || (own_time && time == asked[i].time);
          });
      if (shown[i].events[r] != std::min(kLatest, static_cast<std::size_t>(before))) ++wrong;
    }
  }
  return wrong;
}

// How often a positive one is above a negative one; ties count half.
template <class Score>
double auc(const std::vector<Shown>& positives,
           const std::vector<Shown>& negatives,
           const Score& score) {
  std::vector<std::int64_t> others;
  for (const Shown& each : negatives) others.push_back(score(each));
  std::ranges::sort(others);
  double above = 0;
  for (const Shown& each : positives) {
    const auto ties = std::ranges::equal_range(others, score(each));
    above +=
        static_cast<double>(ties.begin() - others.begin()) + static_cast<double>(ties.size()) / 2;
  }
  return above / static_cast<double>(positives.size()) / static_cast<double>(negatives.size());
}

std::int64_t number_of(const Shown& shown) {
  return static_cast<std::int64_t>(std::min(kLatest, shown.events[0] + shown.events[1]));
}

std::int64_t recency_of(const Shown& shown) {
  return -shown.since;
}

TEST_CASE("UCI: the number of events before a message alone tells little of who is written to") {
  const Events messages = read_messages();
  if (messages.empty()) return;
  const Messages graph(messages);
  std::vector<std::uint64_t> destinations;
  for (std::uint64_t node = 0; node < graph.schema.nodes[0].count; ++node) {
    if (!graph.times[0][node].empty()) destinations.push_back(node);
  }
  REQUIRE(messages.size() == 59'835);
  REQUIRE(destinations.size() == 1'862);
  const auto tested = std::llround(0.85 * static_cast<double>(messages.size()));
  const Events positives(messages.begin() + tested, messages.end());
  Events negatives = positives;
  const RandomKey key = RandomKey(kLeakSeed).with("other destinations");
  for (std::size_t i = 0; i < negatives.size(); ++i)
    negatives[i].target = destinations[key.below(destinations.size(), i)];
  CAPTURE(kLeakSeed);

  const auto strict = TemporalVisibility::kStrict, inclusive = TemporalVisibility::kInclusive;
  const std::vector<Shown> met = ask(graph, positives, strict);
  const std::vector<Shown> drawn = ask(graph, negatives, strict);
  CHECK(wrong_counts(graph, positives, met, strict) == 0);
  CHECK(wrong_counts(graph, negatives, drawn, strict) == 0);
  CHECK(std::ranges::none_of(met, &Shown::asked_event));
  CHECK(std::ranges::all_of(met, [](const Shown& each) { return each.since > 0; }));
  const double by_number = auc(met, drawn, number_of);
  CHECK(std::abs(by_number - 0.708) < 0.01);
  CHECK(std::abs(auc(met, drawn, recency_of) - 0.935) < 0.015);

  const std::vector<Shown> leaked = ask(graph, positives, inclusive);
  const std::vector<Shown> beside = ask(graph, negatives, inclusive);
  CHECK(wrong_counts(graph, positives, leaked, inclusive) == 0);
  CHECK(wrong_counts(graph, negatives, beside, inclusive) == 0);
  CHECK(std::ranges::all_of(leaked, &Shown::asked_event));
  CHECK(auc(leaked, beside, number_of) > by_number);
  CHECK(auc(leaked, beside, recency_of) > 0.99);
}

}  // namespace
}  // namespace sluice
