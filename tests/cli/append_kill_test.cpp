// Appends of events, many of them killed by SIGKILL at a random moment: every event whose append
// was acknowledged is there, none is there twice, and sampling is that of all events at once.
//
// SLUICE_FULL_MATRIX=1 runs 1,000 appends.
#include "samplers/temporal_graph.h"
#include "samplers/temporal_support.h"
#include "support/process.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"

#include <doctest/doctest.h>
#include <sluice/dataset.h>
#include <sluice/random.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace sluice::test {
namespace {

constexpr std::uint64_t kEventNodes = 40;
constexpr const char* kAppendedKey = "node__edge__node";

std::uint64_t num_appends() {
  return std::getenv("SLUICE_FULL_MATRIX") != nullptr ? 1000 : sanitized<std::uint64_t>(40, 8);
}

// Of a batch: later ones as a rule, and some that come late.
Events draw_batch(std::uint64_t count, std::uint64_t batch, std::uint64_t first_id, RandomKey key) {
  Events events;
  for (std::uint64_t i = 0; i < count; ++i) {
    const RandomKey one = key.with(batch).with(i);
    const std::uint64_t time = one.below(4, 0) == 0 ? one.below(batch + 1, 1) : batch;
    events.push_back({one.below(kEventNodes, 2),
                      one.below(3, 3) == 0 ? 0 : one.below(kEventNodes, 4),
                      static_cast<std::int64_t>(time),
                      first_id + i});
  }
  return events;
}

void write_batch(const std::filesystem::path& path, const Events& events) {
  std::ofstream out(path);
  out << "src,dst,t\n";
  for (const TemporalEvent& event : events)
    out << event.source << ',' << event.target << ',' << event.time << '\n';
}

// What the dataset holds is `events`, each once.
void check_holds(const Dataset& dataset, const Events& events) {
  const TemporalGraph graph = TemporalGraph::load(dataset, kAppendedKey).or_throw();
  const TemporalGraph rebuilt = make_temporal(events, kEventNodes);
  const TemporalView &have = graph.view(), &want = rebuilt.view();
  REQUIRE(have.num_edges() == want.num_edges());
  CHECK(std::ranges::equal(have.offsets, want.offsets));
  bool same = true;
  for (std::uint64_t at = 0; at < want.num_edges(); ++at)
    same = same && have.time(at) == want.time(at) && have.edge_id(at) == want.edge_id(at) &&
           have.neighbour(at) == want.neighbour(at);
  CHECK(same);
}

void check_samples(const Dataset& dataset, const Events& events, std::int64_t last) {
  const TemporalGraph graph = TemporalGraph::load(dataset, kAppendedKey).or_throw();
  const TemporalGraph rebuilt = make_temporal(events, kEventNodes);
  ThreadArena arena(2);
  QueryList queries;
  for (std::uint64_t node = 0; node < kEventNodes; ++node)
    for (const std::int64_t time : {std::int64_t{0}, last / 2, last, last + 1})
      queries.add(node, time);
  for (const auto strategy : {TemporalStrategy::kRecent, TemporalStrategy::kUniform}) {
    const TemporalSamplerOptions options{.strategy = strategy, .count = {6, 4}};
    const TemporalSampler one(graph, options, RandomKey(2)), other(rebuilt, options, RandomKey(2));
    const TemporalRequest request{.epoch = 3, .queries = queries.view()};
    CHECK(bytes_of(one.sample(request, TemporalForm::kPacked, arena).or_throw()) ==
          bytes_of(other.sample(request, TemporalForm::kPacked, arena).or_throw()));
  }
}

}  // namespace

TEST_CASE("SIGKILLs during appends of events: all acknowledged ones are there, none twice") {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint64_t kSeed = 21;
  MESSAGE("seed " << kSeed);
  const RandomKey key = RandomKey(kSeed).with("killed appends");
  const TempDir dir;
  const std::string prep = tool("sluice-prep"), out = dir / "x";
  dir.write("graph.toml",
            "[[nodes]]\ncount = 40\n[[edges]]\nfile = \"base.csv\"\ntime_column = \"t\"\n");
  dir.write("more.toml", "[[edges]]\nfile = \"more.csv\"\ntime_column = \"t\"\n");
  Events known = draw_batch(300, 0, 0, key);
  write_batch(dir / "base.csv", known);
  REQUIRE(run({prep, "import", "--config", dir / "graph.toml", "--out", out}).code == 0);
  const std::vector<std::string> append{prep, "append", out, "--config", dir / "more.toml"};
  const std::vector<std::string> compact{prep, "compact", out};

  // What an append takes is known from the first, which nobody kills: no sanitizer and no busy
  // machine makes all moments come too early. It settles where about half are hit.
  Clock::duration longest{};
  std::uint64_t generation = 1, killed = 0, whole = 0;
  const std::uint64_t appends = num_appends();
  for (std::uint64_t batch = 1; batch <= appends; ++batch) {
    CAPTURE(batch);
    const bool first = batch == 1;
    const bool folds = !first && key.with(batch).below(9, 0) == 0;
    const Events events = draw_batch(1 + key.with(batch).below(12, 1), batch, known.size(), key);
    write_batch(dir / "more.csv", events);
    const Clock::time_point started = Clock::now();
    Process process(folds ? compact : append);
    if (!first) {
      const double moment = 2 * key.with(batch).uniform(2);
      std::this_thread::sleep_for(std::chrono::duration_cast<Clock::duration>(longest * moment));
      process.signal(SIGKILL);
    }
    const Outcome outcome = process.finish();
    CAPTURE(outcome.err);
    const bool hit = outcome.code == -SIGKILL;
    REQUIRE((hit || outcome.code == 0));
    (hit ? killed : whole) += 1;
    longest = first ? Clock::now() - started : longest + (hit ? longest / 16 : -longest / 16);

    const Dataset dataset = Dataset::open(out);
    // Acknowledged or not, it is there as a whole or not at all.
    const bool there = dataset.generation() == generation + 1;
    REQUIRE((there || dataset.generation() == generation));
    if (!hit) CHECK(there);
    if (there && !folds) known.insert(known.end(), events.begin(), events.end());
    generation = dataset.generation();
    check_holds(dataset, known);
  }
  MESSAGE(killed << " of " << appends << " killed, " << whole << " had finished");
  CHECK(killed > 0);
  CHECK(whole > 0);
  check_samples(Dataset::open(out), known, static_cast<std::int64_t>(appends));
  REQUIRE(run(compact).code == 0);
  check_holds(Dataset::open(out), known);
  CHECK(run({prep, "verify", out}).code == 0);
}

}  // namespace sluice::test
