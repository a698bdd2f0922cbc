#include "samplers/ladies_sampler.h"

#include "samplers/exponential.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace sluice {

void LadiesSamplerOptions::describe(Schema& schema) {
  schema.field("nodes", nodes)
      .help("nodes drawn of each node type, one number a layer, the first next to the seeds")
      .range(0, 0x7fffffff);
}

LadiesSampler::LadiesSampler(SamplerGraph graph, Options options, BlockParts parts, RandomKey key)
    : options_(std::move(options)), key_(key), builder_(std::move(graph), parts) {
  for (const std::int64_t count : options_.nodes) {
    if (count >= 0) continue;
    throw Error(ErrorCode::kUsage,
                fmt::format("[sampler] nodes holds {}; it is how many nodes are drawn", count),
                "for example nodes = [512, 512]");
  }
}

Result<Batch> LadiesSampler::sample(const SampleRequest& request, MemoryLedger* ledger) {
  if (ledger != ledger_) workspace_ = {};  // charged to the old one
  ledger_ = ledger;
  auto batch = sample_whole(request, nullptr);
  if (!batch) builder_.reset();
  return batch;
}

Result<LadiesBatch> LadiesSampler::sample_weighted(const SampleRequest& request,
                                                   MemoryLedger* ledger) {
  if (ledger != ledger_) workspace_ = {};
  ledger_ = ledger;
  Probabilities probabilities(num_layers());
  auto batch = sample_whole(request, &probabilities);
  if (!batch) {
    builder_.reset();
    return std::move(batch).error();
  }
  return LadiesBatch{std::move(batch).value(), std::move(probabilities)};
}

Result<Batch> LadiesSampler::sample_whole(const SampleRequest& request,
                                          Probabilities* probabilities) {
  if (auto begun = builder_.begin(request, num_layers(), ledger_); !begun)
    return std::move(begun).error();
  workspace_.candidates.resize(builder_.tables().size());
  const RandomKey round_key = key_.with(request.epoch).with(request.round);
  for (std::size_t layer = num_layers(); layer-- > 0;) {
    auto sampled = sample_layer(layer, round_key.with(num_layers() - 1 - layer), probabilities);
    if (!sampled) return std::move(sampled).error();
  }
  return builder_.finish();
}

Result<void> LadiesSampler::sample_layer(std::size_t layer,
                                         RandomKey key,
                                         Probabilities* probabilities) {
  for (Candidates& candidates : workspace_.candidates) {
    candidates.table.clear();
    candidates.total_weight = 0;
  }
  for (const SampledRelation& relation : builder_.relations()) {
    if (auto weighed = weigh_candidates(relation); !weighed) return weighed;
  }
  const auto count = static_cast<std::uint64_t>(options_.nodes[num_layers() - 1 - layer]);
  for (std::size_t type = 0; type < workspace_.candidates.size(); ++type) {
    if (auto drawn = draw(type, count, key.with(type)); !drawn) return drawn;
  }
  if (auto made = make_blocks(layer); !made) return made;
  if (probabilities == nullptr) return {};
  auto noted = note_probabilities();
  if (!noted) return std::move(noted).error();
  (*probabilities)[layer] = std::move(noted).value();
  return {};
}

Result<void> LadiesSampler::weigh_candidates(const SampledRelation& relation) {
  EdgeScan& scan = workspace_.scan;
  const auto frontier = builder_.tables()[relation.target_type].ids();
  if (auto begun = scan.begin({.topology = relation.topology, .targets = frontier}, ledger_);
      !begun)
    return begun;
  Candidates& candidates = workspace_.candidates[relation.source_type];
  while (true) {
    auto piece = scan.next();
    if (!piece) return std::move(piece).error();
    if (piece.value().empty()) return {};
    const std::size_t edges = piece.value().sources.size();
    const std::size_t listed = candidates.table.size();
    if (auto room = candidates.table.reserve(edges, ledger_); !room) return room;
    if (auto room = candidates.rows.grow(listed + edges, listed, ledger_); !room) return room;
    weigh(piece.value(), relation.index, candidates);
  }
}

