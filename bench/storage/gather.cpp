#include "bench/storage/gather.h"

#include "bench/storage/known_rows.h"
#include "bench/support/child.h"
#include "bench/support/device_rate.h"
#include "bench/support/program.h"
#include "bench/support/write_rate.h"
#include "core/peak_memory.h"
#include "pipeline/trace.h"

#include <sluice/error.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include <unistd.h>

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kRowBytes = 512;
constexpr std::uint64_t kOverheadBytes = 300 * kMiB;
constexpr double kZipf = 0.9;

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
                             std::uint64_t budget) {
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
                          "peak_rss_of_run"})
    line.more[key] = run.at(key);
  return line;
}

double rate_of(const nlohmann::json& run) {
  return run.at("useful").get<double>() / run.at("seconds").get<double>();
}

}  // namespace

void gather_case(const std::string& name,
                 const std::string& ids,
                 std::uint64_t budget,
                 const GatherOptions& options) {
  make_table(options);
  const nlohmann::json mapped = run_in_cgroup(options, "mmap", ids, budget);
  const nlohmann::json paged = run_in_cgroup(options, "page_a_row", ids, budget);
  const nlohmann::json ours = run_in_cgroup(options, "sluice", ids, budget);
  if (ours.at("check") != mapped.at("check") || ours.at("check") != paged.at("check"))
    throw Error(ErrorCode::kInternal, "the contenders did not deliver the same rows");
  const bool by_map = rate_of(mapped) > rate_of(paged);
  print(line_of(name, mapped));
  print(line_of(name, paged));
  Line line = line_of(name, ours);
  line.peer = by_map ? "mmap" : "page_a_row";
  line.peer_rate = std::max(rate_of(mapped), rate_of(paged));
  line.more["budget"] = budget;
  print(line);

  // What was moved, beside bare reads of the mean request's size and bare writes: what the device
  // takes for them one after the other.
  const auto read = ours.at("read").get<double>();
  const auto written = ours.at("written").get<double>();
  const std::uint64_t mean =
      ours.at("read").get<std::uint64_t>() / ours.at("requests").get<std::uint64_t>();
  const std::uint64_t request =
      std::clamp<std::uint64_t>((mean + 2048) / 4096 * 4096, 4096, 1 << 20);
  const double reads = device_rate(table_of(options), {.request_bytes = request});
  const double writes = written == 0 ? reads : write_rate(options.dir, {.request_bytes = 1 << 20});
  Line device{.name = name, .work = read + written, .seconds = ours.at("seconds")};
  device.device_rate = device.work / (read / reads + written / writes);
  device.more["part"] = "moved";
  // While rows are packed and fetched: without planning, and the end of what is delivered then.
  const double moving = ours.at("moving_seconds");
  device.more["seconds_moving"] = moving;
  device.more["of_device_moving"] = device.work / moving / *device.device_rate;
  device.more["request_bytes"] = request;
  device.more["device_read_rate"] = reads;
  device.more["device_write_rate"] = writes;
  print(device);
}

void run_contender(const GatherOptions& options) {
  KnownRows known;
  known.rows = options.rows;
  known.batches = options.batches;
  known.zipf = options.ids == "zipf" ? kZipf : 0;
  known.draw();
  const auto trace = options.trace.empty() ? nullptr : std::make_unique<TraceWriter>(options.trace);
  Delivery delivery;
  if (options.contender == "sluice") {
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
                                 {"check", delivery.check},
                                 {"peak_rss_of_run", read_process_memory().peak_rss}};
  fmt::print("{}\n", json.dump());
}

}  // namespace sluice::bench
