#include "prep/generate/temporal.h"

#include "core/interrupt.h"
#include "core/progress.h"
#include "prep/generate/drawn_edges.h"
#include "prep/generate/normal_draw.h"
#include "storage/format/data_file_reader.h"
#include "storage/io/disk_space.h"

#include <sluice/array.h>

#include <algorithm>
#include <span>
#include <vector>

namespace sluice {
namespace {

constexpr std::uint64_t kRecent = 1000;  // events back that one may repeat
constexpr std::uint64_t kFeatureChunkBytes = 8 << 20;

// times.bin stands beside neighbours.bin: the time of edge i is the one of its event, edge_ids[i].
template <class Id, class Draw>
void write_times(DatasetWriter& writer,
                 const RelationSchema& relation,
                 const Draw& draw,
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

template <class Draw>
void add_times(DatasetWriter& writer,
               RelationSchema& relation,
               const Draw& draw,
               MemoryLedger& ledger) {
  relation.has_times = true;
  if (relation.edge_id_dtype() == DType::kU32) {
    write_times<std::uint32_t>(writer, relation, draw, ledger);
  } else {
    write_times<std::uint64_t>(writer, relation, draw, ledger);
  }
}

// Of each event the centre of its source's class at the time, plus noise; rows by event.
void add_event_features(DatasetWriter& writer,
                        RelationSchema& relation,
                        const TemporalDraw& draw,
                        std::int64_t dim,
                        RandomKey key,
                        PrepContext& context) {
  const auto width = static_cast<std::size_t>(dim);
  FeatureSchema schema;
  schema.dtype = DType::kF32;
  schema.rows = draw.num_events();
  schema.dim = static_cast<std::uint32_t>(dim);
  const FeatureLayout layout = Manifest::layout_of(schema);
  require_space(writer.staging().path(), layout.file_bytes(), "the features of events");
  auto file = writer.create(relation_path(relation, schema.name + ".bin"));
  FeatureWriter rows(*file, layout);
  const std::uint64_t chunk =
      std::max<std::uint64_t>(1, kFeatureChunkBytes / (width * sizeof(float)));
  Array values = Array::make(DType::kF32,
                             {static_cast<std::int64_t>(std::min(chunk, schema.rows)), dim},
                             &context.ledger,
                             "generator")
                     .or_throw();
  const RandomKey centres = key.with("event centres"), noise = key.with("event features");
  Progress progress(context.progress, "event features", schema.rows, "rows");
  for (std::uint64_t first = 0; first < schema.rows; first += chunk) {
    throw_if_interrupted();
    const std::uint64_t count = std::min(chunk, schema.rows - first);
    const auto out = values.as<float>().first(count * width);
    context.arena.for_ranges(count, 1024, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::uint64_t event = first + i;
        const RandomKey centre =
            centres.with(draw.class_at(draw(event).first, event, draw.num_events()));
        const RandomKey own = noise.with(event);
        for (std::size_t c = 0; c < width; ++c)
          out[i * width + c] = normal_draw(centre.draw(c)) + normal_draw(own.draw(c));
      }
    });
    rows.append_rows(std::as_bytes(out));
    progress.add(count);
  }
  writer.add(std::move(file));
  relation.features.push_back(schema);
}

void add_labels(DatasetWriter& writer,
                RelationSchema& relation,
                const LabelDraw& draw,
                std::uint64_t count,
                std::uint64_t classes) {
  constexpr std::uint64_t kChunk = 1 << 16;
  auto file = writer.create(relation_path(relation, "labels.bin"));
  std::vector<std::int32_t> labels;
  for (std::uint64_t first = 0; first < count; first += labels.size()) {
    throw_if_interrupted();
    labels.resize(std::min(kChunk, count - first));
    for (std::size_t i = 0; i < labels.size(); ++i)
      labels[i] = static_cast<std::int32_t>(draw.label(first + i));
    file->append_values(std::span<const std::int32_t>(labels));
  }
  writer.add(std::move(file));
  relation.labels = LabelSchema{LabelKind::kClass, static_cast<std::uint32_t>(classes)};
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
  schema.field("in_turn", in_turn)
      .help(
          "share of the ends that are taken in turn: a node comes again when all others had their "
          "turn; those of the others are skewed, few nodes have most")
      .range(0, 1);
  schema.field("homophily", homophily)
      .help("chance that the target of an event that repeats none is of the source's class then")
      .range(0, 1);
  schema.field("drift", drift)
      .help("how often a node changes its class from the first event to the last, on average")
      .range(0, 100);
  schema.field("edge_features", edge_features)
      .help("features an event: of the source's class then, plus noise; 0: none")
      .range(0, 1 << 20);
  schema.field("label_events", label_events)
      .help(
          "events of a second relation, label, from a node to itself: its class then, as the "
          "edge's "
          "label; 0: none")
      .range(0, 1e13);
  node_options.describe(schema);
}

TemporalDraw::TemporalDraw(const TemporalGenerator::Options& options)
    : options_(options),
      key_(RandomKey(static_cast<std::uint64_t>(options.seed)).with("temporal").with("events")),
      classes_(static_cast<std::uint64_t>(std::min(options.node_options.classes, options.nodes))) {}

std::uint64_t TemporalDraw::skewed(RandomKey one, std::uint64_t counter) const {
  const auto nodes = static_cast<std::uint64_t>(options_.nodes);
  return one.below(1 + one.below(nodes, counter), counter + 1);
}

// All nodes once in so many events: steps that share no divisor with their number lead to each.
// Every round begins elsewhere, so that pairs are others.
std::uint64_t TemporalDraw::in_turn(std::uint64_t event, End end) const {
  constexpr std::uint64_t kSourceStep = 2'654'435'761, kTargetStep = 2'246'822'519;  // primes
  const auto nodes = static_cast<std::uint64_t>(options_.nodes);
  const std::uint64_t prime = end == End::kSource ? kSourceStep : kTargetStep;
  const std::uint64_t step = nodes % prime == 0 ? 1 : prime;
  const RandomKey key = key_.with("in turn").with(static_cast<std::uint64_t>(end));
  const auto walked = static_cast<unsigned __int128>(event % nodes) * step;
  return static_cast<std::uint64_t>((walked + key.below(nodes, event / nodes)) % nodes);
}

std::uint64_t TemporalDraw::end_of(std::uint64_t event, End end, RandomKey one) const {
  const std::uint64_t counter = end == End::kSource ? 2 : 4;
  const bool turns =
      options_.in_turn > 0 && one.with("in turn").uniform(counter) < options_.in_turn;
  return turns ? in_turn(event, end) : skewed(one, counter);
}

std::pair<std::uint64_t, std::uint64_t> TemporalDraw::operator()(std::uint64_t event) const {
  // A repeated event may repeat another: each step goes back in time, so this ends.
  RandomKey one = key_.with(event);
  while (event != 0 && one.uniform(0) < options_.repeat) {
    event -= 1 + one.below(std::min(kRecent, event), 1);
    one = key_.with(event);
  }
  const std::uint64_t source = end_of(event, End::kSource, one);
  return {source, target_of(source, event, one)};
}

// Within the source's class where the event says so: the first of some nodes that is of it.
std::uint64_t TemporalDraw::target_of(std::uint64_t source,
                                      std::uint64_t event,
                                      RandomKey one) const {
  constexpr std::uint64_t kTries = 64;
  std::uint64_t target = end_of(event, End::kTarget, one);
  if (options_.homophily == 0 || one.uniform(6) >= options_.homophily) return target;
  const std::uint32_t wanted = class_at(source, event, num_events());
  for (std::uint64_t t = 0; t < kTries && class_at(target, event, num_events()) != wanted; ++t)
    target = skewed(one, 8 + 2 * t);
  return target;
}

std::int64_t TemporalDraw::time_of(std::uint64_t number, std::uint64_t count) const {
  const auto last = static_cast<unsigned __int128>(count > 1 ? count - 1 : 1);
  const auto span = static_cast<unsigned __int128>(options_.seconds);
  return options_.start + static_cast<std::int64_t>(number * span / last);
}

// Each node changes at even distances, of which the first is its own.
std::uint32_t TemporalDraw::class_at(std::uint64_t node,
                                     std::uint64_t number,
                                     std::uint64_t count) const {
  std::uint64_t own = node % classes_;
  if (options_.drift == 0 || classes_ == 1) return static_cast<std::uint32_t>(own);
  const RandomKey key = key_.with("drift").with(node);
  const double progress = static_cast<double>(number) / static_cast<double>(count);
  const auto changes = static_cast<std::uint64_t>(key.uniform(0) + options_.drift * progress);
  for (std::uint64_t change = 1; change <= changes; ++change)
    own = (own + 1 + key.below(classes_ - 1, change)) % classes_;
  return static_cast<std::uint32_t>(own);
}

LabelDraw::LabelDraw(const TemporalGenerator::Options& options)
    : draw_(options),
      nodes_(static_cast<std::uint64_t>(options.nodes)),
      count_(static_cast<std::uint64_t>(options.label_events)),
      key_(RandomKey(static_cast<std::uint64_t>(options.seed)).with("temporal").with("labels")) {}

std::pair<std::uint64_t, std::uint64_t> LabelDraw::operator()(std::uint64_t number) const {
  const std::uint64_t node = key_.below(nodes_, number);
  return {node, node};
}

void TemporalGenerator::generate(DatasetWriter& writer, PrepContext& context) {
  const RandomKey key = RandomKey(static_cast<std::uint64_t>(options_.seed)).with("temporal");
  const auto nodes = static_cast<std::uint64_t>(options_.nodes);
  const TemporalDraw draw(options_);
  const std::uint64_t classes = draw.num_classes();
  write_synthetic_nodes(
      writer,
      "node",
      nodes,
      options_.node_options,
      [classes](std::uint64_t node) { return static_cast<std::uint32_t>(node % classes); },
      key,
      context);
  RelationSchema relation{.source = "node", .name = "event", .target = "node"};
  CscOptions csc;
  csc.edge_ids = true;
  write_drawn_edges(
      writer, relation, draw.num_events(), draw, csc, context, [&](RelationSchema& built) {
        add_times(writer, built, draw, context.ledger);
        if (options_.edge_features > 0)
          add_event_features(writer, built, draw, options_.edge_features, key, context);
      });
  if (options_.label_events == 0) return;
  const LabelDraw labels(options_);
  const auto count = static_cast<std::uint64_t>(options_.label_events);
  relation.name = "label";
  write_drawn_edges(writer, relation, count, labels, csc, context, [&](RelationSchema& built) {
    add_times(writer, built, labels, context.ledger);
    add_labels(writer, built, labels, count, classes);
  });
}

}  // namespace sluice
