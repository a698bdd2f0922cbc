// The conversion against its definition, by brute force: whatever the budget, the threads, the
// width of records and the options.
#include "prep/convert/converter.h"
#include "prep/convert/seen_sources.h"
#include "support/expect_error.h"
#include "support/file_size_limit.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/random.h>

#include <algorithm>
#include <set>

using namespace sluice;
using sluice::test::sanitized;
using sluice::test::TempDir;

namespace {

using Pair = std::pair<std::uint64_t, std::uint64_t>;
using Lists = std::vector<std::vector<Pair>>;  // by target: (source, edge id)

template <class Id>
class ArrayEdges final : public EdgeStream {
 public:
  ArrayEdges(const std::vector<Pair>& edges, std::size_t view, bool says)
      : view_(view), says_(says) {
    for (const auto& [source, target] : edges) {
      pairs_.push_back(static_cast<Id>(source));
      pairs_.push_back(static_cast<Id>(target));
    }
  }
  std::optional<EdgeView> next() override {
    const std::size_t all = pairs_.size() / 2;
    if (at_ == all) return std::nullopt;
    const std::size_t count = std::min(view_, all - at_);
    const Id* const first = pairs_.data() + 2 * at_;
    at_ += count;
    return EdgeSpan<Id>{first, first + 1, count, 2};
  }
  std::optional<std::uint64_t> expected() const override {
    return says_ ? std::optional<std::uint64_t>(pairs_.size() / 2) : std::nullopt;
  }

 private:
  std::vector<Id> pairs_;
  std::size_t view_;
  bool says_;
  std::size_t at_ = 0;
};

Lists reference(const std::vector<Pair>& edges, const ConvertOptions& options) {
  const ScatterRules& rules = options.rules;
  Lists lists(rules.num_targets);
  for (std::uint64_t id = 0; id < edges.size(); ++id) {
    const auto& [source, target] = edges[id];
    const bool loop = rules.one_type && source == target;
    if (loop && rules.drop_loops) continue;
    lists[target].emplace_back(source, id);
    if (rules.both_ways && !loop) lists[source].emplace_back(target, id);
  }
  for (std::uint64_t node = 0; node < lists.size(); ++node) {
    if (options.add_loops) lists[node].emplace_back(node, edges.size() + node);
    if (options.duplicates != Duplicates::kDrop) continue;
    std::set<std::uint64_t> seen;
    std::erase_if(lists[node], [&](const Pair& edge) { return !seen.insert(edge.first).second; });
  }
  return lists;
}

struct Outcome {
  Lists lists;
  ConvertStats stats;
  ConvertPlan plan;
};

template <class Id>
Outcome convert(const std::vector<Pair>& edges,
                ConvertOptions options,
                std::size_t view,
                bool says,
                int threads) {
  ThreadArena arena(threads);
  ArrayEdges<Id> stream(edges, view, says);
  options.expected_edges = stream.expected();
  Converter converter(options, arena, nullptr);
  std::uint64_t read = 0;
  while (const auto part = stream.next()) {
    REQUIRE_FALSE(converter.add(*part, read).has_value());
    read += std::get<EdgeSpan<Id>>(*part).count;
  }
  const DType neighbour = sizeof(Id) == 4 ? DType::kU32 : DType::kU64;
  MemoryCsc csc(neighbour,
                options.edge_ids ? std::optional(DType::kU64) : std::nullopt,
                options.rules.num_targets,
                converter.max_edges(),
                nullptr);
  Outcome outcome{Lists(options.rules.num_targets), converter.drain(csc, read), converter.plan()};
  REQUIRE(csc.offsets().back() == outcome.stats.edges_written);
  for (std::uint64_t target = 0; target < outcome.lists.size(); ++target) {
    for (std::uint64_t at = csc.offsets()[target]; at < csc.offsets()[target + 1]; ++at) {
      const std::uint64_t source =
          neighbour == DType::kU32 ? reinterpret_cast<const std::uint32_t*>(csc.neighbours())[at]
                                   : reinterpret_cast<const std::uint64_t*>(csc.neighbours())[at];
      const std::uint64_t id =
          options.edge_ids ? reinterpret_cast<const std::uint64_t*>(csc.ids())[at] : 0;
      outcome.lists[target].emplace_back(source, id);
    }
  }
  return outcome;
}

// Skewed: hubs, duplicates and self loops.
std::vector<Pair> draw(std::uint64_t sources,
                       std::uint64_t targets,
                       std::uint64_t count,
                       RandomKey key) {
  std::vector<Pair> edges;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t among =
        key.below(3, 4 * i) == 0 ? std::min<std::uint64_t>(targets, 3) : targets;
    const std::uint64_t from =
        key.below(3, 4 * i + 1) == 0 ? std::min<std::uint64_t>(sources, 9) : sources;
    edges.emplace_back(key.below(from, 4 * i + 2), key.below(among, 4 * i + 3));
  }
  return edges;
}

