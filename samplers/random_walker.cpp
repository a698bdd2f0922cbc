#include "samplers/random_walker.h"

#include "samplers/topology_access.h"

#include <sluice/no_node.h>
#include <sluice/units.h>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr double kLeastBias = 0.01;  // bounds the draws a step: 10^4 at the very worst
constexpr double kMostBias = 100;
constexpr std::size_t kMaxWalks = 0x7fffffff;

std::uint64_t node_at(const RandomWalker::Walks& walks, std::size_t row, std::size_t at) {
  return walks.nodes.as<std::uint64_t>()[row * static_cast<std::size_t>(walks.nodes.size(1)) + at];
}

std::int32_t type_at(const RandomWalker::Walks& walks, std::size_t row, std::size_t at) {
  return walks.types.as<std::int32_t>()[row * static_cast<std::size_t>(walks.types.size(1)) + at];
}

void put(RandomWalker::Walks& walks,
         std::size_t row,
         std::size_t at,
         std::uint64_t node,
         std::size_t type) {
  const std::size_t place = row * static_cast<std::size_t>(walks.nodes.size(1)) + at;
  walks.nodes.as<std::uint64_t>()[place] = node;
  walks.types.as<std::int32_t>()[place] = static_cast<std::int32_t>(type);
}

void check_bias(const char* name, double value) {
  if (value >= kLeastBias && value <= kMostBias) return;
  throw Error(
      ErrorCode::kUsage,
      fmt::format("[sampler] {} = {} is not between {} and {}", name, value, kLeastBias, kMostBias),
      "1 is no bias");
}

}  // namespace

void RandomWalkOptions::describe(Schema& schema) {
  schema.field("length", length).help("steps a walk").range(1, 1e6);
  schema.field("walks", walks).help("walks from each seed").range(1, 1e6);
  schema.field("p", p)
      .help("node2vec's return parameter: above 1, rarely straight back")
      .range(kLeastBias, kMostBias);
  schema.field("q", q)
      .help(
          "node2vec's in-out parameter: above 1 stays near, below 1 goes far; not 1 costs look-ups")
      .range(kLeastBias, kMostBias);
}

RandomWalker::RandomWalker(SamplerGraph graph, Options options, RandomKey key)
    : graph_(std::move(graph)),
      relations_(resolve_relations(graph_)),
      options_(options),
      back_(1 / options.p),
      far_(1 / options.q),
      least_(std::min(1.0, far_)),
      greatest_(std::max({back_, 1.0, far_})),
      key_(key),
      first_place_(graph_.schema->nodes.size() + 1),
      first_range_(relations_.size()) {
  check_bias("p", options.p);
  check_bias("q", options.q);
  if (options.length < 1 || options.walks < 1) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} walks of {} steps visit nothing", options.walks, options.length),
                "set [sampler] walks and length to 1 or more");
  }
}

Result<RandomWalker::Walks> RandomWalker::walk(const SampleRequest& request, MemoryLedger* ledger) {
  if (ledger != ledger_) workspace_ = {};  // charged to the old one
  ledger_ = ledger;
  return walk_all(request);
}

Result<RandomWalker::Walks> RandomWalker::walk_all(const SampleRequest& request) {
  const auto walks_a_seed = static_cast<std::size_t>(options_.walks);
  if (request.seeds.total() > kMaxWalks / walks_a_seed) {
    return Error(ErrorCode::kResource,
                 fmt::format("{} walks from each of {} seeds are too many for a mini-batch",
                             format_count(walks_a_seed),
                             format_count(request.seeds.total())),
                 "lower the batch size or [sampler] walks");
  }
  const std::size_t count = request.seeds.total() * walks_a_seed;
  const Array::Shape shape{static_cast<std::int64_t>(count), options_.length + 1};
  auto nodes = Array::make(DType::kU64, shape, ledger_, "batches");
  if (!nodes) return std::move(nodes).error();
  auto types = Array::make(DType::kI32, shape, ledger_, "batches");
  if (!types) return std::move(types).error();
  Walks walks{std::move(nodes).value(), std::move(types).value()};
  if (auto listed = list_seeds(request, walks); !listed) return std::move(listed).error();
  if (count == 0) return walks;
  if (auto room = make_room(count); !room) return std::move(room).error();
  for (std::size_t at = 0; at + 1 < row_length(); ++at) {
    if (auto done = step(at, request, walks); !done) return std::move(done).error();
  }
  return walks;
}

