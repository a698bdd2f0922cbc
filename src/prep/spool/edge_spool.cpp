#include "prep/spool/edge_spool.h"

#include <algorithm>
#include <limits>

namespace sluice {
namespace {

constexpr std::size_t kMostEdges = std::size_t{1} << 17;  // of a chunk: what a reader holds

bool fits_narrow(std::span<const std::uint64_t> nodes) {
  std::uint64_t all = 0;
  for (const std::uint64_t node : nodes) all |= node;
  return all <= std::numeric_limits<std::uint32_t>::max();
}

}  // namespace

template <class Id>
void EdgeSpool::append_ids(std::span<const std::uint64_t> nodes) {
  if constexpr (sizeof(Id) == sizeof(std::uint64_t)) {
    bytes_.append_values(nodes);
  } else {
    narrow_.resize(nodes.size());
    std::transform(nodes.begin(), nodes.end(), narrow_.begin(), [](std::uint64_t node) {
      return static_cast<std::uint32_t>(node);
    });
    bytes_.append_values(std::span<const std::uint32_t>(narrow_));
  }
}

void EdgeSpool::append(std::span<const std::uint64_t> sources,
                       std::span<const std::uint64_t> targets,
                       std::span<const std::uint64_t> ids) {
  has_ids_ = has_ids_ || !ids.empty();
  for (std::size_t first = 0; first < sources.size(); first += kMostEdges) {
    const std::size_t count = std::min(kMostEdges, sources.size() - first);
    const auto from = sources.subspan(first, count);
    const auto to = targets.subspan(first, count);
    const bool narrow = fits_narrow(from) && fits_narrow(to);
    const Head head{static_cast<std::uint32_t>(count), narrow ? 4u : 8u};
    bytes_.append_values(std::span(&head, 1));
    for (const auto& nodes : {from, to})
      narrow ? append_ids<std::uint32_t>(nodes) : append_ids<std::uint64_t>(nodes);
    if (!ids.empty()) bytes_.append_values(ids.subspan(first, count));
    edges_ += count;
  }
}

template <class Id>
EdgeView SpooledEdges::read(EdgeChunk<Id>& chunk, std::uint32_t count) {
  chunk.resize(count);
  for (std::vector<Id>* nodes : {&chunk.source, &chunk.target}) {
    spool_.bytes_.read_at(at_, std::as_writable_bytes(std::span(*nodes)));
    at_ += count * sizeof(Id);
  }
  EdgeSpan<Id> span{chunk.source.data(), chunk.target.data(), count};
  if (spool_.has_ids_) {
    ids_.resize(count);
    spool_.bytes_.read_at(at_, std::as_writable_bytes(std::span(ids_)));
    at_ += count * sizeof(std::uint64_t);
    span.ids = ids_.data();
  }
  return span;
}

std::optional<EdgeView> SpooledEdges::next() {
  if (at_ == spool_.bytes_.size()) return std::nullopt;
  EdgeSpool::Head head{};
  spool_.bytes_.read_at(at_, std::as_writable_bytes(std::span(&head, 1)));
  at_ += sizeof head;
  const EdgeView view = head.width == 4 ? read(narrow_, head.count) : read(wide_, head.count);
  return way_ == Way::kForward ? view : reversed(view);
}

}  // namespace sluice
