#include "samplers/bucket_tour.h"

#include <sluice/error.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice {
namespace {

constexpr std::size_t kEpochsKept = 3;  // a loader may plan the next while this one is trained

bool leaves(const BucketState& next, const Bucket& bucket) {
  return std::ranges::binary_search(next.evicted, bucket.source) ||
         std::ranges::binary_search(next.evicted, bucket.target);
}

constexpr const char* kTourLedger = "edge buckets";
// Of an epoch: a bucket in its state, as a list grows, and its part of what states list.
constexpr std::uint64_t kBytesOfBucket = 2 * sizeof(Bucket) + 80;

Charge charge_for(MemoryLedger* ledger, std::uint64_t bytes) {
  return ledger == nullptr ? Charge() : ledger->charge(kTourLedger, bytes).or_throw();
}

std::uint64_t bytes_of(const BucketOrder& order) {
  std::uint64_t bytes = order.states.capacity() * sizeof(BucketState);
  for (const BucketState& state : order.states) {
    for (const auto* list : {&state.resident, &state.loaded, &state.evicted})
      bytes += list->capacity() * sizeof(std::uint32_t);
    bytes += state.buckets.capacity() * sizeof(Bucket);
  }
  return bytes;
}

std::vector<NodeRange> ranges_of(const NodeDivision& nodes,
                                 const std::vector<std::uint32_t>& partitions) {
  std::vector<NodeRange> ranges;
  for (const std::uint32_t partition : partitions) {
    const std::uint64_t first = std::min(partition * nodes.each, nodes.nodes);
    const std::uint64_t count = std::min(nodes.each, nodes.nodes - first);
    if (count != 0) ranges.push_back({first, count});
  }
  return ranges;
}

}  // namespace

BucketTour::BucketTour(BucketTourOptions options) : options_(std::move(options)) {
  const std::size_t buckets = std::size_t{partitions()} * partitions();
  if (options_.links.size() != buckets || options_.batch_size == 0 || options_.piece_links == 0)
    throw Error(ErrorCode::kInternal, "a bucket tour of other buckets than its partitions make");
  charge_ = charge_for(options_.ledger, 2 * buckets * sizeof(std::uint64_t));
  first_links_.reserve(buckets);
  std::uint64_t first = 0;
  for (const std::uint64_t links : options_.links) {
    first_links_.push_back(first);
    first += links;
    const std::uint64_t whole = links / options_.piece_links;
    batches_ += whole * batches_of(options_.piece_links) + batches_of(links % options_.piece_links);
  }
  (void)epoch(0);  // what is wrong with the options is told at once
}

std::uint32_t BucketTour::slots_of(const BucketOrderOptions& order, SpareSlot spare) {
  const std::uint32_t swapped = order.kind == BucketOrderKind::kComet ? order.group : 1;
  const std::uint32_t more = spare == SpareSlot::kOne ? swapped : 0;
  return std::min(order.slots + more, order.partitions);
}

std::uint64_t BucketTour::memory_bytes(std::uint64_t links, std::uint32_t partitions) {
  const std::uint64_t buckets = std::uint64_t{partitions} * partitions;
  const std::uint64_t pieces = links / kPieceLinks + buckets;
  return 2 * buckets * sizeof(std::uint64_t) +
         (kEpochsKept + 1) * (buckets * kBytesOfBucket + pieces * sizeof(Piece));
}

std::uint64_t BucketTour::batches_of(std::uint64_t links) const {
  return (links + options_.batch_size - 1) / options_.batch_size;
}

std::shared_ptr<const BucketTour::Epoch> BucketTour::epoch(std::uint64_t number) const {
  const MutexLock lock(mutex_);
  for (const auto& kept : epochs_)
    if (kept->number == number) return kept;
  epochs_.push_back(make_epoch(number));
  if (epochs_.size() > kEpochsKept) epochs_.pop_front();
  return epochs_.back();
}

