// A forecast of an epoch beside the epoch itself.
#pragma once

#include "pipeline/loader_support.h"
#include "prep/generate/rmat.h"
#include "support/temp_dir.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sluice::test {

// How far two numbers are apart, as a factor of 1 or more.
inline double factor(double a, double b) {
  return std::max(a / b, b / a);
}

// Hubs, and most nodes with few edges; rows of 256 bytes.
inline void write_hubs(const std::filesystem::path& path) {
  MemoryLedger ledger;
  ThreadArena arena(2);
  const auto log = make_silent_logger();
  PrepContext context{ledger, arena, *log, ProgressStyle::kSilent};
  RmatGenerator::Options options;
  options.scale = sanitized(15, 13);
  options.edge_factor = 8;
  options.node_options.features = 64;
  options.node_options.train = 0.2;
  DatasetWriter writer(path, Overwrite::kRefuse, nullptr);
  RmatGenerator(options).generate(writer, context);
  writer.commit("test");
}

/// Checks every number of a forecast, by such plans, with all caches, budgets, windows and places.
inline void check_forecasts(const std::vector<PlanChoice>& plans) {
  const TempDir dir;
  write_hubs(dir / "x");
  const std::uint64_t table = sanitized(8 << 20, 2 << 20);
  double worst = 1;
  std::string where;
  const auto compare = [&](const std::string& name, std::uint64_t forecast, std::uint64_t found) {
    CAPTURE(name);
    CAPTURE(forecast);
    CAPTURE(found);
    if (found == 0) {
      CHECK(forecast == 0);
      return;
    }
    const double off = factor(static_cast<double>(forecast), static_cast<double>(found));
    CHECK(off <= 1.3);
    if (off > worst) {
      worst = off;
      where = name;
    }
  };
  const auto percents = sanitized<std::vector<std::uint64_t>>({12, 25, 50, 200}, {25, 200});
  const auto windows = sanitized<std::vector<std::int64_t>>({0, 4}, {0});
  for (const PlanChoice plan : plans) {
    for (const char* policy : {"belady", "lru", "degree"}) {
      for (const std::uint64_t percent : percents) {
        for (const std::int64_t window : windows) {
          for (const Placement topology : {Placement::kMemory, Placement::kDisk}) {
            if (topology == Placement::kDisk && (window != 0 || policy != std::string("belady")))
              continue;
            Setup setup;
            setup.loader = base_options();
            setup.loader.fanout = {5, 5};
            setup.loader.batch_size = sanitized(32, 16);
            setup.loader.window = window;
            setup.plan = plan;
            setup.cache = policy;
            setup.topology = topology;
            setup.scratch = dir.path().string();
            setup.window_bytes = table * percent / 100;
            if (plan == PlanChoice::kRepack) setup.window_bytes += table;  // buffers for all runs
            LoaderForecast forecast;
            LoaderStats stats;
            with_loader(dir / "x", setup, [&](Loader& loader) {
              forecast = loader.forecast(60);
              loader.start({});
              while (loader.next()) {
              }
              stats = loader.stats();
            });
            const std::string name = std::to_string(static_cast<int>(plan)) + " " + policy + " " +
                                     std::to_string(percent) + " % window " +
                                     std::to_string(window) +
                                     (topology == Placement::kDisk ? " edges on disk" : "");
            CHECK(forecast.batches == stats.batches);
            CHECK(forecast.batches_sampled <= forecast.batches);
            compare(name + " read", forecast.bytes_read, stats.bytes_read);
            compare(name + " written", forecast.bytes_written, stats.bytes_written);
            compare(name + " wanted", forecast.rows_wanted, stats.cache.wanted);
            compare(name + " missed",
                    forecast.rows_missed,
                    stats.cache.misses_first + stats.cache.misses_again);
            CHECK(forecast.seconds > 0);
            // Of an epoch that is not planned the forecast alone has something to say.
            CHECK(stats.plans.size() <= 1);
            REQUIRE(forecast.plans.size() == 1);
            CHECK(forecast.plans[0].find("node: ") == 0);
          }
        }
      }
    }
  }
  MESSAGE("the farthest: " << where << " by a factor of " << worst);
}

}  // namespace sluice::test
