#include "samplers/temporal_neighbor_sampler.h"

#include "samplers/degree_counts.h"

#include <sluice/samplers/batch_builder.h>
#include <sluice/samplers/transpose_block.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

namespace sluice {
namespace {

template <class T>
Result<Array> copy_of(std::span<const T> values, MemoryLedger* ledger) {
  auto made =
      Array::make(dtype_of<T>, {static_cast<std::int64_t>(values.size())}, ledger, "batches");
  if (made) std::ranges::copy(values, made.value().template as<T>().begin());
  return made;
}

// One hop of a relation; `lag`: as the options' visibility has it for seeds.
TemporalSampler one_hop(const std::shared_ptr<const TemporalSource>& events,
                        const TemporalSamplerOptions& options,
                        std::size_t hop,
                        bool lag,
                        RandomKey key,
                        std::size_t relation) {
  TemporalSamplerOptions own = options;
  own.count = {options.count[hop]};
  if (!lag && own.visibility == TemporalVisibility::kBatchLag)
    own.visibility = TemporalVisibility::kStrict;
  return {events, std::move(own), key.with("hop").with(hop), relation};
}

}  // namespace

TemporalNeighborSampler::TemporalNeighborSampler(SamplerGraph graph,
                                                 Options options,
                                                 BlockParts parts,
                                                 RandomKey key)
    : graph_(std::move(graph)),
      options_(std::move(options)),
      parts_(parts),
      tables_(graph_.schema->nodes.size()) {
  for (const SampledRelation& resolved : resolve_relations(graph_)) {
    const std::size_t r = resolved.index;
    const std::shared_ptr<const TemporalSource> events = temporal_source(graph_, r);
    if (events == nullptr) {
      throw Error(
          ErrorCode::kUsage,
          fmt::format("[sampler] type = \"temporal\" needs the times of edges, and relation "
                      "'{}' has none",
                      graph_.schema->relations[r].key()),
          "import the edges with time_column, or choose another sampler");
    }
    Relation relation{resolved.source_type, resolved.target_type, events, {}};
    for (std::size_t hop = 0; hop < num_layers(); ++hop) {
      relation.hops.push_back({one_hop(events, options_, hop, true, key, r),
                               one_hop(events, options_, hop, false, key, r)});
    }
    relations_.push_back(std::move(relation));
  }
}

Result<Batch> TemporalNeighborSampler::sample(const SampleRequest& request, MemoryLedger* ledger) {
  if (ledger != ledger_) {  // what is kept is charged to the old one
    workspace_ = {};
    tables_ = std::vector<TimedNodeTable>(tables_.size());
  }
  ledger_ = ledger;
  return sample_whole(request);
}

Result<Batch> TemporalNeighborSampler::sample_whole(const SampleRequest& request) {
  Batch batch;
  batch.epoch = request.epoch;
  batch.index = request.index;
  batch.nodes.resize(tables_.size());
  batch.layers.resize(num_layers());
  for (BatchNodes& nodes : batch.nodes) nodes.size_at.resize(num_layers() + 1);
  if (auto listed = list_seeds(request, batch); !listed) return std::move(listed).error();
  note_sizes(batch, num_layers());
  for (std::size_t layer = num_layers(); layer-- > 0;) {
    if (auto sampled = sample_layer(request, layer, batch); !sampled)
      return std::move(sampled).error();
  }
  if (auto finished = finish(batch); !finished) return std::move(finished).error();
  return batch;
}

Result<void> TemporalNeighborSampler::list_seeds(const SampleRequest& request, Batch& batch) {
  for (TimedNodeTable& table : tables_) table.clear();
  batch.seeds.resize(tables_.size());
  if (request.seeds.num_types() > tables_.size()) {
    return Error(ErrorCode::kInternal,
                 fmt::format("there is no node type {}", request.seeds.num_types() - 1));
  }
  for (std::size_t type = 0; type < request.seeds.num_types(); ++type) {
    if (request.seeds.of(type).empty()) continue;
    if (auto listed = list_seeds(request, type, batch); !listed) return listed;
  }
  return {};
}

Result<void> TemporalNeighborSampler::list_seeds(const SampleRequest& request,
                                                 std::size_t of_type,
                                                 Batch& batch) {
  const NodeTypeSchema& type = graph_.schema->nodes[of_type];
  const auto seeds = request.seeds.of(of_type);
  const auto times = request.seeds.times_of(of_type);
  const auto events = request.seeds.events_of(of_type);
  if (times.size() != seeds.size()) {
    return Error(ErrorCode::kUsage,
                 "[sampler] type = \"temporal\" needs queries with times, and these have none",
                 "choose another sampler, or a task that asks by time");
  }
  if (options_.needs_events() && events.size() != seeds.size()) {
    return Error(ErrorCode::kUsage,
                 "visibility = \"event_order\" needs queries of events, and these are of none",
                 "choose visibility = \"strict\"");
  }
  TimedNodeTable& table = tables_[of_type];
  if (auto room = table.reserve(seeds.size(), ledger_); !room) return room;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    if (seeds[i] >= type.count) {
      return Error(ErrorCode::kData,
                   fmt::format("seed {} is no node: type '{}' has {}",
                               seeds[i],
                               type.name,
                               format_count(type.count)));
    }
    table.insert({seeds[i], times[i], events.empty() ? 0 : events[i]});
    if (table.size() != i + 1) {
      return Error(ErrorCode::kData,
                   fmt::format("seed {} at time {} appears twice in mini-batch {}",
                               seeds[i],
                               times[i],
                               request.index));
    }
  }
  auto copy = copy_of(seeds, ledger_);
  if (!copy) return std::move(copy).error();
  batch.seeds[of_type] = std::move(copy).value();
  return {};
}