std::shared_ptr<const BucketTour::Epoch> BucketTour::make_epoch(std::uint64_t number) const {
  auto made = std::make_shared<Epoch>();
  made->number = number;
  std::uint64_t pieces = 0;
  for (const std::uint64_t links : options_.links)
    pieces += (links + options_.piece_links - 1) / options_.piece_links;
  const std::uint64_t listed = pieces * sizeof(Piece);
  made->charge = charge_for(options_.ledger, listed + options_.links.size() * kBytesOfBucket);
  made->pieces.reserve(pieces);
  made->order = make_bucket_order(options_.order, options_.key.with("buckets").with(number));
  if (options_.ledger != nullptr) made->charge.resize(listed + bytes_of(made->order)).or_throw();
  const auto& states = made->order.states;
  for (std::uint32_t s = 0; s < states.size(); ++s) {
    // Buckets of those who leave come first.
    for (const Bucket& bucket : states[s].buckets) {
      const bool last = s + 1 == states.size();
      add_pieces(bucket, s, !last && !leaves(states[s + 1], bucket), *made);
    }
  }
  return made;
}

// A bucket's pieces, in an order of the epoch's.
void BucketTour::add_pieces(const Bucket& bucket,
                            std::uint32_t state,
                            bool after_leaving,
                            Epoch& to) const {
  const std::size_t at = std::size_t{bucket.source} * partitions() + bucket.target;
  const std::uint64_t links = options_.links[at], most = options_.piece_links;
  if (links == 0) return;
  const Permutation order((links + most - 1) / most,
                          options_.key.with("pieces").with(to.number).with(at));
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    const std::uint64_t from = order.at(i) * most;
    const std::uint64_t next_batch =
        to.pieces.empty() ? 0 : to.pieces.back().first_batch + batches_of(to.pieces.back().links);
    to.pieces.push_back(
        {next_batch, first_links_[at] + from, std::min(most, links - from), state, after_leaving});
  }
}

const BucketTour::Piece& BucketTour::piece_of(const Epoch& epoch, std::uint64_t index) const {
  const auto after = std::ranges::upper_bound(epoch.pieces, index, {}, &Piece::first_batch);
  return *std::prev(after);
}

BucketStop BucketTour::at(std::uint64_t number, std::uint64_t index) const {
  const auto of = epoch(number);
  const Piece& piece = piece_of(*of, index);
  BucketStop stop;
  stop.piece_first = piece.first_link;
  stop.piece_links = piece.links;
  stop.first = (index - piece.first_batch) * options_.batch_size;
  stop.links = std::min(options_.batch_size, piece.links - stop.first);
  fill_in_place(*of, piece, stop);
  return stop;
}

// With a spare slot those of the next state come beside a whole state; without one they take the
// places of those who left, once the buckets of these are done.
void BucketTour::fill_in_place(const Epoch& epoch, const Piece& piece, BucketStop& stop) const {
  const BucketState& state = epoch.order.states[piece.state];
  stop.resident = state.resident;
  if (piece.state + 1 == epoch.order.states.size()) return;
  const BucketState& next = epoch.order.states[piece.state + 1];
  if (options_.spare == SpareSlot::kNone) {
    if (!piece.after_leaving) return;
    stop.resident.clear();
    std::ranges::set_difference(state.resident, next.evicted, std::back_inserter(stop.resident));
  }
  stop.coming = next.loaded;
}

void BucketTour::numbers(std::uint64_t number,
                         std::uint64_t index,
                         std::span<std::uint64_t> out) const {
  const BucketStop stop = at(number, index);
  const Permutation order(stop.piece_links,
                          options_.key.with("links").with(number).with(stop.piece_first));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = stop.piece_first + order.at(stop.first + i);
}

OtherNodes BucketTour::others(std::uint64_t number, std::uint64_t index) const {
  const std::vector<std::uint32_t> resident = at(number, index).resident;
  return {ranges_of(options_.sources, resident), ranges_of(options_.destinations, resident)};
}

BucketOrder BucketTour::order(std::uint64_t number) const {
  return epoch(number)->order;
}

}  // namespace sluice
