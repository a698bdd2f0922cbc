#include "bench/storage/gather.h"

#include "bench/storage/bare_moves.h"
#include "bench/storage/known_rows.h"
#include "bench/support/child.h"
#include "bench/support/program.h"
#include "core/cgroup.h"
#include "pipeline/trace.h"

#include <sluice/error.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include <unistd.h>

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kRowBytes = 512;
constexpr std::uint64_t kOverheadBytes = 300 * kMiB;
constexpr double kZipf = 0.9;
constexpr int kRounds = 3;  // of ours and the bare disk in turn: a disk's rate changes

fs::path dataset_of(const GatherOptions& options) {
  return fs::path(options.dir) / fmt::format("rows-{}", options.rows);
}

fs::path table_of(const GatherOptions& options) {
  return dataset_of(options) / "nodes/node/features.bin";
}

void make_table(const GatherOptions& options) {
  const fs::path dataset = dataset_of(options);
  if (fs::exists(dataset / "manifest.json")) return;
  (void)run_child({(build_folder() / "sluice-prep").string(),
                   "generate",
                   "sbm",
                   "--nodes",
                   std::to_string(options.rows),
                   "--edges",
                   "1000",
                   "--features",
                   std::to_string(kRowBytes / sizeof(float)),
                   "--out",
                   dataset.string(),
                   "--json"});
}

nlohmann::json run_in_cgroup(const GatherOptions& options,
                             const std::string& contender,
                             const std::string& ids,
                             std::uint64_t budget,
                             const std::vector<std::string>& more = {}) {
  std::vector<std::string> command;
  if (::geteuid() == 0)
    command = {SLUICE_IN_CGROUP, "--cold", std::to_string(budget + kOverheadBytes)};
  command.insert(command.end(),
                 {fs::read_symlink("/proc/self/exe").string(),
                  "--filter",
                  "gather_contender",
                  "--contender",
                  contender,
                  "--contender-budget",
                  std::to_string(budget),
                  "--contender-ids",
                  ids,
                  "--dir",
                  options.dir,
                  "--gather-rows",
                  std::to_string(options.rows),
                  "--gather-batches",
                  std::to_string(options.batches)});
  command.insert(command.end(), more.begin(), more.end());
  if (!options.trace.empty() && contender == "sluice")
    command.insert(command.end(), {"--trace", options.trace});
  return nlohmann::json::parse(run_child(command));
}

Line line_of(const std::string& name, const nlohmann::json& run) {
  Line line{.name = name, .work = run.at("useful"), .unit = "bytes", .seconds = run.at("seconds")};
  for (const char* key : {"contender",
                          "how",
                          "plan_seconds",
                          "moving_seconds",
                          "read",
                          "written",
                          "requests",
                          "writes",
                          "peak_rss_of_run"})
    line.more[key] = run.at(key);
  return line;
}

double rate_of(const nlohmann::json& run) {
  return run.at("useful").get<double>() / run.at("seconds").get<double>();
}

// The mean request of those that moved so many bytes, as whole pages.
std::uint64_t mean_request(const nlohmann::json& run, const char* bytes, const char* requests) {
  const std::uint64_t count = std::max<std::uint64_t>(run.at(requests).get<std::uint64_t>(), 1);
  const std::uint64_t mean = run.at(bytes).get<std::uint64_t>() / count;
  return std::clamp<std::uint64_t>((mean + 2048) / 4096 * 4096, 4096, 1 << 20);
}

// What `ours` moved, by the bare disk.
nlohmann::json run_bare(const GatherOptions& options,
                        const std::string& ids,
                        std::uint64_t budget,
                        const nlohmann::json& ours) {
  const auto bytes = [&](const char* key) {
    return std::to_string(ours.at(key).get<std::uint64_t>());
  };
  return run_in_cgroup(options,
                       "bare",
                       ids,
                       budget,
                       {"--contender-read",
                        bytes("read"),
                        "--contender-written",
                        bytes("written"),
                        "--contender-request",
                        std::to_string(mean_request(ours, "read", "requests")),
                        "--contender-write",
                        std::to_string(mean_request(ours, "written", "writes")),
                        "--contender-fresh",
                        bytes("peak_rss_of_run")});
}

// Ours and the bare disk in turn: a disk's rate changes while it is measured.
struct GatherRounds {
  std::vector<nlohmann::json> fresh;    // ours into fresh memory
  std::vector<nlohmann::json> at_hand;  // ours where memory was freed just before
  std::vector<double> bare;             // seconds
  std::vector<double> bare_with_fresh;  // seconds
  std::vector<double> making;           // seconds
};

const nlohmann::json& median_of(std::vector<nlohmann::json>& runs) {
  const auto sooner = [](const auto& a, const auto& b) {
    return a.at("seconds") < b.at("seconds");
  };
  std::sort(runs.begin(), runs.end(), sooner);
  return runs[(runs.size() - 1) / 2];
}

nlohmann::json seconds_of(const std::vector<nlohmann::json>& runs) {
  nlohmann::json seconds;
  for (const nlohmann::json& run : runs) seconds.push_back(run.at("seconds"));
  return seconds;
}

