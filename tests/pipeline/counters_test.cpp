// What a loader counts adds up: rows by what the cache had of them, requests and their latencies,
// the stages' times and their spans in a trace.
#include "loader_support.h"
#include "pipeline/trace.h"
#include "support/trace_events.h"

#include <algorithm>
#include <chrono>
#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

const StageTimes& stage(const LoaderStats& stats, const std::string& name) {
  const auto found = std::ranges::find(stats.stages, name, &StageTimes::name);
  REQUIRE(found != stats.stages.end());
  return *found;
}

std::uint64_t total(const CacheCounts& cache) {
  return cache.hits_window + cache.hits_kept + cache.misses_first + cache.misses_again;
}

// What an epoch's batches asked for.
struct Asked {
  std::uint64_t rows = 0;  // summed over batches
  std::set<std::uint64_t> distinct;
  std::uint64_t of_batch_before = 0;  // summed: rows that the batch before asked for too

  void add(const Batch& batch) {
    const auto ids = std::as_const(batch).nodes[0].ids.as<std::uint64_t>();
    std::set<std::uint64_t> own(ids.begin(), ids.end());
    for (const std::uint64_t id : own) of_batch_before += last_.count(id);
    rows += own.size();
    distinct.insert(own.begin(), own.end());
    last_ = std::move(own);
  }

 private:
  std::set<std::uint64_t> last_;
};

Setup small_windows(const TempDir& dir) {
  Setup setup;
  setup.loader = base_options();
  setup.loader.window = 1;
  setup.window_bytes = sanitized(800'000, 300'000);  // less than the table
  setup.scratch = dir.path().string();
  return setup;
}

}  // namespace

TEST_CASE("hits by cause and misses add up to the rows wanted, and are those of the batches") {
  const TempDir dir;
  write_sample(dir / "x", hundred_columns());
  for (const std::string& policy : cache_names()) {
    for (const PlanChoice plan : {PlanChoice::kAuto, PlanChoice::kDirect, PlanChoice::kSweep}) {
      CAPTURE(policy);
      CAPTURE(static_cast<int>(plan));
      Setup setup = small_windows(dir);
      setup.cache = policy;
      setup.plan = plan;
      Asked asked;
      const Run run = deliver(dir / "x", setup, {}, [&](const Batch& batch) { asked.add(batch); });
      const CacheCounts& cache = run.stats.cache;
      CHECK(run.stats.windows == run.chain.size());
      CHECK(cache.wanted == asked.rows);  // windows of one batch
      CHECK(total(cache) == cache.wanted);
      CHECK(cache.hits_window == asked.of_batch_before);
      CHECK(cache.misses_first == asked.distinct.size());
      CHECK(cache.misses_again > 0);
      CHECK(cache.hits_kept > 0);
    }
  }
}

TEST_CASE("a cache with room for all misses each row once, in an epoch and in the ones after") {
  const TempDir dir;
  write_sample(dir / "x", hundred_columns());
  MemoryLedger ledger(512 << 20);
  const Dataset dataset = Dataset::open((dir / "x").string(), {.ledger = &ledger});
  GraphData data(dataset, {}, 0);
  Loader loader(data, base_options(), dataset.split("default").train, {}, ledger);
  Asked asked;
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const std::size_t known = asked.distinct.size();
    loader.start({.epoch = epoch});
    while (const auto batch = loader.next()) asked.add(*batch);
    const CacheCounts cache = loader.stats().cache;
    CHECK(total(cache) == cache.wanted);
    CHECK(cache.misses_first == asked.distinct.size() - known);
    CHECK(cache.misses_again == 0);
  }
}

TEST_CASE("requests are those whose latency is known, whatever they read") {
  const TempDir dir;
  write_sample(dir / "x", hundred_columns());
  for (const PlanChoice plan : {PlanChoice::kDirect, PlanChoice::kSweep, PlanChoice::kRepack}) {
    for (const Placement topology : {Placement::kMemory, Placement::kDisk}) {
      CAPTURE(static_cast<int>(plan));
      Setup setup = small_windows(dir);
      setup.plan = plan;
      setup.topology = topology;
      setup.topology_cache_bytes = 0;
      if (plan == PlanChoice::kRepack) setup.window_bytes = 2 << 20;  // buffers for all runs
      const LoaderStats stats = deliver(dir / "x", setup).stats;
      CHECK(stats.requests > 0);
      CHECK(stats.latency.requests() == stats.requests);
      CHECK(stats.latency.mean() > 0);
      CHECK(1e6 * stats.latency.mean() <= static_cast<double>(stats.latency.quantile(1).count()));
      CHECK(stats.latency.quantile(0.5) <= stats.latency.quantile(0.99));
    }
  }
}

TEST_CASE("what stages were busy for is the sum of their spans, which nest and hold every batch") {
  const TempDir dir;
  write_sample(dir / "x", hundred_columns());
  for (const PlanChoice plan : {PlanChoice::kDirect, PlanChoice::kRepack}) {
    CAPTURE(static_cast<int>(plan));
    const std::filesystem::path file = dir / "trace.json";
    Setup setup = small_windows(dir);
    setup.plan = plan;
    setup.loader.window = 4;
    setup.window_bytes = 2 << 20;
    setup.queue_bytes = 0;
    TraceWriter trace(file);
    setup.loader.trace = &trace;
    const auto begin = std::chrono::steady_clock::now();
    const Run run = deliver(dir / "x", setup, {.epoch = 3});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    trace.close();

    const std::vector<TracedSpan> spans = read_spans(file);
    CHECK(crossings(spans) == 0);
    const std::map<std::string, std::set<std::string>> threads{{"sample", {"sample"}},
                                                               {"plan", {"sample"}},
                                                               {"repack", {"sample"}},
                                                               {"fetch", {"fetch"}},
                                                               {"assemble", {"assemble"}}};
    std::map<std::string, double> busy;  // by thread
    std::multiset<double> assembled, fetched;
    for (const TracedSpan& span : spans) {
      if (threads.count(span.name) != 0) {
        CHECK(threads.at(span.name).count(span.thread) == 1);
        busy[span.thread] += 1e-9 * static_cast<double>(span.end - span.begin);
      }
      if (span.name == "assemble") {
        CHECK(span.notes.at("epoch") == 3);
        assembled.insert(span.notes.at("batch"));
      }
      if (span.name == "fetch") fetched.insert(span.notes.at("window"));
    }
    CHECK(assembled.size() == run.chain.size());
    CHECK(std::set(assembled.begin(), assembled.end()).size() == run.chain.size());
    CHECK(std::set(fetched.begin(), fetched.end()).size() == run.stats.windows);
    CHECK(run.stats.stages.size() == threads.size());
    busy["sample"] += stage(run.stats, "sample").blocked;
    for (const auto& [name, on] : threads) {
      CAPTURE(name);
      const StageTimes& times = stage(run.stats, name);
      CHECK(times.busy == doctest::Approx(seconds_of(spans, name)).epsilon(1e-6));
      CHECK((times.busy > 0 || (name == "repack" && plan != PlanChoice::kRepack)));
      CHECK(times.busy + times.starved + times.blocked <=
            static_cast<double>(on.size()) * took.count());
    }
    for (const auto& [thread, seconds] : busy) {
      CAPTURE(thread);
      CHECK(seconds <= took.count());
    }
  }
}