void LadiesSampler::weigh(const EdgeScan::Piece& piece,
                          std::size_t relation,
                          Candidates& candidates) {
  for (std::size_t i = 0; i < piece.sources.size(); ++i) {
    const std::size_t listed = candidates.table.size();
    const auto row = static_cast<std::size_t>(candidates.table.insert(piece.sources[i]));
    Candidate& candidate = candidates.rows.data()[row];
    if (row == listed) candidate = {};
    // Edges of a target come one after the other, so c edges from the same node are c^2 in the end:
    // 1 + 3 + 5 + ...
    const std::uint64_t target = (std::uint64_t{relation} << 32) + piece.targets[i] + 1;
    candidate.edges = candidate.target == target ? candidate.edges + 1 : 1;
    candidate.target = target;
    const auto degree = static_cast<double>(workspace_.scan.range(piece.targets[i]).degree());
    const double weight = static_cast<double>(2 * candidate.edges - 1) / (degree * degree);
    candidate.weight += weight;
    candidates.total_weight += weight;
  }
}

Result<void> LadiesSampler::draw(std::size_t type, std::uint64_t count, RandomKey key) {
  const Candidates& candidates = workspace_.candidates[type];
  const auto ids = candidates.table.ids();
  const std::size_t taken = static_cast<std::size_t>(std::min<std::uint64_t>(count, ids.size()));
  NodeTable& table = builder_.tables()[type];
  if (auto room = table.reserve(taken, ledger_); !room) return room;
  if (auto room = workspace_.race.ensure(ids.size(), ledger_); !room) return room;
  const auto race = workspace_.race.first(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    race[i] = {exponential(key.with(ids[i]).draw(0)) / candidates.rows.data()[i].weight,
               static_cast<std::uint32_t>(i)};
  }
  const auto first = [](const Arrival& a, const Arrival& b) {
    return std::tie(a.time, a.candidate) < std::tie(b.time, b.candidate);
  };
  const auto end = race.begin() + static_cast<std::ptrdiff_t>(taken);
  if (end != race.end()) std::nth_element(race.begin(), end, race.end(), first);
  // Listed as they were found, so that memory is read in about that order.
  std::sort(race.begin(), end, [](const Arrival& a, const Arrival& b) {
    return a.candidate < b.candidate;
  });
  for (const Arrival& arrival : race.first(taken)) table.insert(ids[arrival.candidate]);
  return {};
}

Result<void> LadiesSampler::make_blocks(std::size_t layer) {
  InducedSubgraph& induced = workspace_.induced;
  if (auto begun = induced.begin(builder_.tables(), ledger_); !begun) return begun;
  std::vector<Block> blocks;
  for (const SampledRelation& relation : builder_.relations()) {
    const std::size_t targets = builder_.size_at(relation.target_type, layer + 1);
    auto block = induced.block(relation, targets, builder_.parts());
    if (!block) return std::move(block).error();
    blocks.push_back(std::move(block).value());
  }
  builder_.set_layer(layer, std::move(blocks));
  builder_.note_sizes(layer);
  return {};
}

Result<std::vector<Array>> LadiesSampler::note_probabilities() {
  std::vector<Array> by_type;
  for (std::size_t type = 0; type < workspace_.candidates.size(); ++type) {
    const Candidates& candidates = workspace_.candidates[type];
    const auto rows = static_cast<std::int64_t>(builder_.tables()[type].size());
    auto made = Array::make(DType::kF64, {rows}, ledger_, "batches");
    if (!made) return std::move(made).error();
    const auto out = made.value().as<double>();
    std::fill(out.begin(), out.end(), 0.0);
    const auto ids = candidates.table.ids();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::int32_t row = workspace_.induced.row(type, ids[i]);
      if (row < 0) continue;
      out[static_cast<std::size_t>(row)] =
          candidates.rows.data()[i].weight / candidates.total_weight;
    }
    by_type.push_back(std::move(made).value());
  }
  return by_type;
}

}  // namespace sluice