void TemporalNeighborSampler::note_sizes(Batch& batch, std::size_t boundary) const {
  for (std::size_t type = 0; type < tables_.size(); ++type)
    batch.nodes[type].size_at[boundary] = static_cast<std::int64_t>(tables_[type].size());
}

Result<void> TemporalNeighborSampler::sample_layer(const SampleRequest& request,
                                                   std::size_t layer,
                                                   Batch& batch) {
  const std::size_t hop = num_layers() - 1 - layer;
  std::vector<Block> blocks;
  for (std::size_t r = 0; r < relations_.size(); ++r) {
    // All relations start from the rows listed before the hop.
    const auto targets =
        static_cast<std::size_t>(batch.nodes[relations_[r].target_type].size_at[layer + 1]);
    auto block = sample_block(request, r, hop, targets);
    if (!block) return std::move(block).error();
    blocks.push_back(std::move(block).value());
  }
  note_sizes(batch, layer);
  for (Block& block : blocks) {
    block.num_sources = batch.nodes[block.source_type].size_at[layer];
    if (!parts_.transpose) continue;
    if (auto transposed = transpose_block(block, ledger_); !transposed) return transposed;
  }
  batch.layers[layer] = std::move(blocks);
  return {};
}

Result<Block> TemporalNeighborSampler::sample_block(const SampleRequest& request,
                                                    std::size_t relation,
                                                    std::size_t hop,
                                                    std::size_t targets) {
  const auto count = static_cast<std::size_t>(options_.count[hop]);
  if (targets > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) / count)
    return too_many_block_edges(targets * count);
  auto rows = fill(request, relations_[relation].hops[hop], relation, targets);
  if (!rows) return std::move(rows).error();
  return take(rows.value(), relation, count);
}

// Asks for the first `targets` rows of the relation's target type.
Result<TemporalRows> TemporalNeighborSampler::fill(const SampleRequest& request,
                                                   const Hop& hop,
                                                   std::size_t relation,
                                                   std::size_t targets) {
  const std::size_t type = relations_[relation].target_type;
  const auto count = static_cast<std::size_t>(hop.met.options().count.front());
  const std::size_t cells = targets * count;
  Workspace& w = workspace_;
  if (auto room = w.counts.ensure(targets, ledger_); !room) return std::move(room).error();
  if (auto room = w.neighbours.ensure(cells, ledger_); !room) return std::move(room).error();
  if (auto room = w.edge_ids.ensure(cells, ledger_); !room) return std::move(room).error();
  if (auto room = w.times.ensure(cells, ledger_); !room) return std::move(room).error();
  if (auto room = w.deltas.ensure(cells, ledger_); !room) return std::move(room).error();
  const TimedNodeTable& table = tables_[type];
  const std::size_t seeds = std::min(request.seeds.of(type).size(), targets);
  const auto ask =
      [&](const TemporalSampler& sampler, std::size_t first, std::size_t size) -> Result<void> {
    if (size == 0) return {};
    const std::size_t cell = first * count, num_cells = size * count;
    const TemporalRequest asked{request.epoch,
                                {table.nodes().subspan(first, size),
                                 table.times().subspan(first, size),
                                 table.events().subspan(first, size)},
                                request.cut};
    const TemporalRows out{w.counts.first(targets).subspan(first, size),
                           w.neighbours.first(cells).subspan(cell, num_cells),
                           w.edge_ids.first(cells).subspan(cell, num_cells),
                           w.times.first(cells).subspan(cell, num_cells),
                           w.deltas.first(cells).subspan(cell, num_cells)};
    return sampler.fill(0, asked, out);
  };
  if (auto asked = ask(hop.seeds, 0, seeds); !asked) return std::move(asked).error();
  if (auto asked = ask(hop.met, seeds, targets - seeds); !asked) return std::move(asked).error();
  return TemporalRows{w.counts.first(targets),
                      w.neighbours.first(cells),
                      w.edge_ids.first(cells),
                      w.times.first(cells),
                      w.deltas.first(cells)};
}

