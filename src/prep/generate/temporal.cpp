#include "prep/generate/temporal.h"

#include "prep/generate/drawn_edges.h"
#include "storage/format/data_file_reader.h"

#include <algorithm>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kRecent = 1000;  // events back that one may repeat

// times.bin stands beside neighbours.bin: the time of edge i is the one of its event, edge_ids[i].
template <class Id>
void write_times(DatasetWriter& writer,
                 const RelationSchema& relation,
                 const TemporalDraw& draw,
                 MemoryLedger& ledger) {
  auto file = writer.create(relation_path(relation, "times.bin"));
  std::vector<std::int64_t> times;
  std::uint64_t left = relation.edges;
  const auto take = [&](std::uint64_t, std::span<const std::byte> bytes) -> Result<void> {
    const auto count = std::min<std::uint64_t>(left, bytes.size() / sizeof(Id));
    const Id* const ids = reinterpret_cast<const Id*>(bytes.data());
    times.resize(count);
    for (std::uint64_t i = 0; i < count; ++i) times[i] = draw.time(ids[i]);
    left -= count;
    file->append_values(std::span<const std::int64_t>(times));
    return {};
  };
  const FileEntry entry = writer.entry(relation_path(relation, "edge_ids.bin"));
  scan_file(writer.staging().path(), entry, {Verify::kOff}, &ledger, take).or_throw();
  writer.add(std::move(file));
}

}  // namespace

void TemporalGenerator::Options::describe(Schema& schema) {
  schema.field("seed", seed).help("the same seed and options give the same dataset");
  schema.field("nodes", nodes).help("number of nodes").range(1, 1e12);
  schema.field("events", events).help("number of events").range(0, 1e13);
  schema.field("start", start).help("time of the first event, in seconds");
  schema.field("seconds", seconds).help("time from the first event to the last").range(0, 1e15);
  schema.field("repeat", repeat)
      .help("chance that an event has the two nodes of one of the last thousand")
      .range(0, 0.99);
  node_options.describe(schema);
}

TemporalDraw::TemporalDraw(const TemporalGenerator::Options& options)
    : options_(options),
      key_(RandomKey(static_cast<std::uint64_t>(options.seed)).with("temporal").with("events")) {}

std::pair<std::uint64_t, std::uint64_t> TemporalDraw::operator()(std::uint64_t event) const {
  // A repeated event may repeat another: each step goes back in time, so this ends.
  RandomKey one = key_.with(event);
  while (event != 0 && one.uniform(0) < options_.repeat) {
    event -= 1 + one.below(std::min(kRecent, event), 1);
    one = key_.with(event);
  }
  const auto nodes = static_cast<std::uint64_t>(options_.nodes);
  const auto skewed = [&](std::uint64_t counter) {
    return one.below(1 + one.below(nodes, counter), counter + 1);
  };
  return {skewed(2), skewed(4)};
}

std::int64_t TemporalDraw::time(std::uint64_t event) const {
  const auto last = static_cast<unsigned __int128>(std::max<std::int64_t>(1, options_.events - 1));
  const auto span = static_cast<unsigned __int128>(options_.seconds);
  return options_.start + static_cast<std::int64_t>(event * span / last);
}

void TemporalGenerator::generate(DatasetWriter& writer, PrepContext& context) {
  const RandomKey key = RandomKey(static_cast<std::uint64_t>(options_.seed)).with("temporal");
  const auto nodes = static_cast<std::uint64_t>(options_.nodes);
  const auto classes = std::min(static_cast<std::uint64_t>(options_.node_options.classes), nodes);
  write_synthetic_nodes(
      writer,
      "node",
      nodes,
      options_.node_options,
      [classes](std::uint64_t node) { return static_cast<std::uint32_t>(node % classes); },
      key,
      context);
  const TemporalDraw draw(options_);
  RelationSchema relation{.source = "node", .name = "event", .target = "node"};
  CscOptions csc;
  csc.edge_ids = true;
  const auto add_times = [&](RelationSchema& built) {
    built.has_times = true;
    if (built.edge_id_dtype() == DType::kU32) {
      write_times<std::uint32_t>(writer, built, draw, context.ledger);
    } else {
      write_times<std::uint64_t>(writer, built, draw, context.ledger);
    }
  };
  write_drawn_edges(
      writer, relation, static_cast<std::uint64_t>(options_.events), draw, csc, context, add_times);
}

}  // namespace sluice