Result<void> RandomWalker::list_seeds(const SampleRequest& request, Walks& walks) const {
  const auto& all = graph_.schema->nodes;
  if (request.seeds.num_types() > all.size())
    return Error(ErrorCode::kInternal,
                 fmt::format("there is no node type {}", request.seeds.num_types() - 1));
  const auto nodes = walks.nodes.as<std::uint64_t>();
  const auto types = walks.types.as<std::int32_t>();
  std::fill(nodes.begin(), nodes.end(), kNoNode);
  std::fill(types.begin(), types.end(), -1);
  std::size_t row = 0;
  for (std::size_t type = 0; type < request.seeds.num_types(); ++type) {
    for (const std::uint64_t seed : request.seeds.of(type)) {
      if (seed >= all[type].count) {
        return Error(ErrorCode::kData,
                     fmt::format("seed {} is no node: type '{}' has {}",
                                 seed,
                                 all[type].name,
                                 format_count(all[type].count)));
      }
      for (std::int64_t i = 0; i < options_.walks; ++i) put(walks, row++, 0, seed, type);
    }
  }
  return {};
}

Result<void> RandomWalker::make_room(std::size_t walks) {
  Workspace& w = workspace_;
  const auto ensure = [&](auto&... buffers) -> Result<void> {
    Result<void> room;
    ((room ? void(room = buffers.ensure(walks, ledger_)) : void()), ...);
    return room;
  };
  return ensure(
      w.steps, w.order, w.current, w.positions, w.sources, w.targets, w.near, w.found, w.asked);
}

Result<void> RandomWalker::step(std::size_t at, const SampleRequest& request, Walks& walks) {
  if (auto located = locate_edges(at, walks); !located) return located;
  std::size_t count = begin_steps(at, request, walks);
  for (std::uint64_t attempt = 0; count != 0; ++attempt) {
    draw_edges(count, attempt);
    if (auto read = read_sources(count); !read) return read;
    if (biased(at)) {
      if (auto found = find_near(at, count, walks); !found) return found;
    }
    count = take_edges(at, count, walks);
  }
  return {};
}

// Orders the walks that have not ended by type, and asks each relation where their in-edges are.
Result<void> RandomWalker::locate_edges(std::size_t at, const Walks& walks) {
  const auto num_walks = static_cast<std::size_t>(walks.nodes.size(0));
  std::fill(first_place_.begin(), first_place_.end(), 0);
  std::size_t place = 0;
  for (std::size_t type = 0; type + 1 < first_place_.size(); ++type) {
    first_place_[type] = place;
    for (std::size_t row = 0; row < num_walks; ++row) {
      if (type_at(walks, row, at) != static_cast<std::int32_t>(type)) continue;
      workspace_.order.data()[place] = static_cast<std::uint32_t>(row);
      workspace_.current.data()[place++] = node_at(walks, row, at);
    }
  }
  first_place_.back() = place;

  std::size_t num_ranges = 0;
  const auto walks_of = [&](const SampledRelation& relation) {
    return first_place_[relation.target_type + 1] - first_place_[relation.target_type];
  };
  for (const SampledRelation& relation : relations_) {
    first_range_[relation.index] = num_ranges;
    num_ranges += walks_of(relation);
  }
  if (num_ranges == 0) return {};
  if (auto room = workspace_.ranges.ensure(num_ranges, ledger_); !room) return room;
  for (const SampledRelation& relation : relations_) {
    const std::size_t count = walks_of(relation);
    if (count == 0) continue;
    const auto nodes =
        workspace_.current.first(place).subspan(first_place_[relation.target_type], count);
    const auto out =
        workspace_.ranges.first(num_ranges).subspan(first_range_[relation.index], count);
    if (auto located = locate(*relation.topology, nodes, out); !located) return located;
  }
  return {};
}

const EdgeRange& RandomWalker::edges_at(const SampledRelation& relation, std::size_t place) const {
  return workspace_.ranges
      .data()[first_range_[relation.index] + place - first_place_[relation.target_type]];
}