// The bare loop reads into memory whose pages are there before its clock starts: ours is compared
// where memory is at hand too, and what fresh memory makes of both is told beside.
Line disk_line(const std::string& name, GatherRounds& rounds) {
  const nlohmann::json& ours = median_of(rounds.at_hand);
  const double bare = median(rounds.bare);
  Line line{.name = name,
            .work = ours.at("read").get<double>() + ours.at("written").get<double>(),
            .seconds = ours.at("seconds")};
  line.disk_rate = line.work / bare;
  line.more["part"] = "moved";
  line.more["rounds"] = seconds_of(rounds.at_hand);
  // While rows are packed and fetched: without planning, and the end of what is delivered then.
  const double moving = ours.at("moving_seconds");
  line.more["seconds_moving"] = moving;
  line.more["of_disk_moving"] = bare / moving;
  line.more["request_bytes"] = mean_request(ours, "read", "requests");
  if (ours.at("writes") != 0) line.more["write_bytes"] = mean_request(ours, "written", "writes");
  line.more["bare_seconds"] = rounds.bare;
  // Into fresh memory, and the bare disk while as much is made by a bare loop beside it.
  const double fresh = median_of(rounds.fresh).at("seconds");
  line.more["seconds_fresh"] = fresh;
  line.more["bare_with_fresh_seconds"] = rounds.bare_with_fresh;
  line.more["of_disk_fresh"] = median(rounds.bare_with_fresh) / fresh;
  line.more["fresh_bytes"] = ours.at("peak_rss_of_run");
  line.more["fresh_seconds"] = rounds.making;
  return line;
}

// By a process of its own that takes as much and ends.
void leave_memory_at_hand(std::uint64_t bytes) {
  (void)run_child({fs::read_symlink("/proc/self/exe").string(),
                   "--filter",
                   "gather_contender",
                   "--contender",
                   "fresh",
                   "--contender-fresh",
                   std::to_string(bytes)});
}

}  // namespace

void gather_case(const std::string& name,
                 const std::string& ids,
                 std::uint64_t budget,
                 const GatherOptions& options) {
  make_table(options);
  const nlohmann::json mapped = run_in_cgroup(options, "mmap", ids, budget);
  const nlohmann::json paged = run_in_cgroup(options, "page_a_row", ids, budget);
  GatherRounds rounds;
  for (int i = 0; i < kRounds; ++i) {
    std::this_thread::sleep_for(kUntilFresh);
    rounds.fresh.push_back(run_in_cgroup(options, "sluice", ids, budget));
    const nlohmann::json& ours = rounds.fresh.back();
    if (ours.at("check") != mapped.at("check") || ours.at("check") != paged.at("check"))
      throw Error(ErrorCode::kInternal, "the contenders did not deliver the same rows");
    const std::string memory = std::to_string(ours.at("peak_rss_of_run").get<std::uint64_t>());
    rounds.at_hand.push_back(
        run_in_cgroup(options, "sluice", ids, budget, {"--contender-fresh", memory}));
    const nlohmann::json bare = run_bare(options, ids, budget, ours);
    rounds.bare.push_back(bare.at("seconds"));
    rounds.bare_with_fresh.push_back(bare.at("with_fresh_seconds"));
    rounds.making.push_back(bare.at("fresh_seconds"));
  }
  const nlohmann::json& ours = median_of(rounds.fresh);
  const bool by_map = rate_of(mapped) > rate_of(paged);
  print(line_of(name, mapped));
  print(line_of(name, paged));
  Line line = line_of(name, ours);
  line.peer = by_map ? "mmap" : "page_a_row";
  line.peer_rate = std::max(rate_of(mapped), rate_of(paged));
  line.more["budget"] = budget;
  line.more["rounds"] = seconds_of(rounds.fresh);
  print(line);
  print(disk_line(name, rounds));
}

void run_contender(const GatherOptions& options) {
  if (options.contender == "fresh") {
    fmt::print("{}\n", nlohmann::json(make_fresh(options.fresh)).dump());
    return;
  }
  if (options.contender == "bare") {
    const BareSeconds seconds = move_bare({.table = table_of(options),
                                           .scratch = options.dir,
                                           .read = options.read,
                                           .written = options.written,
                                           .request_bytes = options.request,
                                           .write_bytes = options.write,
                                           .fresh = options.fresh});
    const nlohmann::json json = {{"seconds", seconds.moving},
                                 {"with_fresh_seconds", seconds.moving_and_fresh},
                                 {"fresh_seconds", seconds.fresh}};
    fmt::print("{}\n", json.dump());
    return;
  }
  KnownRows known;
  known.rows = options.rows;
  known.batches = options.batches;
  known.zipf = options.ids == "zipf" ? kZipf : 0;
  known.draw();
  const auto trace = options.trace.empty() ? nullptr : std::make_unique<TraceWriter>(options.trace);
  Delivery delivery;
  if (options.contender == "sluice") {
    make_table(options);
    if (options.fresh != 0) leave_memory_at_hand(options.fresh);
    delivery = deliver_sluice(dataset_of(options), known, options.budget, options.dir, trace.get());
  } else if (options.contender == "mmap") {
    delivery = deliver_mmap(table_of(options), kRowBytes, known);
  } else {
    delivery = deliver_page_a_row(table_of(options), kRowBytes, known);
  }
  if (trace) trace->close();
  nlohmann::ordered_json json = {{"contender", options.contender},
                                 {"how", delivery.how},
                                 {"seconds", delivery.seconds},
                                 {"plan_seconds", delivery.plan_seconds},
                                 {"moving_seconds", delivery.moving_seconds},
                                 {"useful", delivery.useful},
                                 {"read", delivery.read},
                                 {"written", delivery.written},
                                 {"requests", delivery.requests},
                                 {"writes", delivery.writes},
                                 {"check", delivery.check},
                                 {"peak_rss_of_run", read_process_memory().peak_rss}};
  fmt::print("{}\n", json.dump());
}

}  // namespace sluice::bench
