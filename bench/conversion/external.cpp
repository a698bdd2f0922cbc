#include "bench/conversion/external.h"

#include "bench/conversion/event_times.h"
#include "bench/conversion/pair_file.h"
#include "bench/support/child.h"
#include "bench/support/disk_rate.h"
#include "bench/support/folder.h"
#include "bench/support/program.h"
#include "bench/support/write_rate.h"
#include "core/log.h"
#include "core/peak_memory.h"
#include "prep/csc_builder.h"
#include "prep/spool/edge_column.h"
#include "storage/format/manifest.h"

#include <sluice/units.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace sluice::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kPairs = "pairs.u32";
constexpr const char* kTimes = "times.i64";
constexpr std::uint64_t kFixedBytes = std::uint64_t{100} << 20;  // beside the budget
constexpr std::uint64_t kPairBytes = 8;
constexpr std::uint64_t kTimeBytes = 8;
constexpr std::uint64_t kTimesAtOnce = std::uint64_t{1} << 17;
constexpr std::uint64_t kEventScale = 22;
constexpr std::uint64_t kEvents = std::uint64_t{1} << 26;
constexpr std::uint64_t kBudgetShare = 10;       // of what is read, one part in so many
constexpr std::uint64_t kReadBuffersShare = 16;  // of the budget, likewise, at most

std::uint64_t bytes_of_input(const ExternalOptions& options) {
  return options.edges * (kPairBytes + (options.times != 0 ? kTimeBytes : 0));
}

// When each event of the pairs was, in their order.
void write_times(const fs::path& path, std::uint64_t events) {
  File file = File::create(path).or_throw();
  std::vector<std::int64_t> times;
  for (std::uint64_t first = 0; first < events; first += kTimesAtOnce) {
    times.resize(std::min(kTimesAtOnce, events - first));
    for (std::size_t i = 0; i < times.size(); ++i) times[i] = event_time(first + i);
    file.write_at(first * kTimeBytes, std::as_bytes(std::span(times))).or_throw();
  }
  file.sync().or_throw();
  file.close().or_throw();
}

// The times of a file as the importer keeps those of a table, until it knows where edges go: beside
// it, as nearly all of the budget is the conversion's.
ScratchBytes spool_times(const fs::path& path, const fs::path& scratch, MemoryLedger& ledger) {
  const File file = File::open_read(path).or_throw();
  const std::uint64_t bytes = file.size().or_throw();
  const Charge charge = ledger.charge("times", kTimesAtOnce * kTimeBytes).or_throw();
  std::vector<std::byte> piece;
  ScratchBytes times(scratch, &ledger, 0);
  for (std::uint64_t at = 0; at < bytes; at += piece.size()) {
    piece.resize(std::min(kTimesAtOnce * kTimeBytes, bytes - at));
    file.read_at(at, piece).or_throw();
    times.append(piece);
  }
  return times;
}

Json run_once(const ExternalOptions& options,
              const fs::path& folder,
              const std::string& memory,
              const std::string& name) {
  std::vector<std::string> command;
  if (!options.in_cgroup.empty() && ::geteuid() == 0) {
    const std::uint64_t limit = parse_bytes(memory).or_throw().bytes + kFixedBytes;
    command = {options.in_cgroup, "--cold", std::to_string(limit)};
  }
  for (const std::string& word : {fs::read_symlink("/proc/self/exe").string(),
                                  std::string("--filter"),
                                  std::string("external_once"),
                                  std::string("--dir"),
                                  folder.string(),
                                  std::string("--edges"),
                                  std::to_string(options.edges),
                                  std::string("--external-scale"),
                                  std::to_string(options.scale),
                                  std::string("--threads"),
                                  std::to_string(options.threads),
                                  std::string("--memory"),
                                  memory,
                                  std::string("--edge-ids"),
                                  std::to_string(options.edge_ids),
                                  std::string("--times"),
                                  std::to_string(options.times),
                                  std::string("--name"),
                                  name})
    command.push_back(word);
  return Json::parse(run_child(command));
}

// Of a block: the usual ones unless two of them are more than a small part of the budget.
std::uint64_t block_edges(std::uint64_t budget) {
  constexpr std::uint64_t kPageEdges = 512;
  const std::uint64_t most = budget / kReadBuffersShare / 2 / kPairBytes / kPageEdges * kPageEdges;
  return std::clamp(most, kPageEdges, PairFile::kBlockEdges);
}

struct Disk {
  double read_rate;
  double write_rate;
};

Disk measure_disk(const fs::path& folder) {
  const double write = write_rate(folder, {});
  DiskMix mix;
  mix.request_bytes = 1 << 20;
  mix.depth = 16;
  mix.round_bytes = 1 << 30;
  return {disk_rate(folder / kPairs, mix), write};
}

