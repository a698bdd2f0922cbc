#include "train/report.h"

#include "core/hash.h"
#include "train/epoch_line.h"
#include "train/probe_beside.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace sluice {
namespace {

using ReportJson = nlohmann::ordered_json;

ReportJson memory_json(const RunReport& report) {
  ReportJson peaks = ReportJson::object();
  std::uint64_t tensors = 0;
  for (const MemoryLedger::Entry& entry : report.memory) {
    peaks[entry.name] = entry.peak;
    if (entry.name == "tensors") tensors = entry.peak;
  }
  return {{"budget", report.budget},
          {"peak_rss", report.peak_rss},
          {"peak_anonymous", report.peak_anonymous},
          {"anonymous_at_start", report.anonymous_at_start},
          {"ledger_peak", report.ledger_peak},
          {"tensors", tensors},
          {"peaks", peaks}};
}

ReportJson caches_json(const std::vector<TableCache>& caches) {
  ReportJson json = ReportJson::array();
  for (const TableCache& cache : caches)
    json.push_back({{"table", cache.table},
                    {"of", cache.of},
                    {"rows", cache.rows},
                    {"slots", cache.slots},
                    {"bytes", cache.bytes}});
  return json;
}

ReportJson device_json(const DeviceReport& device) {
  ReportJson json = {{"kind", device.kind}};
  if (device.kind == "cpu") return json;
  json["name"] = device.name;
  json["budget"] = device.budget;
  json["in_flight"] = device.in_flight;
  json["tensors"] = device.tensors;
  if (device.learned_rows != 0) json["learned_rows"] = device.learned_rows;
  json["transferred"] = device.transferred;
  json["busy"] = device.busy;
  json["pinned"] = device.pinned;
  if (!device.gather.empty()) json["gather"] = device.gather;
  return json;
}

DeviceReport device_report(const RunDevice& run) {
  DeviceReport report;
  report.kind = run.kind();
  if (!run.device) return report;
  report.name = run.device->info().name;
  report.budget = run.ledger->limit();
  report.in_flight = run.ledger->peak();
  report.tensors = run.device->tensor_pool().peak;
  report.pinned = !run.device->refusal();
  return report;
}

}  // namespace

std::string plan_name(std::uint64_t windows, std::uint64_t swept, std::uint64_t packed) {
  std::string name;
  const auto add = [&](const char* part, std::uint64_t count) {
    if (count != 0) name += fmt::format("{}{}", name.empty() ? "" : "+", part);
  };
  add("direct", windows - swept - packed);
  add("sweep", swept);
  add("repack", packed);
  return name.empty() ? "direct" : name;
}

std::string plan_name(const LoaderStats& stats) {
  return plan_name(stats.windows, stats.windows_swept, stats.windows_packed);
}

RunReport begin_report(const PlannedRun& run, PeakMemory& peak, std::uint64_t weights_xxh3) {
  const Parts& parts = *run.parts;
  const bool disk = parts.placement.features == Placement::kDisk;
  RunReport report;
  report.run = parts.options.run.dir;
  report.task = parts.options.task.type;
  report.model = parts.options.model.type;
  report.classes = parts.task->class_names();
  report.seed = parts.options.seed;
  report.features = disk ? "disk" : "memory";
  report.topology = topology_name(parts.placement.topology, parts.placement.relations);
  report.relations = places_by_key(parts.dataset.schema(), parts.placement.relations);
  if (parts.tables.any())
    report.learned = parts.placement.embeddings == Placement::kDisk ? "disk" : "memory";
  if (parts.options.embedding.mode == RowsMode::kPartitions) {
    PartitionReport& own = report.partitions.emplace();
    own.partitions = static_cast<std::uint64_t>(parts.options.embedding.partitions);
    if (report.learned == "disk") own.slots = partition_slots(parts.options.embedding);
    if (parts.partitions) own.order = parts.partitions->order_name();
    own.in_buffer = parts.model->num_layers() != 0;
  }
  report.execution = execution_of(*parts.model);
  report.plan = disk ? "direct" : "none";
  report.visibility = parts.sampler->visibility();
  report.engine = parts.data.engine();
  report.caches = table_caches(*run.parts);
  report.budget = parts.ledger->limit();
  report.ledger_peak = parts.ledger->peak();
  report.memory = parts.ledger->entries();
  report.peak_rss = peak.now().peak_rss;
  report.peak_anonymous = peak.peak_anonymous();
  report.anonymous_at_start = peak.anonymous_at_start();
  report.weights_xxh3 = weights_xxh3;
  report.device = device_report(parts.device);
  report.device.learned_rows = parts.rows->device_bytes();
  if (parts.options.train.hash_batches) report.batches_xxh3 = 0;
  return report;
}

void add_device_times(RunReport& report, const DeviceTimes& times) {
  report.device.transferred = times.transferred;
  if (times.transferred > 0) report.device.gather = times.batches_gathered > 0 ? "gpu" : "host";
  if (times.seconds > 0) report.device.busy = times.on_device / times.seconds;
}

void add_state(RunReport& report, const RunState& state) {
  report.epochs = state.epoch;
  report.seconds = state.seconds;
  report.epoch_seconds = state.epochs;
  report.bytes_read = state.bytes_read;
  report.bytes_written = state.bytes_written;
  report.bytes_useful = state.bytes_useful;
  report.counters = state.counters;
  if (report.partitions) report.partitions->figures = state.partitions;
  if (report.batches_xxh3) report.batches_xxh3 = state.batches_xxh3;
  if (state.epoch > 0) report.metrics["train.loss"] = state.last_loss;
  if (report.plan != "none" && !state.plan.empty()) report.plan = state.plan;
  if (!state.best) return;
  report.best_epoch = state.best->epoch;
  report.metrics.insert(state.best->metrics.begin(), state.best->metrics.end());
}

