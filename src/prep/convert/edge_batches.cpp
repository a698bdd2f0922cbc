#include "prep/convert/edge_batches.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint64_t kLargeEdges = std::uint64_t{1} << 18;
constexpr std::uint64_t kFewEdges = std::uint64_t{1} << 12;
// Source, target and id; twice, as they grow to more than is aimed at.
constexpr std::uint64_t kEdgeBytes = 6 * sizeof(std::uint64_t);

// A 32nd of the memory that is left, at most.
std::uint64_t large_edges(const MemoryLedger* ledger) {
  if (ledger == nullptr) return kLargeEdges;
  return std::clamp(ledger->available() / 32 / kEdgeBytes, kFewEdges, kLargeEdges);
}

}  // namespace

EdgeBatches::EdgeBatches(EdgeStream& stream, MemoryLedger* ledger)
    : stream_(stream), ledger_(ledger), large_(large_edges(ledger)) {}

std::optional<EdgeView> EdgeBatches::next() {
  if (waiting_) return std::exchange(waiting_, std::nullopt);
  small_.resize(0);
  ids_.clear();
  while (!ended_ && small_.size() < large_) {
    const auto view = stream_.next();
    if (!view) {
      ended_ = true;
      break;
    }
    if (count_of(*view) < large_) {
      collect(*view);
      continue;
    }
    if (small_.size() == 0) return view;
    waiting_ = view;
    break;
  }
  return collected();
}

void EdgeBatches::collect(const EdgeView& view) {
  if (ledger_ != nullptr && charge_.bytes() == 0)
    charge_ = ledger_->charge("edges", large_ * kEdgeBytes).or_throw();
  std::visit(
      [&](const auto& span) {
        for (std::size_t i = 0; i < span.count; ++i) {
          small_.source.push_back(span.source[i * span.stride]);
          small_.target.push_back(span.target[i * span.stride]);
        }
        if (span.ids != nullptr) ids_.insert(ids_.end(), span.ids, span.ids + span.count);
      },
      view);
}

std::optional<EdgeView> EdgeBatches::collected() {
  if (small_.size() == 0) return std::nullopt;
  EdgeSpan<std::uint64_t> span{small_.source.data(), small_.target.data(), small_.size()};
  if (!ids_.empty()) span.ids = ids_.data();
  return span;
}

}  // namespace sluice
