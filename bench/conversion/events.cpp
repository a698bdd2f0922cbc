#include "bench/conversion/events.h"

#include "bench/conversion/event_times.h"
#include "bench/conversion/skewed_draw.h"
#include "bench/support/child.h"
#include "bench/support/folder.h"
#include "bench/support/program.h"
#include "prep/convert/converter.h"
#include "storage/io/file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace sluice::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kEventsANode = 16;
constexpr std::size_t kPiece = 1 << 16;

template <class T>
std::span<T> values_of(AlignedBuffer& memory, std::uint64_t count) {
  return {reinterpret_cast<T*>(memory.data()), count};
}

template <class T>
AlignedBuffer room_for(std::uint64_t count, const char* what) {
  return AlignedBuffer::make(count * sizeof(T), nullptr, what).or_throw();
}

struct EventLog {
  std::uint64_t nodes = 0;
  std::uint64_t count = 0;
  AlignedBuffer source_memory, target_memory, time_memory;

  std::span<std::uint32_t> source() { return values_of<std::uint32_t>(source_memory, count); }
  std::span<std::uint32_t> target() { return values_of<std::uint32_t>(target_memory, count); }
  std::span<std::int64_t> time() { return values_of<std::int64_t>(time_memory, count); }
};

EventLog draw_events(std::uint64_t scale, std::uint64_t events, ThreadArena& arena) {
  const SkewedDraw draw{std::uint64_t{1} << scale};
  EventLog log{draw.nodes,
               events,
               room_for<std::uint32_t>(events, "events"),
               room_for<std::uint32_t>(events, "events"),
               room_for<std::int64_t>(events, "events")};
  arena.for_ranges(events, kPiece, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      log.source()[i] = draw.source(i);
      log.target()[i] = draw.target(i);
      log.time()[i] = event_time(i);
    }
  });
  return log;
}

// Lists have all events, each with its time, in the order of (time, id).
void check_lists(const MemoryCsc& csc,
                 std::span<const std::uint32_t> ids,
                 std::span<const std::int64_t> times) {
  const std::span<const std::uint64_t> offsets = csc.offsets();
  if (offsets.back() != times.size())
    throw Error(ErrorCode::kInternal, "the conversion lost events");
  for (std::size_t node = 0; node + 1 < offsets.size(); ++node) {
    for (std::uint64_t at = offsets[node]; at < offsets[node + 1]; ++at) {
      const bool timed = times[at] == event_time(ids[at]);
      if (!timed || (at > offsets[node] && ids[at] <= ids[at - 1]))
        throw Error(ErrorCode::kInternal,
                    fmt::format("the events of node {} are not in the order of time", node));
    }
  }
}

// Medians of the rounds, whose memory is all new.
struct Converted {
  double csc_seconds = 0;  // neighbours and edge ids
  double seconds = 0;      // and times
};

Converted convert_events(EventLog& log, const EventOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  ThreadArena arena(static_cast<int>(options.threads));
  std::vector<double> csc_seconds, seconds;
  for (std::uint64_t round = 0; round < options.rounds; ++round) {
    const auto begin = Clock::now();
    ConvertOptions convert;
    convert.rules = {.num_sources = log.nodes, .num_targets = log.nodes};
    convert.edge_ids = true;
    convert.expected_edges = log.count;
    convert.spill_folder = options.dir;
    Converter converter(convert, arena, nullptr);
    (void)converter.add(
        EdgeSpan<std::uint32_t>{log.source().data(), log.target().data(), log.count}, 0);
    MemoryCsc csc(DType::kU32, DType::kU32, log.nodes, log.count, nullptr);
    (void)converter.drain(csc, log.count);
    csc_seconds.push_back(since(begin));
    AlignedBuffer time_memory = room_for<std::int64_t>(log.count, "times");
    const std::span<std::int64_t> times = values_of<std::int64_t>(time_memory, log.count);
    const std::span<const std::uint32_t> ids{reinterpret_cast<const std::uint32_t*>(csc.ids()),
                                             log.count};
    const std::span<const std::int64_t> by_id = log.time();
    arena.for_ranges(log.count, kPiece, [&](std::size_t first, std::size_t last) {
      for (std::size_t at = first; at < last; ++at) times[at] = by_id[ids[at]];
    });
    seconds.push_back(since(begin));
    if (round == 0) check_lists(csc, ids, times);
  }
  return {median(csc_seconds), median(seconds)};
}

// Two lines of SciPy's kernel: with edge ids, and with times too.
std::vector<Json> run_scipy(EventLog& log, const EventOptions& options) {
  std::vector<Json> lines;
  if (options.peers.empty()) return lines;
  const Folder folder(std::filesystem::path(options.dir) /
                      fmt::format("bench-events-{}", ::getpid()));
  const auto write = [&](const char* name, std::span<const std::byte> bytes) {
    File file = File::create(folder.path() / name).or_throw();
    file.write_at(0, bytes).or_throw();
    file.close().or_throw();
  };
  write("source.u32", std::as_bytes(log.source()));
  write("target.u32", std::as_bytes(log.target()));
  write("time.i64", std::as_bytes(log.time()));
  std::istringstream text(run_child({options.peers,
                                     "events",
                                     folder.path().string(),
                                     std::to_string(log.nodes),
                                     std::to_string(options.threads)}));
  for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
  return lines;
}

}  // namespace

void measure_events(const EventOptions& options) {
  ThreadArena arena(static_cast<int>(options.threads));
  EventLog log = draw_events(options.scale, kEventsANode << options.scale, arena);
  const Converted ours = convert_events(log, options);
  Line line;
  line.name = "events";
  line.work = static_cast<double>(log.count);
  line.unit = "events";
  line.seconds = ours.seconds;
  line.more = {
      {"scale", options.scale}, {"threads", options.threads}, {"csc_seconds", ours.csc_seconds}};
  for (const Json& peer : run_scipy(log, options)) {
    const double seconds = peer.at("seconds").get<double>();
    if (peer.at("times").get<bool>()) {
      line.peer = peer.at("peer").get<std::string>();
      line.peer_rate = line.work / seconds;
    } else {
      line.more["peer_csc_seconds"] = seconds;
      line.more["csc_of_peer"] = seconds / ours.csc_seconds;
    }
  }
  print(line);
}

void measure_event_hubs(const EventOptions& options) {
  ThreadArena arena(static_cast<int>(options.threads));
  const auto converted = [&](std::uint64_t scale) {
    EventLog log = draw_events(scale, options.hub_events, arena);
    return convert_events(log, options);
  };
  const Converted spread = converted(options.scale), hubs = converted(options.hub_scale);
  const auto events = static_cast<double>(options.hub_events);
  Line line;
  line.name = "event_hubs";
  line.work = events;
  line.unit = "events";
  line.seconds = hubs.seconds;
  line.more = {{"scale", options.hub_scale},
               {"other_scale", options.scale},
               {"threads", options.threads},
               {"ns_per_event", hubs.seconds / events * 1e9},
               {"other_ns_per_event", spread.seconds / events * 1e9},
               {"slower", hubs.seconds / spread.seconds},
               {"csc_slower", hubs.csc_seconds / spread.csc_seconds}};
  print(line);
}

}  // namespace sluice::bench