void print_run(const ExternalOptions& options, const Json& run, const Disk& disk) {
  const auto input = static_cast<double>(bytes_of_input(options));
  const auto read = run.at("bytes_read").get<double>();
  const auto written = run.at("bytes_written").get<double>();
  Line line;
  line.name = options.name;
  line.work = read + written;
  line.seconds = run.at("seconds").get<double>();
  // What the disk takes for the same reads and writes, one after the other.
  line.disk_rate = line.work / (read / disk.read_rate + written / disk.write_rate);
  line.more = run;
  line.more["moved_of_input"] = line.work / input;
  line.more["edges_a_second"] = static_cast<double>(options.edges) / line.seconds;
  line.more["disk_read_rate"] = disk.read_rate;
  line.more["disk_write_rate"] = disk.write_rate;
  print(line);
}

// Beside input and output, in bytes.
struct Moved {
  std::uint64_t spilled = 0;  // written and read again by the conversion of pairs
  std::uint64_t spooled = 0;  // times that were written until edges had their places
  EdgeColumnStats placed{};   // what bringing them there read, and wrote beside the output
};

Moved convert_pairs(const ExternalOptions& options,
                    DatasetWriter& writer,
                    RelationSchema& relation,
                    const CscOptions& csc,
                    MemoryLedger& ledger,
                    ThreadArena& arena) {
  const std::uint64_t nodes = std::uint64_t{1} << options.scale;
  PairFile pairs(
      fs::path(options.dir) / kPairs, options.edges, &ledger, block_edges(ledger.limit()));
  return {build_csc(writer, relation, nodes, nodes, pairs, csc, arena).spilled_bytes, 0, {}};
}

// As sluice-prep import does a table of events in the order of time.
Moved convert_timed_pairs(const ExternalOptions& options,
                          DatasetWriter& writer,
                          RelationSchema& relation,
                          const CscOptions& csc,
                          MemoryLedger& ledger,
                          ThreadArena& arena) {
  const fs::path folder(options.dir);
  const ScratchBytes times = spool_times(folder / kTimes, folder, ledger);
  Moved moved = convert_pairs(options, writer, relation, csc, ledger, arena);
  const auto log = make_silent_logger();
  PrepContext context{ledger, arena, *log};
  moved.spooled = times.spilled();
  moved.placed = write_edge_column(
      writer, relation, times, kTimeBytes, relation_path(relation, "times.bin"), context);
  relation.has_times = true;
  return moved;
}

}  // namespace

void convert_once(const ExternalOptions& options, const std::string& name) {
  PeakMemory peak;
  MemoryLedger ledger(parse_bytes(options.memory).or_throw().bytes, "--memory");
  ThreadArena arena(static_cast<int>(options.threads));
  const fs::path folder(options.dir);
  const auto begin = std::chrono::steady_clock::now();
  DatasetWriter writer(folder / name, Overwrite::kReplace, &ledger);
  const std::uint64_t nodes = std::uint64_t{1} << options.scale;
  NodeTypeSchema node;
  node.name = "node";
  node.count = nodes;
  writer.schema().nodes.push_back(node);
  RelationSchema relation{.source = "node", .name = "edge", .target = "node"};
  CscOptions csc;
  csc.edge_ids = options.edge_ids != 0;
  const Moved moved = options.times != 0
                          ? convert_timed_pairs(options, writer, relation, csc, ledger, arena)
                          : convert_pairs(options, writer, relation, csc, ledger, arena);
  writer.schema().relations.push_back(relation);
  const std::uint64_t output = writer.bytes();
  writer.commit("bench");
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const Json line = {
      {"memory", ledger.limit()},
      {"seconds", seconds},
      {"bytes_read", bytes_of_input(options) + moved.spilled + moved.placed.bytes_read},
      {"bytes_written", output + moved.spilled + moved.spooled + moved.placed.scratch_bytes},
      {"spilled_bytes", moved.spilled},
      {"spooled_bytes", moved.spooled},
      {"placing_bytes_read", moved.placed.bytes_read},
      {"placing_bytes_written", moved.placed.scratch_bytes},
      {"output_bytes", output},
      {"ledger_peak", ledger.peak()},
      {"peak_anonymous", peak.peak_anonymous()}};
  fmt::print("{}\n", line.dump());
}

void measure_external(const ExternalOptions& options) {
  const Folder folder(fs::path(options.dir) / fmt::format("bench-external-{}", ::getpid()));
  write_pairs(folder.path() / kPairs, options.scale, options.edges, options.threads);
  if (options.times != 0) write_times(folder.path() / kTimes, options.edges);
  const Disk disk = measure_disk(folder.path());
  print_run(options, run_once(options, folder.path(), options.memory, "small"), disk);
  if (options.larger.empty()) return;
  print_run(options, run_once(options, folder.path(), options.larger, "large"), disk);
  const auto text = [&](const char* name) {
    return Manifest::load(folder.path() / name).or_throw().to_text();
  };
  if (text("small") != text("large"))
    throw Error(ErrorCode::kInternal, "the output depends on the budget");
  fmt::print("{}\n", Json({{"case", "external_same_bytes"}, {"same", true}}).dump());
}

void measure_external_events(ExternalOptions options) {
  options.name = "external_events";
  options.edges = kEvents;
  options.scale = kEventScale;
  options.edge_ids = 1;
  options.times = 1;
  options.memory = fmt::format("{}B", bytes_of_input(options) / kBudgetShare);
  options.larger.clear();
  measure_external(options);
}

}  // namespace sluice::bench