// The block of a hop's answers; lists their nodes at the times of their edges.
Result<Block> TemporalNeighborSampler::take(const TemporalRows& rows,
                                            std::size_t relation,
                                            std::size_t count) {
  const std::size_t targets = rows.counts.size();
  Block block;
  block.relation = relation;
  block.source_type = relations_[relation].source_type;
  block.target_type = relations_[relation].target_type;
  block.num_targets = static_cast<std::int64_t>(targets);
  auto offsets = Array::make(DType::kI64, {block.num_targets + 1}, ledger_, "batches");
  if (!offsets) return std::move(offsets).error();
  block.offsets = std::move(offsets).value();
  const auto ends = block.offsets.as<std::int64_t>();
  ends[0] = 0;
  for (std::size_t i = 0; i < targets; ++i) ends[i + 1] = ends[i] + rows.counts[i];
  const std::int64_t edges = ends[targets];

  const auto make = [&](Array& array, DType dtype) -> Result<void> {
    auto made = Array::make(dtype, {edges}, ledger_, "batches");
    if (!made) return std::move(made).error();
    array = std::move(made).value();
    return {};
  };
  if (auto made = make(block.neighbours, DType::kI32); !made) return std::move(made).error();
  if (auto made = make(block.deltas, DType::kI64); !made) return std::move(made).error();
  if (parts_.edge_ids) {
    if (auto made = make(block.edge_ids, DType::kU64); !made) return std::move(made).error();
  }
  TimedNodeTable& table = tables_[block.source_type];
  if (auto room = table.reserve(static_cast<std::size_t>(edges), ledger_); !room)
    return std::move(room).error();
  const auto sources = block.neighbours.as<std::int32_t>();
  const auto deltas = block.deltas.as<std::int64_t>();
  const bool by_event = options_.needs_events();
  std::size_t at = 0;
  for (std::size_t i = 0; i < targets; ++i) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(rows.counts[i]); ++j, ++at) {
      const std::size_t cell = i * count + j;
      sources[at] = table.insert(
          {rows.neighbours[cell], rows.times[cell], by_event ? rows.edge_ids[cell] : 0});
      deltas[at] = rows.deltas[cell];
      if (parts_.edge_ids) block.edge_ids.as<std::uint64_t>()[at] = rows.edge_ids[cell];
    }
  }
  return block;
}

Result<void> TemporalNeighborSampler::finish(Batch& batch) {
  for (std::size_t type = 0; type < tables_.size(); ++type) {
    auto ids = copy_of(tables_[type].nodes(), ledger_);
    if (!ids) return std::move(ids).error();
    batch.nodes[type].ids = std::move(ids).value();
    auto times = copy_of(tables_[type].times(), ledger_);
    if (!times) return std::move(times).error();
    batch.nodes[type].times = std::move(times).value();
    if (auto counted = count_degrees(type, batch.nodes[type]); !counted) return counted;
  }
  return {};
}

Result<void> TemporalNeighborSampler::count_degrees(std::size_t type, BatchNodes& of_type) {
  if (!parts_.degrees && !parts_.relation_degrees) return {};
  const auto nodes = tables_[type].nodes();
  const auto times = tables_[type].times();
  const auto into_type = [type](const Relation& each) { return each.target_type == type; };
  const auto relations = static_cast<std::size_t>(std::ranges::count_if(relations_, into_type));
  auto counts = DegreeCounts::make(parts_, nodes.size(), relations, ledger_);
  if (!counts) return std::move(counts).error();
  auto made =
      Array::make(DType::kI64, {static_cast<std::int64_t>(nodes.size())}, ledger_, "batches");
  if (!made) return std::move(made).error();
  const auto degrees = made.value().as<std::int64_t>();
  const TimeTies ties =
      options_.visibility == TemporalVisibility::kInclusive ? TimeTies::kAll : TimeTies::kNone;
  std::size_t number = 0;
  for (const Relation& relation : relations_) {
    if (!into_type(relation)) continue;
    std::ranges::fill(degrees, 0);
    if (auto counted = relation.events->count(nodes, times, ties, degrees); !counted)
      return std::move(counted).error();
    for (std::size_t i = 0; i < degrees.size(); ++i) counts.value().add(i, number, degrees[i]);
    ++number;
  }
  std::move(counts).value().put_into(of_type);
  return {};
}

}  // namespace sluice
