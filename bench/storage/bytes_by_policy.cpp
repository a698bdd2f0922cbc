#include "bench/storage/bytes_by_policy.h"

#include "bench/storage/policy_trace.h"
#include "bench/support/program.h"
#include "bench/support/rmat_dataset.h"
#include "bench/support/seconds.h"

#include <sluice/registry.h>

#include <fmt/format.h>

#include <chrono>

namespace sluice::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kGapPages = 4;  // a request costs about as much as reading so many

// What all lines of one order of the nodes share.
struct Table {
  std::string order;
  std::uint64_t useful;
  std::uint64_t degree_bytes;
  std::uint64_t ginex_bytes;
};

void print_moved(const Table& table,
                 const std::string& policy,
                 const std::string& plan,
                 const Moved& moved,
                 double seconds) {
  Line line{.name = "bytes_by_policy",
            .work = static_cast<double>(moved.total()),
            .unit = "bytes",
            .seconds = seconds};
  const auto of = [&](std::uint64_t bytes) {
    return static_cast<double>(moved.total()) / static_cast<double>(bytes);
  };
  line.more["order"] = table.order;
  line.more["policy"] = policy;
  line.more["plan"] = plan;
  line.more["read"] = moved.read;
  line.more["written"] = moved.written;
  line.more["requests"] = moved.requests;
  line.more["missed_rows"] = moved.missed_rows;
  line.more["windows"] = moved.windows;
  line.more["of_useful"] = of(table.useful);
  line.more["of_static_degree"] = of(table.degree_bytes);
  line.more["of_ginex"] = of(table.ginex_bytes);
  print(line);
}

// All policies and plans over one order of the nodes.
void print_order(const std::string& order,
                 const EpochRows& trace,
                 const std::vector<std::uint32_t>& counts,
                 const PolicyWork& work) {
  auto begin = Clock::now();
  const Moved degree = static_degree(trace, counts, work);
  const double degree_seconds = seconds_since(begin);
  begin = Clock::now();
  const Moved superbatch = ginex(trace, work);
  const Table table{order, trace.total() * work.row_bytes, degree.total(), superbatch.total()};
  print_moved(table, "static_degree", "pages", degree, degree_seconds);
  print_moved(table, "ginex", "page_a_row", superbatch, seconds_since(begin));
  for (const auto& [policy, help] : builtin_caches().list()) {
    for (const std::uint64_t share : {50u, 25u, 12u}) {
      for (const bool whole : {true, false}) {
        if (!whole && policy != "belady") continue;
        WindowWork how;
        how.policy = policy;
        how.whole_epoch_known = whole;
        how.window_rows = work.cache_rows * share / 100;
        begin = Clock::now();
        const PlannedBytes bytes = windows(trace, counts, work, how, kGapPages);
        const double seconds = seconds_since(begin);
        const std::string name = fmt::format("{}{} {}%", policy, whole ? "" : " one ahead", share);
        print_moved(table, name, "direct", bytes.direct, seconds);
        print_moved(table, name, "sweep", bytes.sweep, seconds);
        print_moved(table, name, "repack", bytes.repack, seconds);
      }
    }
  }
}

}  // namespace

void bytes_by_policy(const PolicyOptions& options) {
  const RmatDataset graph(options.dataset, options.dir, options.scale);
  EpochRows trace = sample_epoch(graph.dataset(), {});
  std::vector<std::uint32_t> counts = neighbour_counts(graph.dataset());
  PolicyWork work;
  work.row_bytes = static_cast<std::uint32_t>(options.row_bytes);
  work.cache_rows = trace.nodes * options.cache_percent / 100;
  print_order("none", trace, counts, work);
  order_by_degree(trace, counts);
  print_order("degree", trace, counts, work);
}

}  // namespace sluice::bench
