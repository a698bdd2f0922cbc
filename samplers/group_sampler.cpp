#include "samplers/group_sampler.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

namespace sluice {

GroupSampler::GroupSampler(SamplerGraph graph,
                           NeighborSamplerOptions options,
                           BlockParts parts,
                           RandomKey key,
                           ThreadArena& arena)
    : GroupSampler(std::move(graph),
                   std::make_shared<SamplerKind<NeighborSampler>>(std::move(options)),
                   parts,
                   key,
                   arena) {}

GroupSampler::GroupSampler(SamplerGraph graph,
                           std::shared_ptr<const SamplerMethod> method,
                           BlockParts parts,
                           RandomKey key,
                           ThreadArena& arena)
    : graph_(std::move(graph)),
      method_(std::move(method)),
      parts_(parts),
      key_(key),
      arena_(arena),
      resident_(std::all_of(graph_.relations.begin(),
                            graph_.relations.end(),
                            [](const auto& topology) { return topology->resident() != nullptr; })),
      sharing_(arena.threads()) {
  make_samplers(1);  // so that wrong options are told here
  together_ = !resident_ && samplers_[0]->by_hops() != nullptr;
}

std::size_t GroupSampler::group_size() const {
  const auto threads = static_cast<std::size_t>(arena_.threads());
  return together_ ? std::max(threads, group_) : threads;
}

void GroupSampler::set_group(std::size_t batches) {
  group_ = batches;
  if (samplers_.size() <= group_size()) return;
  samplers_.resize(group_size());
  positions_ = {};
  answers_ = {};
}

void GroupSampler::release() {
  samplers_.clear();
  positions_ = {};
  answers_ = {};
}

std::uint64_t GroupSampler::workspace_bytes() const {
  std::uint64_t bytes = workspace_of(positions_, answers_);
  for (const auto& sampler : samplers_) bytes += sampler->workspace_bytes();
  for (const auto& topology : graph_.relations) bytes += topology->workspace_bytes();
  return bytes;
}

void GroupSampler::make_samplers(std::size_t count) {
  while (samplers_.size() < count) samplers_.push_back(method_->make(graph_, parts_, key_));
}

// A share of the budget for the tables of all threads; edges on disk keep the rest waiting anyway.
std::uint64_t GroupSampler::table_bytes(const MemoryLedger* ledger) const {
  constexpr std::uint64_t kShare = 16;
  if (!resident_) return 0;
  const std::uint64_t limit = ledger == nullptr ? MemoryLedger::kUnlimited : ledger->limit();
  return std::min(BlockParts{}.table_bytes, limit / kShare / static_cast<std::uint64_t>(sharing_));
}

Result<std::vector<Batch>> GroupSampler::sample(std::span<const SampleRequest> requests,
                                                MemoryLedger* ledger) {
  if (ledger != ledger_) {  // all scratch is charged to the old one
    parts_.table_bytes = table_bytes(ledger);
    release();
  }
  ledger_ = ledger;
  if (!together_) return sample_apart(requests);
  auto batches = sample_in_rounds(requests);
  if (!batches) {
    for (std::size_t i = 0; i < samplers_.size(); ++i) hops(i).reset();
  }
  return batches;
}

Result<std::vector<Batch>> GroupSampler::sample_apart(std::span<const SampleRequest> requests) {
  const std::size_t workers = std::min(requests.size(), static_cast<std::size_t>(arena_.threads()));
  make_samplers(workers);
  std::vector<Batch> batches(requests.size());
  std::vector<Result<void>> results(requests.size());
  std::atomic<std::size_t> next = 0;
  arena_.for_each(workers, [&](std::size_t worker) {
    for (std::size_t i; (i = next++) < requests.size();) {
      auto batch = samplers_[worker]->sample(requests[i], ledger_);
      if (batch) {
        batches[i] = std::move(batch).value();
      } else {
        results[i] = std::move(batch).error();
      }
    }
  });
  for (Result<void>& result : results) {
    if (!result) return std::move(result).error();
  }
  return batches;
}

// A group is parted where a topology begins to offer other edges, and every part is told its round.
Result<std::vector<Batch>> GroupSampler::sample_in_rounds(std::span<const SampleRequest> requests) {
  std::vector<Batch> batches;
  while (!requests.empty()) {
    const SampleRequest& first = requests.front();
    std::uint64_t end = Topology::kEveryRound;
    for (const auto& topology : graph_.relations) {
      auto begun = topology->begin_round(first.epoch, first.round);
      if (!begun) return std::move(begun).error();
      end = std::min(end, begun.value());
    }
    std::size_t count = requests.size();
    for (std::size_t i = 1; end != Topology::kEveryRound && i < count; ++i) {
      const SampleRequest& next = requests[i];
      if (next.epoch != first.epoch || next.round < first.round || next.round >= end) count = i;
    }
    auto part = sample_together(requests.first(count));
    if (!part || (batches.empty() && count == requests.size())) return part;
    std::ranges::move(part.value(), std::back_inserter(batches));
    requests = requests.subspan(count);
  }
  return batches;
}

Result<std::vector<Batch>> GroupSampler::sample_together(std::span<const SampleRequest> requests) {
  const std::size_t count = requests.size();
  make_samplers(count);
  const auto begin = [&](std::size_t i) { return hops(i).begin(requests[i], ledger_); };
  if (auto begun = each(count, begin); !begun) return std::move(begun).error();
  for (std::size_t hop = 0; hop < method_->num_layers(); ++hop) {
    for (std::size_t i = 0; i < count; ++i) hops(i).begin_hop(hop);
    for (std::size_t relation = 0; relation < graph_.relations.size(); ++relation) {
      if (auto sampled = sample_relation(relation, count); !sampled)
        return std::move(sampled).error();
    }
    const auto end = [&](std::size_t i) { return hops(i).end_hop(); };
    if (auto ended = each(count, end); !ended) return std::move(ended).error();
  }
  std::vector<Batch> batches(count);
  auto finished = each(count, [&](std::size_t i) -> Result<void> {
    auto batch = hops(i).finish();
    if (!batch) return std::move(batch).error();
    batches[i] = std::move(batch).value();
    return {};
  });
  if (!finished) return std::move(finished).error();
  return batches;
}

Result<void> GroupSampler::sample_relation(std::size_t relation, std::size_t batches) {
  Topology& topology = *graph_.relations[relation];
  if (topology.resident() != nullptr) {
    return each(batches, [&](std::size_t i) { return hops(i).sample_relation(relation); });
  }
  const auto begin = [&](std::size_t i) { return hops(i).begin_relation(relation); };
  if (auto begun = each(batches, begin); !begun) return begun;
  while (const std::size_t count = next_pieces(batches)) {
    if (auto asked = ask(topology, count, batches); !asked) return asked;
  }
  return each(batches, [&](std::size_t i) { return hops(i).end_relation(); });
}

// The batches' next pieces; returns the sum.
std::size_t GroupSampler::next_pieces(std::size_t batches) {
  pieces_.resize(batches);
  std::size_t sum = 0;
  for (std::size_t i = 0; i < batches; ++i) {
    pieces_[i] = {sum, hops(i).blocks().next_piece(kMaxPositions)};
    sum += pieces_[i].count;
  }
  return sum;
}

// Of many batches: their sum varies little, and is most of what a group takes.
Result<void> GroupSampler::ensure_positions(std::size_t count) {
  if (count <= positions_.capacity() && count <= answers_.capacity()) return {};
  const std::size_t room = count + count / 16;
  if (auto made = positions_.ensure_exactly(room, ledger_); !made) return made;
  return answers_.ensure_exactly(room, ledger_);
}

Result<void> GroupSampler::ask(Topology& topology, std::size_t count, std::size_t batches) {
  if (auto room = ensure_positions(count); !room) return room;
  const auto positions = positions_.first(count);
  const auto answers = answers_.first(count);
  const auto choose = [&](std::size_t i) -> Result<void> {
    hops(i).blocks().choose(positions.subspan(pieces_[i].begin, pieces_[i].count));
    return {};
  };
  if (auto chosen = each(batches, choose); !chosen) return chosen;
  if (auto found = topology.neighbours(positions, answers); !found) return found;
  const auto take = [&](std::size_t i) {
    return hops(i).blocks().take(answers.subspan(pieces_[i].begin, pieces_[i].count));
  };
  if (auto taken = each(batches, take); !taken) return taken;
  if (!parts_.edge_ids || hops(0).blocks().scans()) return {};
  if (auto found = topology.edge_ids(positions, answers); !found) return found;
  for (std::size_t i = 0; i < batches; ++i) {
    const auto ids = answers.subspan(pieces_[i].begin, pieces_[i].count);
    std::copy(ids.begin(), ids.end(), hops(i).blocks().edge_ids().begin());
  }
  return {};
}

Result<void> GroupSampler::each(std::size_t count, const Step& step) {
  std::vector<Result<void>> results(count);
  arena_.for_each(count, [&](std::size_t i) { results[i] = step(i); });
  for (Result<void>& result : results) {
    if (!result) return std::move(result);
  }
  return {};
}

}  // namespace sluice
