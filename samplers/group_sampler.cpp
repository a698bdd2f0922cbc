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
  while (samplers_.size() < count) {
    samplers_.push_back(method_->make(graph_, parts_, key_));
    if (samplers_.back() != nullptr) continue;
    samplers_.pop_back();
    throw Error(ErrorCode::kUsage,
                "the sampler method made no sampler: SamplerMethod::make() gave null",
                "let it throw an Error where it cannot make one");
  }
}

std::uint64_t GroupSampler::most_table_bytes(const MemoryLedger* ledger, int threads) {
  constexpr std::uint64_t kShare = 16;  // of the budget, for all threads
  const std::uint64_t limit = ledger == nullptr ? MemoryLedger::kUnlimited : ledger->limit();
  const auto sharing = static_cast<std::uint64_t>(threads);
  return std::min(BlockParts{}.table_bytes, limit / kShare / sharing) * sharing;
}

// None where edges are on disk: these keep sampling waiting anyway.
std::uint64_t GroupSampler::table_bytes(const MemoryLedger* ledger) const {
  if (!resident_) return 0;
  return most_table_bytes(ledger, sharing_) / static_cast<std::uint64_t>(sharing_);
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
  batches_ = count;
  const auto begin = [&](std::size_t i) { return hops(i).begin(requests[i], ledger_); };
  if (auto begun = each(count, begin); !begun) return std::move(begun).error();
  for (std::size_t hop = 0; hop < method_->num_layers(); ++hop) {
    if (auto sampled = sample_hop(hop); !sampled) return std::move(sampled).error();
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

// Targets are the nodes listed before the hop, so all relations on disk may choose before any
// source is listed.
Result<void> GroupSampler::sample_hop(std::size_t hop) {
  pieces_.assign(graph_.relations.size() * batches_, {});
  const auto begin = [&](std::size_t i) { return begin_hop(hop, i); };
  if (auto begun = each(batches_, begin); !begun) return begun;
  for (Window window; window.last < graph_.relations.size();) {
    window = next_window(window.last);
    if (auto asked = ask(window); !asked) return asked;
    const std::size_t last = window.last - 1;
    while (goes_on(last)) {
      for (std::size_t i = 0; i < batches_; ++i) next_piece(last, i);
      if (auto asked = ask({last, window.last}); !asked) return asked;
    }
  }
  return each(batches_, [&](std::size_t i) { return hops(i).end_hop(); });
}

Result<void> GroupSampler::begin_hop(std::size_t hop, std::size_t batch) {
  hops(batch).begin_hop(hop);
  for (std::size_t relation = 0; relation < graph_.relations.size(); ++relation) {
    if (!on_disk(relation)) continue;
    if (auto begun = hops(batch).begin_relation(relation); !begun) return begun;
    next_piece(relation, batch);
  }
  return {};
}

void GroupSampler::next_piece(std::size_t relation, std::size_t batch) {
  BlockSampler& blocks = hops(batch).blocks(relation);
  const std::size_t count = blocks.next_piece(kMaxPositions);
  piece(relation, batch) = {.count = count, .more = blocks.more()};
}

bool GroupSampler::goes_on(std::size_t relation) {
  return std::ranges::any_of(pieces({relation, relation + 1}), &Piece::more);
}

// As many relations as may be asked at the same time. One whose positions are more than a piece is
// the last: those behind it list their sources after all of its own.
GroupSampler::Window GroupSampler::next_window(std::size_t first) {
  std::size_t sum = 0;
  for (std::size_t relation = first; relation < graph_.relations.size(); ++relation) {
    std::size_t count = 0;
    for (const Piece& piece : pieces({relation, relation + 1})) count += piece.count;
    if (sum != 0 && sum + count > batches_ * kMaxPositions) return {first, relation};
    sum += count;
    if (goes_on(relation)) return {first, relation + 1};
  }
  return {first, graph_.relations.size()};
}

// Of many batches: their sum varies little, and is most of what a group takes.
Result<void> GroupSampler::ensure_positions(std::size_t count) {
  if (count <= positions_.capacity() && count <= answers_.capacity()) return {};
  const std::size_t room = count + count / 16;
  if (auto made = positions_.ensure_exactly(room, ledger_); !made) return made;
  return answers_.ensure_exactly(room, ledger_);
}

// The pieces of a window: chosen by each batch, read by each relation, taken by each batch.
Result<void> GroupSampler::ask(const Window& window) {
  std::size_t sum = 0;
  for (Piece& piece : pieces(window)) {
    piece.begin = sum;
    sum += piece.count;
  }
  if (auto room = ensure_positions(sum); !room) return room;
  arena_.for_each(batches_, [&](std::size_t i) { choose(window, i); });
  const auto read_one = [&](std::size_t i) { return read(window.first + i); };
  if (auto done = each(window.last - window.first, read_one); !done) return done;
  return each(batches_, [&](std::size_t i) { return take(window, i); });
}

void GroupSampler::choose(const Window& window, std::size_t batch) {
  for (std::size_t relation = window.first; relation < window.last; ++relation) {
    const auto [begin, count, more] = piece(relation, batch);
    if (count == 0) continue;
    hops(batch).blocks(relation).choose({positions_.data() + begin, count});
  }
}

// Ids first: they go to their places at once, answers only when it is the relation's turn.
Result<void> GroupSampler::read(std::size_t relation) {
  const std::size_t begin = piece(relation, 0).begin;
  const std::size_t count =
      piece(relation, batches_ - 1).begin + piece(relation, batches_ - 1).count - begin;
  if (count == 0) return {};
  Topology& topology = *graph_.relations[relation];
  const std::span<const std::uint64_t> positions{positions_.data() + begin, count};
  const std::span<std::uint64_t> answers{answers_.data() + begin, count};
  if (parts_.edge_ids && !hops(0).blocks(relation).scans()) {
    if (auto found = topology.edge_ids(positions, answers); !found) return found;
    for (std::size_t i = 0; i < batches_; ++i) {
      const Piece& of = piece(relation, i);
      if (of.count == 0) continue;
      const std::span<const std::uint64_t> ids{answers_.data() + of.begin, of.count};
      std::ranges::copy(ids, hops(i).blocks(relation).edge_ids().begin());
    }
  }
  return topology.neighbours(positions, answers);
}

Result<void> GroupSampler::take(const Window& window, std::size_t batch) {
  for (std::size_t relation = window.first; relation < window.last; ++relation) {
    const auto [begin, count, more] = piece(relation, batch);
    Result<void> taken;
    if (!on_disk(relation)) {
      taken = hops(batch).sample_relation(relation);
    } else if (count != 0) {
      taken = hops(batch).blocks(relation).take({answers_.data() + begin, count});
    }
    if (!taken) return taken;
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