ReportJson to_json(const RunReport& report) {
  ReportJson metrics = ReportJson::object();
  for (const auto& [name, value] : report.metrics) metrics[name] = value;
  ReportJson json = {{"run", report.run},
                     {"task", report.task},
                     {"model", report.model},
                     {"seed", report.seed},
                     {"epochs", report.epochs}};
  if (report.best_epoch) json["best_epoch"] = *report.best_epoch;
  if (!report.classes.empty()) json["classes"] = report.classes;
  json["metrics"] = metrics;
  if (!report.ranked_among.empty()) json["ranked_among"] = report.ranked_among;
  if (report.beside) json["probe"] = to_json(*report.beside);
  json["seconds"] = {{"total", report.seconds}, {"epochs", report.epoch_seconds}};
  json["storage"] = {{"features", report.features},
                     {"topology", report.topology},
                     {"plan", report.plan},
                     {"engine", report.engine}};
  if (!report.relations.empty()) json["storage"]["relations"] = report.relations;
  if (!report.learned.empty()) json["storage"]["embeddings"] = report.learned;
  if (!report.visibility.empty()) json["visibility"] = report.visibility;
  if (report.continual) json["continual"] = to_json(*report.continual);
  if (report.execution) json["execution"] = to_json(*report.execution);
  if (report.partitions) {
    const PartitionReport& own = *report.partitions;
    json["approximate"] = "partition mode";
    json["partitions"] = {{"partitions", own.partitions},
                          {"slots", own.slots},
                          {"order", own.order},
                          {"neighbours", own.in_buffer ? "resident" : "none"},
                          {"swaps", own.figures.swaps},
                          {"bytes_read", own.figures.bytes_read},
                          {"bytes_written", own.figures.bytes_written},
                          {"waited", own.figures.waited}};
  }
  if (report.exact) json["exact"] = to_json(*report.exact, report.metrics);
  json["bytes"] = {{"read", report.bytes_read},
                   {"written", report.bytes_written},
                   {"useful", report.bytes_useful}};
  json["requests"] = requests_json(report.counters);
  json["cache"] = cache_json(report.counters);
  if (!report.caches.empty()) json["caches"] = caches_json(report.caches);
  json["stages"] = stages_json(report.counters);
  json["memory"] = memory_json(report);
  json["device"] = device_json(report.device);
  json["batches_xxh3"] =
      report.batches_xxh3 ? ReportJson(hex64(*report.batches_xxh3)) : ReportJson();
  json["weights_xxh3"] = hex64(report.weights_xxh3);
  return json;
}

std::string to_text(const RunReport& report) {
  std::string text = fmt::format(
      "{} on {}, {} epochs in {:.2f} s", report.model, report.task, report.epochs, report.seconds);
  if (report.best_epoch) text += fmt::format(", best at epoch {}", *report.best_epoch);
  text += '\n';
  for (const auto& [name, value] : report.metrics)
    text += fmt::format("  {:<16}  {}\n", name, figure_text(value));
  if (!report.ranked_among.empty())
    text += fmt::format("  {:<16}  among {} nodes\n", "ranks", report.ranked_among);
  if (report.beside) text += to_text(*report.beside);
  text += fmt::format("  {:<16}  features in {} ({}), read {}, useful {}\n",
                      "storage",
                      report.features,
                      report.engine,
                      format_bytes(report.bytes_read),
                      format_bytes(report.bytes_useful));
  if (!report.relations.empty()) {
    const auto in_memory = std::ranges::count_if(
        report.relations, [](const auto& each) { return each.second == "memory"; });
    text += fmt::format("  {:<16}  {} of {} in memory, the others' edges on disk\n",
                        "relations",
                        in_memory,
                        report.relations.size());
  }
  if (!report.visibility.empty())
    text += fmt::format("  {:<16}  {}\n", "visibility", report.visibility);
  if (report.continual) text += to_text(*report.continual);
  if (report.execution) text += to_text(*report.execution);
  if (report.partitions) {
    const PartitionReport& own = *report.partitions;
    text += fmt::format(
        "  {:<16}  partition mode: trained by {} partitions{}, {} swaps, rows read {}, written {}, "
        "waited {:.2f} s; evaluated exactly\n",
        "approximate",
        own.partitions,
        own.in_buffer ? ", neighbours drawn among resident ones" : "",
        own.figures.swaps,
        format_bytes(own.figures.bytes_read),
        format_bytes(own.figures.bytes_written),
        own.figures.waited);
  }
  if (report.exact) text += to_text(*report.exact, report.metrics);
  const DeviceReport& device = report.device;
  if (device.kind != "cpu") {
    text += fmt::format("  {:<16}  {}, busy {:.0f} %; {} in flight and {} of tensors of {}\n",
                        "device",
                        device.name,
                        100 * device.busy,
                        format_bytes(device.in_flight),
                        format_bytes(device.tensors),
                        format_bytes(device.budget));
  }
  text += to_text(report.counters);
  return text + fmt::format("  {:<16}  peak {} of {} budgeted, {} anonymous in the process\n",
                            "memory",
                            format_bytes(report.ledger_peak),
                            format_bytes(report.budget),
                            format_bytes(report.peak_anonymous));
}

}  // namespace sluice