void strip_ids(Lists& lists) {
  for (auto& list : lists)
    for (auto& edge : list) edge.second = 0;
}

}  // namespace

TEST_CASE("a conversion equals its definition, in any budget") {
  constexpr std::uint64_t kSeed = 20;
  MESSAGE("seed " << kSeed);
  const TempDir dir;
  std::uint64_t spilled = 0;
  std::set<int> widths;
  for (std::uint64_t round = 0; round < sanitized<std::uint64_t>(50, 25); ++round) {
    CAPTURE(round);
    const RandomKey key = RandomKey(kSeed).with(round);
    const std::uint64_t targets = 1 + key.below(round % 2 == 0 ? 300 : 60'000, 0);
    ConvertOptions options;
    options.rules.one_type = key.below(2, 1) == 0;
    options.rules.num_targets = targets;
    // Sources of many widths, so that records of all widths come up.
    options.rules.num_sources =
        options.rules.one_type ? targets : std::uint64_t{1} << key.below(40, 2);
    const std::uint64_t count = key.below(200'000, 3);
    const auto edges = draw(options.rules.num_sources, targets, count, key.with("edges"));
    if (options.rules.one_type) {
      options.rules.both_ways = key.below(2, 4) == 0;
      options.rules.drop_loops = key.below(2, 5) == 0;
      options.add_loops = options.rules.drop_loops && key.below(2, 6) == 0;
    }
    options.duplicates = key.below(3, 7) == 0 ? Duplicates::kDrop : Duplicates::kKeep;
    options.edge_ids = key.below(2, 8) == 0;
    options.memory_bytes = key.below(3, 9) == 0 ? 0 : (1 << 18) + key.below(1 << 19, 10);
    options.spill_folder = dir.path();
    const bool says = key.below(2, 11) == 0;
    const std::size_t view = 1 + key.below(200'000, 12);
    const int threads = 1 + static_cast<int>(key.below(4, 13));
    const bool wide = options.rules.num_sources > (std::uint64_t{1} << 32) || key.below(3, 14) == 0;
    const Outcome outcome = wide ? convert<std::uint64_t>(edges, options, view, says, threads)
                                 : convert<std::uint32_t>(edges, options, view, says, threads);
    Lists expected = reference(edges, options);
    if (!options.edge_ids) strip_ids(expected);
    REQUIRE(outcome.lists == expected);
    std::uint64_t largest = 0;
    for (const auto& list : expected) largest = std::max<std::uint64_t>(largest, list.size());
    CHECK(outcome.stats.max_degree == largest);
    CHECK(outcome.stats.isolated ==
          static_cast<std::uint64_t>(std::count_if(
              expected.begin(), expected.end(), [](const auto& list) { return list.empty(); })));
    spilled += outcome.stats.spilled_bytes != 0 ? 1 : 0;
    widths.insert(outcome.plan.record.bytes);
  }
  CHECK(spilled > sanitized<std::uint64_t>(5, 2));
  CHECK(widths.size() >= 5);
}

TEST_CASE("a hub with more in-edges than memory streams through") {
  const TempDir dir;
  std::vector<Pair> edges;
  for (std::uint64_t i = 0; i < 1'500'000; ++i)
    edges.emplace_back(i * 7 % 1000, i % 50 == 0 ? 5 : 3);
  for (const Duplicates duplicates : {Duplicates::kKeep, Duplicates::kDrop}) {
    ConvertOptions options;
    options.rules = {
        .num_sources = 1000, .num_targets = 1000, .drop_loops = true, .one_type = true};
    options.add_loops = true;
    options.edge_ids = true;
    options.duplicates = duplicates;
    options.memory_bytes = 2 << 20;
    options.spill_folder = dir.path();
    const Outcome outcome = convert<std::uint32_t>(edges, options, 100'000, true, 2);
    CHECK(outcome.stats.spilled_bytes > (4u << 20));
    CHECK(outcome.lists == reference(edges, options));
  }
}

TEST_CASE("sources of a hub are told apart in any memory, in slices of ids or of their hashes") {
  constexpr std::uint64_t kSeed = 21;
  MESSAGE("seed " << kSeed);
  std::set<std::uint64_t> slices;
  for (std::uint64_t round = 0; round < 40; ++round) {
    CAPTURE(round);
    const RandomKey key = RandomKey(kSeed).with(round);
    const std::uint64_t sources = std::uint64_t{1} << (4 + key.below(50, 0));
    const std::uint64_t among = std::min(sources, 1 + key.below(30'000, 1));
    const std::uint64_t step = sources / among;
    std::vector<std::uint64_t> edges(key.below(40'000, 2));
    for (std::size_t i = 0; i < edges.size(); ++i) edges[i] = step * key.below(among, 3 + i);
    MemoryLedger ledger(64 << 20);
    const std::uint64_t memory = std::uint64_t{1} << (6 + key.below(12, 3));
    SeenSources seen(sources, edges.size(), memory, &ledger);
    std::vector<int> repeated(edges.size(), 0);
    for (std::uint64_t slice = 0; slice < seen.slices(); ++slice) {
      seen.begin(slice);
      for (std::size_t i = 0; i < edges.size(); ++i)
        repeated[i] += seen.first_time(edges[i]) ? 0 : 1;
    }
    std::set<std::uint64_t> known;
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < edges.size(); ++i)
      if (repeated[i] != (known.insert(edges[i]).second ? 0 : 1)) ++wrong;
    CHECK(wrong == 0);
    slices.insert(seen.slices());
  }
  CHECK(slices.size() > 5);
}

TEST_CASE("a bad edge is found wherever it stands") {
  const TempDir dir;
  ThreadArena arena(3);
  for (const std::uint64_t at : {0u, 77'777u, 199'999u}) {
    ConvertOptions options;
    options.rules = {.num_sources = 100, .num_targets = 50};
    options.spill_folder = dir.path();
    std::vector<std::uint32_t> source(200'000, 99);
    std::vector<std::uint32_t> target(200'000, 49);
    target[at] = 50;
    Converter converter(options, arena, nullptr);
    const auto bad =
        converter.add(EdgeSpan<std::uint32_t>{source.data(), target.data(), source.size()}, 0);
    REQUIRE(bad.has_value());
    CHECK(bad->index == at);
    CHECK(bad->source == 99);
    CHECK(bad->target == 50);
  }
}

TEST_CASE("a budget that holds no conversion is refused, not exceeded") {
  const TempDir dir;
  ThreadArena arena(2);
  MemoryLedger ledger(96 << 10, "--memory");
  ConvertOptions options;
  options.rules = {.num_sources = 1 << 20, .num_targets = 1 << 20};
  options.spill_folder = dir.path();
  std::vector<std::uint32_t> ids(1 << 20);
  for (std::uint32_t i = 0; i < ids.size(); ++i) ids[i] = i * 2654435761u % (1u << 20);
  const Error error = test::expect_error([&] {
    Converter converter(options, arena, &ledger);
    (void)converter.add(EdgeSpan<std::uint32_t>{ids.data(), ids.data(), ids.size()}, 0);
  });
  CHECK(error.code() == ErrorCode::kResource);
}

TEST_CASE("edges that the disk has no room for are one clear error, wherever it ends") {
  std::vector<std::uint32_t> ids(1 << 20);
  for (std::uint32_t i = 0; i < ids.size(); ++i) ids[i] = i * 2654435761u % 1000;
  ThreadArena arena(2);
  // Direct writes go by pages, `ulimit -f` by KiB.
  for (const std::uint64_t limit : {0ull, 1ull << 20, (1ull << 20) + 1024, 3'000'000ull}) {
    CAPTURE(limit);
    const TempDir dir;
    ConvertOptions options;
    options.rules = {.num_sources = 1000, .num_targets = 1000};
    options.edge_ids = true;
    options.memory_bytes = 2 << 20;
    options.spill_folder = dir.path();
    const Error error = test::expect_error([&] {
      const test::FileSizeLimit full(limit);
      Converter converter(options, arena, nullptr);
      MemoryCsc sink(DType::kU32, DType::kU32, 1000, ids.size(), nullptr);
      (void)converter.add(EdgeSpan<std::uint32_t>{ids.data(), ids.data(), ids.size()}, 0);
      (void)converter.drain(sink, ids.size());
    });
    CHECK(error.code() == ErrorCode::kResource);
    CHECK(error.place().file == dir.path().string());
  }
}