std::size_t RandomWalker::begin_steps(std::size_t at,
                                      const SampleRequest& request,
                                      const Walks& walks) {
  const RandomKey round_key = key_.with(request.epoch).with(request.round);
  std::size_t count = 0;
  for (std::size_t type = 0; type + 1 < first_place_.size(); ++type) {
    for (std::size_t place = first_place_[type]; place < first_place_[type + 1]; ++place) {
      Step step;
      for (const SampledRelation& relation : relations_) {
        if (relation.target_type == type) step.num_edges += edges_at(relation, place).degree();
      }
      if (step.num_edges == 0) continue;  // the walk ends here
      step.walk = workspace_.order.data()[place];
      step.place = static_cast<std::uint32_t>(place);
      step.type = static_cast<std::uint32_t>(type);
      const std::uint64_t number = step.walk % static_cast<std::uint64_t>(options_.walks);
      const auto seed_type = static_cast<std::uint64_t>(type_at(walks, step.walk, 0));
      step.key = round_key.with(seed_type)
                     .with("walk")
                     .with(node_at(walks, step.walk, 0))
                     .with(number)
                     .with(at);
      workspace_.steps.data()[count++] = step;
    }
  }
  return count;
}

void RandomWalker::draw_edges(std::size_t count, std::uint64_t attempt) {
  for (Step& step : workspace_.steps.first(count)) {
    std::uint64_t edge = step.key.below(step.num_edges, 2 * attempt);
    step.level = step.key.uniform(2 * attempt + 1) * greatest_;
    for (const SampledRelation& relation : relations_) {
      if (relation.target_type != step.type) continue;
      const EdgeRange& range = edges_at(relation, step.place);
      if (edge < range.degree()) {
        step.relation = static_cast<std::uint32_t>(relation.index);
        step.position = range.begin + edge;
        break;
      }
      edge -= range.degree();
    }
  }
}

Result<void> RandomWalker::read_sources(std::size_t count) {
  for (const SampledRelation& relation : relations_) {
    std::size_t asked = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Step& step = workspace_.steps.data()[i];
      if (step.relation != relation.index) continue;
      workspace_.asked.data()[asked] = static_cast<std::uint32_t>(i);
      workspace_.positions.data()[asked++] = step.position;
    }
    if (asked == 0) continue;
    const auto sources = workspace_.sources.first(asked);
    if (auto read = gather(*relation.topology, workspace_.positions.first(asked), sources); !read)
      return read;
    for (std::size_t i = 0; i < asked; ++i)
      workspace_.steps.data()[workspace_.asked.data()[i]].node = sources[i];
  }
  return {};
}

// Whether it matters if the drawn node is near where the walk came from.
bool RandomWalker::open(const Step& step) const {
  return step.level >= least_ && step.level < std::max(1.0, far_);
}

Result<void> RandomWalker::find_near(std::size_t at, std::size_t count, const Walks& walks) {
  std::fill_n(workspace_.near.data(), count, std::uint8_t{0});
  if (far_ == 1) return {};
  for (const SampledRelation& relation : relations_) {
    std::size_t asked = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Step& step = workspace_.steps.data()[i];
      const auto from = static_cast<std::size_t>(type_at(walks, step.walk, at - 1));
      if (!open(step) || from != relation.target_type ||
          relations_[step.relation].source_type != relation.source_type)
        continue;
      workspace_.asked.data()[asked] = static_cast<std::uint32_t>(i);
      workspace_.sources.data()[asked] = step.node;
      workspace_.targets.data()[asked++] = node_at(walks, step.walk, at - 1);
    }
    if (auto found = look_up(relation, asked); !found) return found;
  }
  return {};
}

Result<void> RandomWalker::look_up(const SampledRelation& relation, std::size_t asked) {
  const auto found = workspace_.found.first(asked);
  std::fill(found.begin(), found.end(), std::uint8_t{0});
  auto looked = workspace_.lookup.find(*relation.topology,
                                       workspace_.sources.first(asked),
                                       workspace_.targets.first(asked),
                                       found,
                                       ledger_);
  if (!looked) return looked;
  for (std::size_t i = 0; i < asked; ++i) {
    if (found[i] != 0) workspace_.near.data()[workspace_.asked.data()[i]] = 1;
  }
  return {};
}

// Moves the walks whose edge is taken; the others draw again. Returns how many.
std::size_t RandomWalker::take_edges(std::size_t at, std::size_t count, Walks& walks) {
  std::size_t left = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Step step = workspace_.steps.data()[i];
    const std::size_t type = relations_[step.relation].source_type;
    if (biased(at)) {
      const bool back = step.node == node_at(walks, step.walk, at - 1) &&
                        static_cast<std::int32_t>(type) == type_at(walks, step.walk, at - 1);
      const double weight = back ? back_ : workspace_.near.data()[i] != 0 ? 1 : far_;
      if (step.level >= weight) {
        workspace_.steps.data()[left++] = step;
        continue;
      }
    }
    put(walks, step.walk, at + 1, step.node, type);
  }
  return left;
}

}  // namespace sluice
